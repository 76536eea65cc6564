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
