// Owns: one entry of a JSON file, with comments or without: set and removed where it is, so that all other text stays. Does not own: which file.
import { type Node, parse, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import type { Json } from "../../core/contract/index.ts";
import type { ConfigFormat } from "./config-text.ts";

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

/** Where the line ends, if only a comment follows there; else the offset itself. */
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

const render = (value: Json, { eol, indent }: Style, base: string): string =>
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
  const property = `${JSON.stringify(name)}: ${render(value, style, own)}`;
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
    const value: unknown = parse(text, errors, OPTIONS);
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
    return splice(text, present.offset, endOf(present), render(value, styleOf(text), indentAt(text, present.offset)));
  },
  remove(text, [container, name]) {
    const root = rootOf(text);
    const outer = root === undefined ? undefined : propertyOf(root, container);
    const inner = valueOf(outer);
    const property = inner === undefined ? undefined : propertyOf(inner, name);
    if (root === undefined || outer === undefined || inner === undefined || property === undefined) return text;
    const rest = removeProperty(text, inner, property);
    if (inner.children?.length !== 1) return rest;
    // The last one leaves no empty container, since that was probably added with it; but one that has comments stays.
    const left = rest.slice(inner.offset, endOf(inner) - (text.length - rest.length));
    return /^\{\s*\}$/.test(left) ? removeProperty(text, root, outer) : rest;
  },
  render: ([container, name], value) => JSON.stringify({ [container]: { [name]: value } }, null, 2),
};
