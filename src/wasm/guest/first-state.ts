/** The state a guest begins from: its manifest's, and what its starter gave over it. */
export function firstState(base: Uint8Array | undefined, given: Uint8Array | undefined): Uint8Array | undefined {
  if (base === undefined || given === undefined) return given ?? base;
  const [under, over] = [objectIn(base), objectIn(given)];
  return under === undefined || over === undefined ? given : new Uint8Array(Buffer.from(JSON.stringify({ ...under, ...over })));
}

function objectIn(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (json: unknown): json is Readonly<Record<string, unknown>> =>
  typeof json === "object" && json !== null && !Array.isArray(json);
