import { StoreError, type ChainEvent } from "../contract/index.ts";

const START = '{"id":"';
const HEADER = '","header":';
const BODY = ',"body":';

/**
 * One line of JSON: the id, then header and body as the very texts that were hashed. A
 * header ends at its first `"}`, so `cut`, `sha256sum` and a shell can verify it: see docs/design/chain.md.
 */
export function exportLine({ id, header, body }: ChainEvent): string {
  return `${START}${id}${HEADER}${header}${body === undefined ? "" : BODY + body}}`;
}

/** The event of such a line. Throws `STORE_CORRUPT` where it is none; hashes nothing: `verify` does. */
export function importLine(line: string): ChainEvent {
  const text = line.endsWith("\n") ? line.slice(0, -1) : line;
  const headerAt = START.length + 64 + HEADER.length;
  const id = text.slice(START.length, START.length + 64);
  const headerEnd = endOfHeader(text, headerAt);
  const header = text.slice(headerAt, headerEnd);
  const rest = text.slice(headerEnd, -1);
  const sound =
    text.startsWith(START) &&
    /^[0-9a-f]{64}$/u.test(id) &&
    text.startsWith(HEADER, START.length + 64) &&
    headerEnd > headerAt &&
    text.endsWith("}") &&
    !text.includes("\n") &&
    (rest === "" || (rest.startsWith(`${BODY}{`) && rest.endsWith("}")));
  if (!sound) throw new StoreError("STORE_CORRUPT", "This line is no exported event: export the chain again.");
  return { id, header, ...(rest === "" ? {} : { body: rest.slice(BODY.length) }) };
}

/** After the first `"}` whose quote ends a text: an action may be called `"}`. */
function endOfHeader(text: string, from: number): number {
  for (let at = text.indexOf('"}', from); at >= 0; at = text.indexOf('"}', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at + 2;
  }
  return 0;
}
