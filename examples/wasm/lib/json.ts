// JSON lists of strings.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

// Parts are joined once: no memory is freed during a call, so repeated concatenation would need memory quadratic in the length.

export function quoted(text: string): string {
  const parts: string[] = ['"'];
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code != QUOTE && code != BACKSLASH && code >= 0x20) continue;
    parts.push(text.slice(from, i));
    parts.push(code < 0x20 ? "\\u" + code.toString(16).padStart(4, "0") : "\\" + text.charAt(i));
    from = i + 1;
  }
  parts.push(text.slice(from));
  parts.push('"');
  return parts.join("");
}

export function list(entries: string[]): string {
  const parts: string[] = [];
  for (let i = 0; i < entries.length; i++) parts.push(quoted(entries[i]));
  return "[" + parts.join(",") + "]";
}

/** The strings of the list that the key names, in JSON that `list` and `quoted` wrote. */
export function strings(json: string, key: string): string[] {
  const found: string[] = [];
  const before = '"' + key + '":[';
  const start = json.indexOf(before);
  if (start < 0) return found;
  let at = start + before.length;
  while (at < json.length && json.charCodeAt(at) == QUOTE) {
    const parts: string[] = [];
    let from = ++at;
    for (; at < json.length && json.charCodeAt(at) != QUOTE; at++) {
      if (json.charCodeAt(at) != BACKSLASH) continue;
      parts.push(json.slice(from, at));
      if (json.charAt(++at) != "u") parts.push(json.charAt(at));
      else {
        parts.push(String.fromCharCode(<i32>parseInt(json.slice(at + 1, at + 5), 16)));
        at += 4;
      }
      from = at + 1;
    }
    parts.push(json.slice(from, at));
    found.push(parts.join(""));
    // Past the quote and the comma.
    at += 2;
  }
  return found;
}
