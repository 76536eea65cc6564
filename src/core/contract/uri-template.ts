// Owns: URI templates: checking them, matching URIs against them, the templates of a catalogue. Does not own: reading resources
// (mcp/source).

import { memoize } from "./collections.ts";
import { TroupeError } from "./errors.ts";
import type { Catalogue, Offer } from "./surface.ts";

/** In characters. Longer URIs match nothing, so that matching stays cheap. */
export const MAX_URI = 4_096;

const EXPRESSION = /\{(\+?)([^{}]*)\}/g;
const VARIABLE = /^[A-Za-z0-9_%-][A-Za-z0-9_.%-]*$/;
// RFC 3986, section 2. Clients normalise other characters, and their URI would not be found.
const SIGNS = /^(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/;

/**
 * The variables of an RFC 6570 template: `{id}` (level 1) and `{+path}`, which may contain slashes. A plain URI has none. `aside`: a
 * variable that may repeat and is not returned. Throws `BAD_DEFINITION` for any other text.
 */
export function templateVariables(uri: unknown, where: string, aside?: string): readonly string[] {
  const bad = (why: string): TroupeError => new TroupeError("BAD_DEFINITION", `${where}: ${why}.`);
  if (typeof uri !== "string" || uri === "") throw bad("there is no URI: give uri, as in notes://{id}");
  const names: string[] = [];
  for (const [expression, operator, name = ""] of uri.matchAll(EXPRESSION)) {
    if (!VARIABLE.test(name))
      throw bad(`${expression} is of RFC 6570 more than is read here: use {name}, or {+name} for what may hold slashes`);
    if (names.includes(name)) throw bad(`${expression} is there twice: give each variable a name of its own`);
    if (name !== aside || operator !== "") names.push(name);
  }
  const fixed = uri.replaceAll(EXPRESSION, "");
  if (/[{}]/.test(fixed)) throw bad(`${uri} has a brace without its partner`);
  if (!/^[a-z][a-z0-9+.-]*:/i.test(uri)) throw bad(`${uri} is no URI: begin with a scheme, as in notes://${uri.slice(0, 40)}`);
  if (!SIGNS.test(fixed)) throw bad(`${uri} has signs that no URI has: write them percent-encoded, a space as %20`);
  return names;
}

interface Operator {
  /** The prefix of an expansion. */
  readonly mark: string;
  /** Characters that cannot follow in the expansion. */
  readonly without: string;
  readonly least: 0 | 1;
  /** The expansion may be empty, prefix included. */
  readonly optional?: boolean;
}

interface Expression extends Operator {
  readonly name: string;
}

const BREAKS = "\n\r\u2028\u2029";
/** RFC 6570 level 1: percent-encoded text, so never a slash. */
const SIMPLE: Operator = { mark: "", without: "/?#", least: 1 };
/** Level 2: any characters of a URI. */
const RESERVED: Operator = { mark: "", without: BREAKS, least: 1 };
/** RFC 6570 §3.2. All of a query is optional. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  "+": RESERVED,
  "#": { mark: "#", without: BREAKS, least: 0 },
  ".": { mark: ".", without: "/?#", least: 1 },
  "/": { mark: "/", without: "?#", least: 0 },
  ";": { mark: ";", without: "/?#", least: 1 },
  "?": { mark: "?", without: "#", least: 0, optional: true },
  "&": { mark: "&", without: "#", least: 0, optional: true },
};

/**
 * Matches URIs against a template, in time proportional to URI and template. A regular expression backtracks: a crafted URI that
 * almost matches could block the process for seconds.
 */
export class UriPattern {
  readonly #parts: readonly (string | Expression)[];
  /** The number of literal characters. */
  readonly says: number;
  /** The number of expressions that can match several segments. */
  readonly wide: number;

  /** `raw`: expressions of any level, reported by their whole text; otherwise `{id}` and `{+path}`, reported by name. */
  constructor(template: string, raw: boolean) {
    this.#parts = template
      .split(/(\{[^{}]+\})/)
      .filter((part) => part !== "")
      .map((part) => {
        if (!/^\{[^{}]+\}$/.test(part)) return part;
        if (raw) return { name: part.slice(1, -1), ...(OPERATORS[part.charAt(1)] ?? SIMPLE) };
        return part.charAt(1) === "+" ? { name: part.slice(2, -1), ...RESERVED } : { name: part.slice(1, -1), ...SIMPLE };
      });
    this.says = this.#parts.reduce((sum, part) => sum + (typeof part === "string" ? part.length : 0), 0);
    this.wide = this.#parts.filter((part) => typeof part !== "string" && !part.without.includes("/")).length;
  }

  /** The value of each expression; earlier expressions are greedy. Undefined: no match. */
  match(uri: string): readonly (readonly [name: string, value: string])[] | undefined {
    const [first] = this.#parts;
    if (typeof first === "string" && !uri.startsWith(first)) return undefined;
    const ends = this.#ends(uri);
    if (ends[0]?.[0] !== 1) return undefined;
    const found: (readonly [string, string])[] = [];
    let at = 0;
    for (const [place, part] of this.#parts.entries()) {
      const from = at;
      at = typeof part === "string" ? at + part.length : furthest(part, uri, at, ends[place + 1]);
      if (typeof part !== "string") found.push([part.name, uri.slice(from, at)]);
    }
    return found;
  }

  /** For each part, the positions of the URI from which it and all later parts match the rest. */
  #ends(uri: string): readonly Uint8Array[] {
    let behind = new Uint8Array(uri.length + 1);
    behind[uri.length] = 1;
    const all = [behind];
    for (const part of this.#parts.toReversed()) {
      behind = typeof part === "string" ? literal(part, uri, behind) : expanded(part, uri, behind);
      all.push(behind);
    }
    return all.toReversed();
  }
}

