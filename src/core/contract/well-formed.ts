const ESCAPE_LENGTH = 6;
const LONE = "\ufffd";

/**
 * JSON text without unpaired surrogates, which strict parsers refuse (RFC 8259 section 8.2): each becomes U+FFFD. `JSON.stringify`
 * writes them as escapes, so a text without `\ud` has none and costs one search.
 */
export function wellFormed(text: string): string {
  const first = text.indexOf("\\ud");
  if (first === -1) return text;
  const repaired = withoutLone(text, first);
  return repaired === text ? text : withoutDuplicates(repaired);
}

function withoutLone(text: string, first: number): string {
  let repaired = "";
  let from = 0;
  for (let at = first; at !== -1; at = text.indexOf("\\ud", at)) {
    if (!isEscape(text, at)) {
      at += 1;
      continue;
    }
    if (isHalf(text, at, 0xd800)) {
      const next = at + ESCAPE_LENGTH;
      // A pair that somebody else has written as escapes.
      if (isHalf(text, at, 0xd800, 0xdbff) && text.startsWith("\\u", next) && isHalf(text, next, 0xdc00)) {
        at = next + ESCAPE_LENGTH;
        continue;
      }
      repaired += text.slice(from, at) + LONE;
      from = next;
    }
    at += ESCAPE_LENGTH;
  }
  return from === 0 ? text : repaired + text.slice(from);
}

/** False where the backslash is itself escaped: then the text only speaks of an escape. */
function isEscape(text: string, at: number): boolean {
  let before = at;
  while (before > 0 && text.charCodeAt(before - 1) === 0x5c) before -= 1;
  return (at - before) % 2 === 0;
}

function isHalf(text: string, at: number, from: number, to = 0xdfff): boolean {
  const unit = Number.parseInt(text.slice(at + 2, at + ESCAPE_LENGTH), 16);
  return unit >= from && unit <= to;
}

/** Two names that differed in broken characters only have become one. A piece of a message is no JSON, and has no names. */
function withoutDuplicates(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
