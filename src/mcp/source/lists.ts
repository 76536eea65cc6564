// Owns: the lists of a surface as clients see them, and which lists differ. Does not own: surfaces, or when they are sent.

import {
  type JsonObject,
  type Catalogue,
  isJsonObject,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type Surface,
} from "../../core/contract/index.ts";
import { getOwn, MAX_URI, memoize, templatesOf } from "../../core/contract/internal.ts";
import { sameJson } from "./json.ts";
import { LISTS, refOf } from "./names.ts";

/**
 * `dynamic`: the list is what is possible now. `static`: the list is the whole catalogue without hidden offers (off without a reason), and
 * a call out of turn is refused with the reason. The listed values of a template follow the state in both.
 */
export type ListMode = "dynamic" | "static";

/** An entry of an MCP list in its newest shape. */
export type Entry = { readonly name: string } & { readonly [key: string]: Json };

/** The lists of a surface. Equal lists of one catalogue are the same array for as long as it is in use. */
export interface Lists {
  readonly tools: readonly Entry[];
  readonly resources: readonly Entry[];
  readonly resourceTemplates: readonly Entry[];
  readonly prompts: readonly Entry[];
}

// A fingerprint of a dynamic list: one sign per offer, then the choices in schemas and those listed as resources.
function printList(surface: Surface, list: ListName): string {
  let print = "";
  const filled: Json[] = [];
  for (const offer of surface.catalogue[list]) {
    const ref = refOf(list, offer.name);
    const off = Object.hasOwn(surface.off, ref);
    print += off ? "0" : "1";
    const choices = off ? undefined : getOwn(surface.choices, ref);
    if (choices === undefined) continue;
    if (offer.listed === true) filled.push([offer.name, choices]);
    const visible = list === "tools" ? visibleChoices(offer, choices) : [];
    if (visible.length > 0) filled.push([offer.name, ...visible]);
  }
  return filled.length === 0 ? print : print + JSON.stringify(filled);
}

type Choices = Readonly<Record<string, readonly string[]>>;