function literal(part: string, uri: string, behind: Uint8Array): Uint8Array<ArrayBuffer> {
  const fits = new Uint8Array(uri.length + 1);
  for (let at = uri.indexOf(part); at !== -1; at = uri.indexOf(part, at + 1)) fits[at] = behind[at + part.length] ?? 0;
  return fits;
}

function expanded({ mark, without, least, optional }: Expression, uri: string, behind: Uint8Array): Uint8Array<ArrayBuffer> {
  const fits = new Uint8Array(uri.length + 1);
  // State of the next character: whether a run that reaches it matches, and whether one that starts there does.
  let [tail, run] = [0, 0];
  for (let at = uri.length; at >= 0; at -= 1) {
    const behindMark = run;
    const longer = at < uri.length && !without.includes(uri.charAt(at)) ? tail : 0;
    tail = behind[at] === 1 ? 1 : longer;
    run = least === 1 ? longer : tail;
    const begun = uri.charAt(at) === mark ? behindMark : 0;
    const left = optional === true ? behind[at] : 0;
    fits[at] = (mark === "" ? run : begun) || (left ?? 0);
  }
  return fits;
}

/** The end of the longest expansion after which the later parts still match. */
function furthest({ mark, without, least }: Expression, uri: string, from: number, behind: Uint8Array | undefined): number {
  if (mark !== "" && uri.charAt(from) !== mark) return from;
  let at = from + mark.length;
  let end = least === 0 && behind?.[at] === 1 ? at : from;
  while (at < uri.length && !without.includes(uri.charAt(at))) {
    at += 1;
    if (behind?.[at] === 1) end = at;
  }
  return end;
}

export interface Template {
  readonly text: string;
  readonly pattern: UriPattern;
  readonly offer: Offer;
}

/** The templates of a catalogue, in matching order. */
export const templatesOf = memoize((catalogue: Catalogue): readonly Template[] =>
  catalogue.resources
    .flatMap((offer) => {
      const { uriTemplate: text } = offer.definition;
      return typeof text === "string" ? [{ text, pattern: new UriPattern(text, offer.rawVariables === true), offer }] : [];
    })
    .toSorted(closest),
);

/** Most literal characters first: a URI under a specific prefix must not match a general template. */
const closest = ({ pattern: a }: Template, { pattern: b }: Template): number => b.says - a.says || a.wide - b.wide;
