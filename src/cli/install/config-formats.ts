// Owns: the pure change of one entry in a client's settings, as JSON, TOML or YAML, checked by reading the result. Does not own: files,
// clients (clients.ts).
import { isDeepStrictEqual } from "node:util";
import { type Node, type ParseError, parse as parseJsonc, parseTree, printParseErrorCode } from "jsonc-parser";
import { parse as parseToml, stringify as stringifyToml } from "smol-toml";
import { type Document, isMap, parseDocument, stringify as stringifyYaml } from "yaml";
import { isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { getOwn, messageOf, stripBom } from "../../core/contract/internal.ts";

/** The property of all servers, and the server's name in it. */
type EntryPath = readonly [container: string, name: string];

/** How one format is read and changed. */
export interface ConfigFormat {
  /** The text of a file without settings. */
  readonly empty: string;
  /** Throws a `SyntaxError` that says what is wrong, as the end of a sentence. */
  readonly parse: (text: string) => unknown;
  readonly set: (text: string, path: EntryPath, value: JsonObject) => string;
  readonly remove: (text: string, path: EntryPath) => string;
  /** For people who add it by hand. */
  readonly render: (path: EntryPath, value: JsonObject) => string;
}

/** Why a text cannot be changed, as the end of a sentence. */
export class UnchangeableText extends Error {
  override readonly name = "UnchangeableText";
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const settingsOf = (format: ConfigFormat, text: string): JsonObject => {
  let settings: unknown;
  try {
    settings = plain(format.parse(text));
  } catch (error) {
    throw new UnchangeableText(messageOf(error));
  }
  if (!isJsonObject(settings)) throw new UnchangeableText("it holds no object of settings");
  return settings;
};

const serversOf = (settings: JsonObject, container: string): JsonObject => {
  const servers = getOwn(settings, container) ?? {};
  if (!isJsonObject(servers)) throw new UnchangeableText(`its ${JSON.stringify(container)} is no object`);
  return servers;
};

/** The servers that a text names, with their settings. Throws `UnchangeableText`. */
export const entriesOf = (format: ConfigFormat, text: string, container: string): JsonObject =>
  serversOf(settingsOf(format, stripBom(text)), container);

/**
 * The text with this entry, or without it if `value` is undefined. Throws `UnchangeableText` if anything else would change: the formats
 * edit text, and a file may use a notation that they do not know.
 */
export const changeEntry = (format: ConfigFormat, text: string, path: EntryPath, value: JsonObject | undefined): string => {
  const body = stripBom(text);
  const [container, name] = path;
  const before = settingsOf(format, body);
  const servers = serversOf(before, container);
  const { [name]: _, ...others } = servers;
  const wanted = value === undefined ? others : { ...servers, [name]: value };
  if (isDeepStrictEqual(wanted, servers)) return text;
  const after = value === undefined ? format.remove(body, path) : format.set(body, path, value);
  if (!isDeepStrictEqual(readBack(format, after, container), withoutEmpty({ ...before, [container]: wanted }, container)))
    throw new UnchangeableText("it is written in a way that cannot be changed safely");
  return text.slice(0, text.length - body.length) + after;
};

/** A container that is empty is the same as none. */
const withoutEmpty = (settings: JsonObject, container: string): unknown => {
  const { [container]: servers, ...rest } = settings;
  return isJsonObject(servers) && Object.keys(servers).length === 0 ? rest : plain(settings);
};

const readBack = (format: ConfigFormat, text: string, container: string): unknown => {
  try {
    return withoutEmpty(settingsOf(format, text), container);
  } catch {
    return undefined;
  }
};

const OPTIONS = { allowTrailingComma: true, allowEmptyContent: true };

const position = (text: string, offset: number): string => {
  const before = text.slice(0, offset).split("\n");
  return `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
};

/** Whitespace and comments. */
const TRIVIA = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;

/** The offset of the comma that follows, if nothing but whitespace and comments is before it. */
const commaAfter = (text: string, offset: number): number | undefined => {
  TRIVIA.lastIndex = offset;
  const skipped = TRIVIA.exec(text)?.[0].length ?? 0;
  return text[offset + skipped] === "," ? offset + skipped : undefined;
};

const endOf = ({ offset, length }: Node): number => offset + length;

/** The end of the line if only a comment follows; else the offset itself. */
const endOfLine = (text: string, offset: number): number => {
  const rest = /^[ \t]*(?:\/\/[^\r\n]*)?(?=\r?\n|$)/.exec(text.slice(offset));
  return rest === null ? offset : offset + rest[0].length;
};

interface Style {
  readonly eol: string;
  readonly indent: string;
}

const styleOf = (text: string): Style => ({
  eol: text.includes("\r\n") ? "\r\n" : "\n",
  indent: /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ",
});

/** The whitespace that a line begins with. */
const indentAt = (text: string, offset: number): string => {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
};

const renderJson = (value: Json, { eol, indent }: Style, base: string): string =>
  JSON.stringify(value, null, indent).replaceAll("\n", `${eol}${base}`);

const propertyOf = (object: Node, name: string): Node | undefined =>
  object.children?.findLast((property) => property.children?.[0]?.value === name);

const valueOf = (property: Node | undefined): Node | undefined => property?.children?.[1];

const splice = (text: string, from: number, to: number, by = ""): string => text.slice(0, from) + by + text.slice(to);

const addProperty = (text: string, object: Node, name: string, value: Json): string => {
  const style = styleOf(text);
  const base = indentAt(text, object.offset);
  const last = object.children?.at(-1);
  const own = last === undefined ? base + style.indent : indentAt(text, last.offset);
  const property = `${JSON.stringify(name)}: ${renderJson(value, style, own)}`;
  if (last === undefined) {
    const inside = text.slice(object.offset + 1, endOf(object) - 1);
    const rest = inside.trim() === "" ? `${style.eol}${base}` : inside;
    return splice(text, object.offset + 1, endOf(object) - 1, `${style.eol}${own}${property}${rest}`);
  }
  const comma = commaAfter(text, endOf(last));
  const at = endOfLine(text, comma === undefined ? endOf(last) : comma + 1);
  const added = splice(text, at, at, `${style.eol}${own}${property}`);
  return comma === undefined ? splice(added, endOf(last), endOf(last), ",") : added;
};

const removeProperty = (text: string, object: Node, property: Node): string => {
  const all = object.children ?? [];
  const index = all.indexOf(property);
  const from = property.offset - (/\s*$/.exec(text.slice(0, property.offset))?.[0].length ?? 0);
  const comma = commaAfter(text, endOf(property));
  const end = comma === undefined ? endOf(property) : comma + 1;
  const previous = all[index - 1];
  if (index < all.length - 1) return splice(text, from, end);
  if (previous !== undefined) {
    const before = commaAfter(text, endOf(previous));
    const without = splice(text, from, end);
    return before === undefined ? without : splice(without, before, before + 1);
  }
  const inside = text.slice(object.offset + 1, from) + text.slice(end, endOf(object) - 1);
  return splice(text, object.offset + 1, endOf(object) - 1, inside.trim() === "" ? "" : inside);
};

const rootOf = (text: string): Node | undefined => parseTree(text, [], OPTIONS);

export const jsonFile: ConfigFormat = {
  empty: "{}\n",
  parse(text) {
    const errors: ParseError[] = [];
    const value: unknown = parseJsonc(text, errors, OPTIONS);
    const [first] = errors;
    if (first !== undefined)
      throw new SyntaxError(`it is not JSON (${printParseErrorCode(first.error)} at ${position(text, first.offset)})`);
    return value ?? {};
  },
  set(text, [container, name], value) {
    const root = rootOf(text);
    // A file may hold comments alone.
    if (root === undefined) return jsonFile.set(text.trim() === "" ? "{}\n" : `${text.trimEnd()}\n{}\n`, [container, name], value);
    const inner = valueOf(propertyOf(root, container));
    if (inner === undefined) return addProperty(text, root, container, { [name]: value });
    const present = valueOf(propertyOf(inner, name));
    if (present === undefined) return addProperty(text, inner, name, value);
    return splice(text, present.offset, endOf(present), renderJson(value, styleOf(text), indentAt(text, present.offset)));
  },
  remove(text, [container, name]) {
    const root = rootOf(text);
    const outer = root === undefined ? undefined : propertyOf(root, container);
    const inner = valueOf(outer);
    const property = inner === undefined ? undefined : propertyOf(inner, name);
    if (root === undefined || outer === undefined || inner === undefined || property === undefined) return text;
    const rest = removeProperty(text, inner, property);
    if (inner.children?.length !== 1) return rest;
    // An empty container is removed too, since it was probably added with the entry, unless it has comments.
    const left = rest.slice(inner.offset, endOf(inner) - (text.length - rest.length));
    return /^\{\s*\}$/.test(left) ? removeProperty(text, root, outer) : rest;
  },
  render: ([container, name], value) => JSON.stringify({ [container]: { [name]: value } }, null, 2),
};

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

const key = (name: string): string => `(?:${escaped(name)}|"${escaped(name)}"|'${escaped(name)}')`;

const renderToml: ConfigFormat["render"] = ([container, name], value) => `${stringifyToml({ [container]: { [name]: value } }).trim()}\n`;

/** Removes the lines of its tables. Comments before the next table belong to that table. */
const withoutTable = (text: string, [container, name]: readonly [string, string]): string => {
  const own = new RegExp(`^\\s*\\[\\s*${key(container)}\\s*\\.\\s*${key(name)}\\s*[.\\]]`);
  const lines: string[] = [];
  let pending: string[] = [];
  let inside = false;
  for (const line of text.split(/(?<=\n)/)) {
    if (/^\s*\[/.test(line)) {
      inside = own.test(line);
      if (!inside) lines.push(...pending);
      pending = [];
    }
    if (!inside) lines.push(line);
    else if (/^\s*(?:#|$)/.test(line)) pending.push(line);
    else pending = [];
  }
  // Removes the blank line that was appended before it.
  const rest = lines.join("");
  return inside ? rest.replace(/(?<=^|\n)\s+$/, "") : rest;
};

export const tomlFile: ConfigFormat = {
  empty: "",
  parse(text) {
    try {
      return parseToml(text);
    } catch (error) {
      throw new SyntaxError(`it is not TOML (${error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)})`);
    }
  },
  set(text, path, value) {
    const eol = text.includes("\r\n") ? "\r\n" : "\n";
    const rest = withoutTable(text, path);
    const gap = rest === "" ? "" : rest.endsWith("\n") ? eol : eol + eol;
    return rest + gap + renderToml(path, value).replaceAll("\n", eol);
  },
  remove: withoutTable,
  render: renderToml,
};

const documentOf = (text: string): Document => {
  const document = parseDocument(text);
  const [first] = document.errors;
  if (first !== undefined) throw new SyntaxError(`it is not YAML (${first.message.split("\n")[0] ?? ""})`);
  return document;
};

const print = (document: Document, text: string): string => {
  const printed = document.toString({ lineWidth: 0 });
  return text.includes("\r\n") ? printed.replaceAll(/\r?\n/g, "\r\n") : printed;
};

export const yamlFile: ConfigFormat = {
  empty: "",
  parse: (text) => documentOf(text).toJS() ?? {},
  set(text, path, value) {
    const document = documentOf(text);
    if (document.contents === null) document.contents = document.createNode({});
    // `extensions:` without a value.
    if (!isMap(document.get(path[0]))) document.set(path[0], document.createNode({}));
    document.setIn(path, document.createNode(value));
    return print(document, text);
  },
  remove(text, [container, name]) {
    const document = documentOf(text);
    document.deleteIn([container, name]);
    const inner = document.get(container);
    if (isMap(inner) && inner.items.length === 0) document.delete(container);
    const { contents } = document;
    const isEmpty = isMap(contents) && contents.items.length === 0;
    return isEmpty && !/^\s*#/m.test(text) ? "" : print(document, text);
  },
  render: ([container, name], value) => stringifyYaml({ [container]: { [name]: value } }),
};