// An empty choice is omitted: several clients refuse a schema with an empty `enum`, and the turn refuses the call anyway.
function visibleChoices(offer: Offer, choices: Choices): readonly (readonly [string, readonly string[]])[] {
  const properties = propertiesOf(offer);
  return Object.entries(choices)
    .filter(([argument, values]) => values.length > 0 && Object.hasOwn(properties, argument))
    .map(([argument, values]): readonly [string, readonly string[]] => [argument, [...new Set(values)]])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function propertiesOf(offer: Offer): { readonly [key: string]: Json } {
  const schema = offer.definition["inputSchema"];
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  return isJsonObject(properties) ? properties : {};
}

function withEnum(property: Json | undefined, values: readonly string[]): Json {
  const fixed = isJsonObject(property) ? property : {};
  if (fixed["type"] === "array") return { ...fixed, items: withEnum(fixed["items"], values) };
  return { ...fixed, enum: values };
}

function entryOf(offer: Offer, choices: Choices | undefined): Entry {
  const visible = choices === undefined ? [] : visibleChoices(offer, choices);
  if (visible.length === 0) return plainEntry(offer);
  const schema = offer.definition["inputSchema"];
  const properties = { ...propertiesOf(offer) };
  for (const [argument, values] of visible) properties[argument] = withEnum(properties[argument], values);
  return { ...plainEntry(offer), inputSchema: { ...(isJsonObject(schema) ? schema : {}), properties } };
}

// A resource's definition may have another name than its offer: clients request it by URI.
const plainEntry = memoize((offer: Offer): Entry => {
  // A mounted server's `execution` is about its own tasks; only the offer says what is possible here.
  const { execution: _, ...definition } = offer.definition;
  return { name: offer.name, ...definition, ...(offer.task !== undefined && { execution: { taskSupport: offer.task } }) };
});

const MAX_LISTS = 64;
/** In these together: the values of templates may be very many, and others after each turn. */
const MAX_ENTRIES = 50_000;

/** Lists of one catalogue by fingerprint: the recent ones are cached, others for as long as they are in use. */
class Listings {
  readonly #byPrint = new Map<string, WeakRef<readonly Entry[]>>();
  readonly #recent: (readonly Entry[])[] = [];
  #entries = 0;
  readonly #collected = new FinalizationRegistry<string>((print) => {
    if (this.#byPrint.get(print)?.deref() === undefined) this.#byPrint.delete(print);
  });

  get(print: string, make: () => readonly Entry[]): readonly Entry[] {
    const known = this.#byPrint.get(print)?.deref();
    if (known !== undefined) return known;
    const made = Object.freeze(make());
    this.#byPrint.set(print, new WeakRef(made));
    this.#collected.register(made, print);
    this.#recent.push(made);
    this.#entries += made.length;
    while (this.#recent.length > MAX_LISTS || this.#entries > MAX_ENTRIES) this.#entries -= this.#recent.shift()?.length ?? 0;
    return made;
  }
}

const listingsOf = memoize((_catalogue: Catalogue) => new Listings());

const printsOf = memoize((surface: Surface): Readonly<Record<ListName, string>> => ({
  tools: printList(surface, "tools"),
  resources: printList(surface, "resources"),
  prompts: printList(surface, "prompts"),
}));

function isTemplate(offer: Offer): boolean {
  return offer.definition["uriTemplate"] !== undefined;
}

function resourcesIn({ catalogue, choices }: Surface, visible: readonly Offer[]): readonly Entry[] {
  const fixed = fixedUris(catalogue);
  const templates = templatesOf(catalogue);
  return visible.flatMap((offer) => {
    if (!isTemplate(offer)) return [plainEntry(offer)];
    if (offer.listed !== true) return [];
    const before = templates.slice(
      0,
      templates.findIndex((one) => one.offer === offer),
    );
    const isOthers = (uri: unknown): boolean => typeof uri === "string" && before.some(({ pattern }) => pattern.match(uri) !== undefined);
    const entries = templateEntries(offer, getOwn(choices, refOf("resources", offer.name)));
    return entries.filter(({ uri }) => !fixed.has(uri) && !isOthers(uri));
  });
}

const dynamicLists = memoize((surface: Surface): Lists => {
  const { catalogue } = surface;
  const lists = listingsOf(catalogue);
  const print = printsOf(surface);
  const visible = (list: ListName): readonly Offer[] =>
    catalogue[list].filter((offer) => !Object.hasOwn(surface.off, refOf(list, offer.name)));
  return {
    tools: lists.get(`t${print.tools}`, () =>
      visible("tools").map((offer) => entryOf(offer, getOwn(surface.choices, refOf("tools", offer.name)))),
    ),
    resources: lists.get(`r${print.resources}`, () => resourcesIn(surface, visible("resources"))),
    // Their values are not part of them: only the signs at the beginning of the fingerprint count.
    resourceTemplates: lists.get(`u${print.resources.slice(0, catalogue.resources.length)}`, () =>
      visible("resources").filter(isTemplate).map(plainEntry),
    ),
    prompts: lists.get(`p${print.prompts}`, () => visible("prompts").map(plainEntry)),
  };
});

/** The URIs of fixed resources: no template lists them, since a read finds the fixed resource first, on or off. */
const fixedUris = memoize(
  ({ resources }: Catalogue): ReadonlySet<unknown> => new Set(resources.map(({ definition }) => definition["uri"])),
);

const listsValues = memoize((catalogue: Catalogue): boolean => catalogue.resources.some((offer) => offer.listed));

const bare = memoize((catalogue: Catalogue): Surface => ({ catalogue, off: {} }));

/** The whole catalogue, and of the state only the listed values of templates. */
const whole = memoize(({ catalogue, choices }: Surface): Surface => {
  const values: Record<OfferRef, Choices> = {};
  for (const offer of catalogue.resources) {
    const ref = refOf("resources", offer.name);
    const given = offer.listed === true ? getOwn(choices, ref) : undefined;
    if (given !== undefined) values[ref] = given;
  }
  return { catalogue, off: {}, choices: values };
});

/** The whole catalogue without hidden offers. Each set of hidden offers has lists of its own. */
const withoutHidden = memoize((surface: Surface): Surface => {
  const off: Record<OfferRef, true> = {};
  for (const list of LISTS)
    for (const { name } of surface.catalogue[list]) {
      const ref = refOf(list, name);
      if (getOwn(surface.off, ref) === true) off[ref] = true;
    }
  return { ...whole(surface), off };
});

/** Whether a surface hides offers: off without a reason. */
export const hidesOffers = memoize(({ off }: Surface): boolean => Object.values(off).includes(true));

function listedSurface(surface: Surface, listMode: ListMode): Surface {
  if (listMode === "dynamic") return surface;
  if (hidesOffers(surface)) return withoutHidden(surface);
  return listsValues(surface.catalogue) ? whole(surface) : bare(surface.catalogue);
}

/**
 * The entries of the lists. Choices are an `enum` in a copy of the property: definitions never change. Arrays and entries are shared and
 * must not be changed, so their serialised text can be cached by identity.
 */
export function listed(surface: Surface, listMode: ListMode): Lists {
  return dynamicLists(listedSurface(surface, listMode));
}

/** Which of the three lists a client would find changed. No list shows reasons or empty choices. */
export function changedLists(before: Surface, after: Surface, listMode: ListMode): readonly ListName[] {
  const [one, other] = [listedSurface(before, listMode), listedSurface(after, listMode)];
  if (one === other) return [];
  // For listed values a fingerprint is too strict: it has duplicates, and values that are not listed for want of a valid URI.
  if (one.catalogue === other.catalogue && !listsValues(one.catalogue)) {
    const [was, is] = [printsOf(one), printsOf(other)];
    return LISTS.filter((list) => was[list] !== is[list]);
  }
  const [was, is] = [dynamicLists(one), dynamicLists(other)];
  return LISTS.filter(
    (list) => !sameJson(was[list], is[list]) || (list === "resources" && !sameJson(was.resourceTemplates, is.resourceTemplates)),
  );
}

const EXPRESSION = /\{(\+?)([^{}]*)\}/g;

/** The entries that were listed last, by value, until memory is needed: a list is long, and hardly changes with a turn. */
const lastOf = memoize((_offer: Offer): { entries?: WeakRef<ReadonlyMap<string, Entry>> } => ({}));

/** A resource for each value that the template's one variable may have now, named by that value. */
export function templateEntries(offer: Offer, choices: Readonly<Record<string, readonly string[]>> | undefined): readonly Entry[] {
  const { uriTemplate, name: _name, title, size: _size, ...shared } = offer.definition;
  if (typeof uriTemplate !== "string") return [];
  const [expression, ...others] = uriTemplate.matchAll(EXPRESSION);
  if (expression === undefined || others.length > 0) return [];
  const [text, operator = "", variable = ""] = expression;
  const [before = "", after = ""] = uriTemplate.split(text);
  const made = (value: string): Entry | undefined => {
    const uri = isValue(value) ? before + (operator === "+" ? reserved(value) : simple(value)) + after : undefined;
    return uri !== undefined && isReadable(uri) ? resourceOf(uri, value, title, shared) : undefined;
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

// No URI with an empty variable matches the template.
const isValue = (value: string): boolean => value !== "" && value.isWellFormed();

/** RFC 3986 §5.2.4: clients that parse URIs remove these segments, and would request another URI. */
const DOT_SEGMENT = /\/\.\.?(?:[/?#]|$)/;

// Some clients refuse the whole list over one URI that they cannot parse, for example with a value in place of a host.
const isReadable = (uri: string): boolean => uri.length <= MAX_URI && URL.canParse(uri) && !DOT_SEGMENT.test(uri);

const resourceOf = (uri: string, name: string, title: Json | undefined, shared: JsonObject): Entry => ({
  name,
  ...(typeof title === "string" && { title: `${title}: ${name}` }),
  ...shared,
  uri,
});

/** RFC 6570 §3.2.2. */
const simple = (value: string): string => encodeURIComponent(value).replaceAll(/[!'()*]/g, encoded);

/** RFC 6570 §3.2.3, except that a percent sign never begins an escape. */
const reserved = (value: string): string => encodeURI(value).replaceAll("%5B", "[").replaceAll("%5D", "]");

const encoded = (sign: string): string => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
