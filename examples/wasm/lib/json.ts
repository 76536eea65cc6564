// As much of JSON as a list of strings needs.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function quoted(text: string): string {
  let out = '"';
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code == QUOTE || code == BACKSLASH) out += "\\" + text.charAt(i);
    else if (code < 0x20) out += "\\u" + code.toString(16).padStart(4, "0");
    else out += text.charAt(i);
  }
  return out + '"';
}

export function list(entries: string[]): string {
  let out = "[";
  for (let i = 0; i < entries.length; i++) out += (i == 0 ? "" : ",") + quoted(entries[i]);
  return out + "]";
}

/** The strings of the list that the key names, in JSON that `list` and `quoted` wrote. */
export function strings(json: string, key: string): string[] {
  const found: string[] = [];
  const before = '"' + key + '":[';
  const start = json.indexOf(before);
  if (start < 0) return found;
  let at = start + before.length;
  while (at < json.length && json.charCodeAt(at) == QUOTE) {
    let text = "";
    for (at++; at < json.length && json.charCodeAt(at) != QUOTE; at++) {
      if (json.charCodeAt(at) != BACKSLASH) text += json.charAt(at);
      else if (json.charAt(++at) != "u") text += json.charAt(at);
      else {
        text += String.fromCharCode(<i32>parseInt(json.slice(at + 1, at + 5), 16));
        at += 4;
      }
    }
    found.push(text);
    // Past the quote and the comma.
    at += 2;
  }
  return found;
}
