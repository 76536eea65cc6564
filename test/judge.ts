// What strict parsers, in whatever language, demand of a message: Unicode, no broken characters, no name twice.
import assert from "node:assert/strict";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A string with its escapes, or a single structural character. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** Throws where a strict parser would: not UTF-8, an unpaired surrogate, escaped or not, or a member twice. Returns what it says. */
export function strictJson(message: string | Uint8Array): unknown {
  const text = typeof message === "string" ? message : decoder.decode(message);
  const value: unknown = JSON.parse(text);
  const open: (Set<string> | undefined)[] = [];
  let isName = false;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(undefined);
    else if (token === "}" || token === "]") open.pop();
    if (token.startsWith('"')) {
      const said = String(JSON.parse(token));
      assert.ok(said.isWellFormed(), `an unpaired surrogate in ${token.slice(0, 200)}`);
      const names = open.at(-1);
      if (isName && names !== undefined) {
        assert.ok(!names.has(said), `two members are called ${token.slice(0, 200)}`);
        names.add(said);
      }
    }
    isName = token === "{" || (token === "," && open.at(-1) !== undefined);
  }
  return value;
}
