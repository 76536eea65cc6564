// Owns: a JSON value on one line, cut where it is long. Does not own: large values (json-tree.tsx).
import type { Json } from "../../../src/core/contract/index.ts";

const MOST = 200;

/** `{text: "hi", n: 1}`: without the quotes around names that need none. */
export function lineOf(value: Json, most = MOST): string {
  let left = most;
  const write = (one: Json): string => {
    if (left <= 0) return "…";
    if (Array.isArray(one)) return `[${list(one, (member) => write(member))}]`;
    if (typeof one === "object" && one !== null)
      return `{${list(Object.entries(one), ([name, member]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: ${write(member)}`)}}`;
    const text = JSON.stringify(typeof one === "string" && one.length > most ? `${one.slice(0, most)}…` : one);
    left -= text.length;
    return text;
  };
  const list = <T>(members: readonly T[], each: (member: T) => string): string => {
    const parts: string[] = [];
    for (const member of members) {
      left -= 2;
      if (left <= 0) {
        parts.push("…");
        break;
      }
      parts.push(each(member));
    }
    return parts.join(", ");
  };
  const text = write(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The members of an object without its braces, for arguments: `text: "hi"`. Empty for none. */
export function argumentsLine(args: Json | undefined, most = MOST): string {
  if (args === undefined || args === null) return "";
  const text = lineOf(args, most + 2);
  return text.startsWith("{") && text.endsWith("}") ? text.slice(1, -1) : text === "{}" ? "" : text;
}
