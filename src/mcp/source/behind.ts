import type { Bag, Json, Offer } from "../../core/contract/index.ts";
import { MAX_URI, memoize, getOwn } from "../../core/contract/internal.ts";
import type { Entry } from "./posture.ts";

const EXPRESSION = /\{(\+?)([^{}]*)\}/g;

/** By value, as it was listed last, for as long as nobody needs the memory: a list is long, and with each turn nearly what it was. */
const lastOf = memoize((_offer: Offer): { entries?: WeakRef<ReadonlyMap<string, Entry>> } => ({}));

/** A resource for each value that the one variable of a template may have now, by that value's name. */
export function behind(offer: Offer, choices: Readonly<Record<string, readonly string[]>> | undefined): readonly Entry[] {
  const { uriTemplate, name: _name, title, size: _size, ...shared } = offer.definition;
  if (typeof uriTemplate !== "string") return [];
  const [expression, ...others] = uriTemplate.matchAll(EXPRESSION);
  if (expression === undefined || others.length > 0) return [];
  const [text, operator = "", variable = ""] = expression;
  const [before = "", after = ""] = uriTemplate.split(text);
  const made = (value: string): Entry | undefined => {
    const uri = isNamed(value) ? before + (operator === "+" ? reserved(value) : simple(value)) + after : undefined;
    return uri !== undefined && isRead(uri) ? entryOf(uri, value, title, shared) : undefined;
  };
  const last = lastOf(offer);
  const known = last.entries?.deref();
  const entries = new Map<string, Entry>();
  for (const value of getOwn(choices, variable) ?? []) {
    const entry = known?.get(value) ?? made(value);
    if (entry !== undefined) entries.set(value, entry);
  }
  last.entries = new WeakRef(entries);
  return [...entries.values()];
}

// Nothing could be read under the empty text: no URI would fit the template.
const isNamed = (value: string): boolean => value !== "" && value.isWellFormed();

/** RFC 3986 §5.2.4: clients that read URIs take them away, and ask for another. */
const DOT_SEGMENT = /\/\.\.?(?:[/?#]|$)/;

// Some clients refuse the whole list over one URI that they cannot read, as of a value that stands where a host does.
const isRead = (uri: string): boolean => uri.length <= MAX_URI && URL.canParse(uri) && !DOT_SEGMENT.test(uri);

const entryOf = (uri: string, name: string, title: Json | undefined, shared: Bag): Entry => ({
  name,
  ...(typeof title === "string" && { title: `${title}: ${name}` }),
  ...shared,
  uri,
});

/** RFC 6570 §3.2.2. */
const simple = (value: string): string => encodeURIComponent(value).replaceAll(/[!'()*]/g, encoded);

/** RFC 6570 §3.2.3, but that a percent sign is never taken for one that begins an escape. */
const reserved = (value: string): string => encodeURI(value).replaceAll("%5B", "[").replaceAll("%5D", "]");

const encoded = (sign: string): string => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
