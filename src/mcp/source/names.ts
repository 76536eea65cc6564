// Owns: refs, names and URIs of offers, and the names and instructions of sources. Does not own: which offers there are.

import {
  type Catalogue,
  isJsonObject,
  type Json,
  type JsonObject,
  type ListName,
  type Offer,
  type OfferRef,
  type OptionRule,
  type Source,
  TroupeError,
} from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";

export const LISTS: readonly ListName[] = ["tools", "resources", "prompts"];

export function refOf(list: ListName, name: string): OfferRef {
  return `${list}/${name}`;
}

/** The list and the name of a ref; undefined: it is none. */
export function splitRef(ref: string): { readonly list: ListName; readonly name: string } | undefined {
  const slash = ref.indexOf("/");
  const list = LISTS.find((one) => one === ref.slice(0, slash));
  return list === undefined || slash === ref.length - 1 ? undefined : { list, name: ref.slice(slash + 1) };
}

/** The offers of a catalogue by ref, indexed once. */
export const offersOf = memoize(
  (catalogue: Catalogue): ReadonlyMap<OfferRef, Offer> =>
    new Map(LISTS.flatMap((list) => catalogue[list].map((offer): [OfferRef, Offer] => [refOf(list, offer.name), offer]))),
);

/** How names of joined surfaces are put together, and which are valid. */
export interface Names {
  readonly separator: string;
  /** What every tool's and prompt's name must match. */
  readonly pattern: RegExp;
}

/**
 * `underscores`: `child__look`, letters, digits, `_` and `-`, at most 64 characters, since the APIs of OpenAI and Anthropic refuse a whole
 * request for one other name. `dots`: `child.look`, at most 128 characters, as MCP allows since 2025-11-25.
 */
export type NameStyle = "underscores" | "dots";

const STYLES: Readonly<Record<NameStyle, Names>> = {
  underscores: { separator: "__", pattern: /^[A-Za-z0-9_-]{1,64}$/ },
  dots: { separator: ".", pattern: /^[A-Za-z0-9_.-]{1,128}$/ },
};

/** The rules of a style, or those given. */
export function namesOf(given: NameStyle | Names): Names {
  return typeof given === "string" ? STYLES[given] : given;
}

export const NAMES: OptionRule = [
  '"underscores" (child__look), "dots" (child.look) or { separator, pattern }',
  (value) =>
    value === "underscores" ||
    value === "dots" ||
    (isJsonObject(value) && typeof value["separator"] === "string" && value["pattern"] instanceof RegExp),
];

/** `prefix` and `name` with the separator between; an empty prefix leaves the name alone. */
export function joinName(names: Names, prefix: string, name: string): string {
  if (prefix === "") return name;
  if (name === "") return prefix;
  return prefix.endsWith(names.separator) ? prefix + name : prefix + names.separator + name;
}

const RESOURCE_NAME = /^[^\p{Cc}]{1,256}$/u;

/** Throws `BAD_NAME` if a client could not use the name. Resources are requested by URI: their names are only bounded. */
export function checkName(names: Names, list: ListName, name: string, whose: string): void {
  const pattern = list === "resources" ? RESOURCE_NAME : names.pattern;
  if (pattern.test(name)) return;
  throw new TroupeError(
    "BAD_NAME",
    `${whose} offers ${list}/${JSON.stringify(name)}, which does not match ${String(pattern)}: ${remedyFor(pattern, name)}.`,
  );
}

function remedyFor(pattern: RegExp, name: string): string {
  if (pattern !== STYLES.underscores.pattern) return "rename it or shorten its prefix";
  if (!STYLES.dots.pattern.test(name)) return "rename it, since the APIs of models take no other names";
  return 'the APIs of models take no other names. Rename it or shorten its prefix, or give names: "dots" (--names dots) to allow dots and 128 characters';
}

const URI = /^([A-Za-z][A-Za-z0-9+.-]*:)(\/\/)?(.*)$/s;
// The authority of these is a host, which a segment must not replace.
const HOSTED = new Set(["http:", "https:", "ws:", "wss:", "ftp:", "file:"]);

/** The URI with one more first segment: `game://player/state` → `game://SEGMENT/player/state`. The segment is written as given. */
export function withSegment(uri: string, segment: string): string {
  const match = URI.exec(uri);
  if (match === null) return `${segment}/${uri}`;
  const [, scheme = "", slashes = "", rest = ""] = match;
  if (slashes !== "" && HOSTED.has(scheme.toLowerCase())) {
    const slash = rest.indexOf("/");
    const host = slash === -1 ? rest : rest.slice(0, slash);
    const path = slash === -1 ? "" : rest.slice(slash);
    return `${scheme}//${host}/${segment}${path}`;
  }
  return `${scheme}${slashes}${segment}/${rest}`;
}

/** Replaces every `{alias}`. */
export function fillAlias(uri: string, alias: string): string {
  return uri.replaceAll("{alias}", () => alias);
}

/**
 * A tool's definition whose app has the URI that its resource has here (MCP Apps: `_meta.ui.resourceUri`, and the older
 * `_meta["ui/resourceUri"]`). The same object where it names no app.
 */
export function withAppUri(definition: JsonObject, change: (uri: string) => string): JsonObject {
  const meta = definition["_meta"];
  if (!isJsonObject(meta)) return definition;
  const { ui, "ui/resourceUri": older } = meta;
  const changed: Record<string, Json> = {};
  if (typeof older === "string") changed["ui/resourceUri"] = change(older);
  if (isJsonObject(ui) && typeof ui["resourceUri"] === "string") changed["ui"] = { ...ui, resourceUri: change(ui["resourceUri"]) };
  return Object.keys(changed).length === 0 ? definition : { ...definition, _meta: { ...meta, ...changed } };
}

/** The URI or template of a resource's definition; "" where it has none. */
export function uriOf(definition: { readonly [key: string]: unknown }): string {
  const uri = definition["uri"] ?? definition["uriTemplate"];
  return typeof uri === "string" ? uri : "";
}

const named = new WeakMap<Source, string>();

/** Sets the words by which errors name a source. */
export function describeSource(source: Source, words: string): void {
  named.set(source, words);
}

/** How errors name a source: by its own words, or by its position among others. */
export function sourceWords(source: Source, position: number): string {
  return named.get(source) ?? `source ${position + 1}`;
}

interface Under {
  /** All its names begin with this. */
  readonly head: string;
  readonly inside: Source;
}

const prefixed = new WeakMap<Source, Under>();

/** A source under a prefix has the instructions of the source inside, which does not know the prefix. */
export function describePrefix(source: Source, under: Under): void {
  prefixed.set(source, under);
}

/** The instructions of several sources, each once, with the prefix that its names have here. */
export function joinInstructions(sources: readonly Source[]): string | undefined {
  const heads = new Map<string, string[]>();
  for (const source of sources) {
    const under = prefixed.get(source);
    const text = (under?.inside ?? source).instructions;
    if (text === undefined || text === "") continue;
    heads.set(text, [...(heads.get(text) ?? []), under?.head ?? ""]);
  }
  const texts = [...heads].map(([text, among]) => (among.includes("") ? text : `${aboutNames(among)}\n${text}`));
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

function aboutNames(heads: readonly string[]): string {
  return `About everything here whose name begins with ${heads.map((head) => JSON.stringify(head)).join(" or ")}:`;
}
