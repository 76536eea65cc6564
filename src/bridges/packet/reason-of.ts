/** Of what a server says of its failure. */
const MOST = 2_000;

/** Why it failed, in words; the causes behind it too, since a `fetch` says nothing else. */
export function reasonOf(error: unknown): string {
  const said: string[] = [];
  for (let one = error, depth = 0; one instanceof Error && depth < 4; one = one.cause, depth += 1)
    if (one.message !== "" && !said.includes(one.message)) said.push(one.message);
  const words = shortened(said.length > 0 ? said.join(": ") : String(error));
  return withStatus(words, error);
}

/** What refuses may have a status and no word. */
function withStatus(words: string, error: unknown): string {
  if (!(error instanceof Error) || !("status" in error) || typeof error.status !== "number") return words;
  const status = `HTTP ${error.status}`;
  return words.includes(status) ? words : `${words.trimEnd()} (${status})`;
}

export function shortened(text: string): string {
  return text.length <= MOST ? text : `${text.slice(0, MOST)}…`;
}
