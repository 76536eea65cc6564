// Owns: one table of a TOML file: appended, and removed with its subtables, so that all other text stays. Does not own: which file.
import { parse, stringify } from "smol-toml";
import type { ConfigFormat } from "./config-text.ts";

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

const key = (name: string): string => `(?:${escaped(name)}|"${escaped(name)}"|'${escaped(name)}')`;

const render: ConfigFormat["render"] = ([container, name], value) => `${stringify({ [container]: { [name]: value } }).trim()}\n`;

/** Without the lines of its tables. Comments before the next table are that table's. */
const withoutTable = (text: string, [container, name]: readonly [string, string]): string => {
  const own = new RegExp(`^\\s*\\[\\s*${key(container)}\\s*\\.\\s*${key(name)}\\s*[.\\]]`);
  const kept: string[] = [];
  let pending: string[] = [];
  let inside = false;
  for (const line of text.split(/(?<=\n)/)) {
    if (/^\s*\[/.test(line)) {
      inside = own.test(line);
      if (!inside) kept.push(...pending);
      pending = [];
    }
    if (!inside) kept.push(line);
    else if (/^\s*(?:#|$)/.test(line)) pending.push(line);
    else pending = [];
  }
  // The blank line that was appended before it.
  const rest = kept.join("");
  return inside ? rest.replace(/(?<=^|\n)\s+$/, "") : rest;
};

export const tomlFile: ConfigFormat = {
  empty: "",
  parse(text) {
    try {
      return parse(text);
    } catch (error) {
      throw new SyntaxError(`it is not TOML (${error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)})`);
    }
  },
  set(text, path, value) {
    const eol = text.includes("\r\n") ? "\r\n" : "\n";
    const rest = withoutTable(text, path);
    const gap = rest === "" ? "" : rest.endsWith("\n") ? eol : eol + eol;
    return rest + gap + render(path, value).replaceAll("\n", eol);
  },
  remove: withoutTable,
  render,
};
