// Owns: URI templates: checking them, matching URIs against them, the templates of a catalogue. Does not own: reading resources
// (mcp/source).

import { memoize } from "./collections.ts";
import { TroupeError } from "./errors.ts";
import type { Catalogue, Offer } from "./surface.ts";

/** In characters. A longer URI is nobody's: matching stays cheap whatever a client sends. */
export const MAX_URI = 4_096;

const EXPRESSION = /\{(\+?)([^{}]*)\}/g;
const VARIABLE = /^[A-Za-z0-9_%-][A-Za-z0-9_.%-]*$/;
// RFC 3986, 2: clients that read URIs write another otherwise, which is then not found.
const SIGNS = /^(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/;

/**
 * The variables of a template of RFC 6570: `{id}` of level 1, and `{+path}`, which may hold slashes; of a URI none. `aside` is one
 * that may come often and is not among them. Throws `BAD_DEFINITION` for what is neither.
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
  /** What an expansion begins with. */
  readonly mark: string;
  /** What the run of characters after that is without. */
  readonly without: string;
  readonly least: 0 | 1;
  /** It may stand for nothing. */
  readonly optional?: boolean;
}

interface Expression extends Operator {
  readonly name: string;
}

const BREAKS = "\n\r\u2028\u2029";
/** RFC 6570 level 1: percent-encoded text, so never a slash. */
const SIMPLE: Operator = { mark: "", without: "/?#", least: 1 };
/** Level 2: all that a URI may hold. */
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
 * A URI template read backwards. A regular expression would try each expression at each length: a URI of a client's making
 * that fits nearly could hold the process for seconds. This takes as long as the URI and the template are.
 */
export class UriPattern {
  readonly #parts: readonly (string | Expression)[];
  /** How many characters of a URI it says itself. */
  readonly says: number;
  /** How many of its expressions may stand for several segments. */
  readonly wide: number;

  /** `raw`: expressions of any level, each by all of its text; else `{id}` and `{+path}`, by their names. */
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

  /** What each expression stands for: the first takes as much as it can, then the next. Undefined: this URI is another's. */
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

  /** Of each part, from where on in the URI it and those behind it fit the rest. */
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
  // At the character behind: whether a run that has come there fits, and one that begins there.
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

/** Where the longest expansion from here ends that leaves to what is behind what fits it. */
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

/** The templates of a catalogue, in the order in which a URI is held against them. */
export const templatesOf = memoize((catalogue: Catalogue): readonly Template[] =>
  catalogue.resources
    .flatMap((offer) => {
      const { uriTemplate: text } = offer.definition;
      return typeof text === "string" ? [{ text, pattern: new UriPattern(text, offer.rawVariables === true), offer }] : [];
    })
    .toSorted(closest),
);

/** Of several that a URI fits it is the one's that says most of it: what stands under a prefix is no path of another's. */
const closest = ({ pattern: a }: Template, { pattern: b }: Template): number => b.says - a.says || a.wide - b.wide;
