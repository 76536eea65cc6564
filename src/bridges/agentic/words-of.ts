const MAX_TEXT = 4_096;

/** Its message is the service's own word to its caller, as a string it returns is. `what` failed, where it has none. */
export function wordsOf(thrown: unknown, what: string): string {
  const said = thrown instanceof Error ? thrown.message : thrown;
  return typeof said === "string" && said !== "" ? said.slice(0, MAX_TEXT).toWellFormed() : `${what} failed without saying why.`;
}
