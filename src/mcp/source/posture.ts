// Owns: the lists of a surface as clients see them, and which lists differ. Does not own: surfaces, or when they are sent.

import {
  type Catalogue,
  isBag,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type Surface,
  type Bag,
} from "../../core/contract/index.ts";
import { memoize, getOwn, templatesOf, MAX_URI } from "../../core/contract/internal.ts";
import { LISTS, refOf } from "./offers.ts";
import { sameJson } from "./json.ts";

/**
 * `dynamic`: the list is what is possible now. `gated`: the list is the whole catalogue without what is hidden (off without a reason),
 * and a call out of turn is refused with the reason. What stands behind a template that is `listed` follows the state in both.
 */
export type Posture = "dynamic" | "gated";

/** An entry of an MCP list in its newest shape. */
export type Entry = { readonly name: string } & { readonly [key: string]: Json };

/** The lists of a surface. Equal contents of one catalogue are the same array while anybody holds it. */
export interface Lists {
  readonly tools: readonly Entry[];
  readonly resources: readonly Entry[];
  readonly resourceTemplates: readonly Entry[];
  readonly prompts: readonly Entry[];
}

// What a dynamic list shows, in one text: which offers, the choices its schemas carry, and those that are resources.
function printList(surface: Surface, list: ListName): string {
  let shown = "";
  const filled: Json[] = [];
  for (const offer of surface.catalogue[list]) {
    const ref = refOf(list, offer.name);
    const off = Object.hasOwn(surface.off, ref);
    shown += off ? "0" : "1";
    const choices = off ? undefined : getOwn(surface.choices, ref);
    if (choices === undefined) continue;
    if (offer.listed === true) filled.push([offer.name, choices]);
    const visible = list === "tools" ? visibleChoices(offer, choices) : [];
    if (visible.length > 0) filled.push([offer.name, ...visible]);
  }
  return filled.length === 0 ? shown : shown + JSON.stringify(filled);
}

type Choices = Readonly<Record<string, readonly string[]>>;

// An empty choice is left out: several clients refuse a schema with an empty `enum`, and the turn refuses the call anyway.
function visibleChoices(offer: Offer, choices: Choices): readonly (readonly [string, readonly string[]])[] {
  const properties = propertiesOf(offer);
  return Object.entries(choices)
    .filter(([argument, values]) => values.length > 0 && Object.hasOwn(properties, argument))
    .map(([argument, values]): readonly [string, readonly string[]] => [argument, [...new Set(values)]])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function propertiesOf(offer: Offer): { readonly [key: string]: Json } {
  const schema = offer.definition["inputSchema"];
  const properties = isBag(schema) ? schema["properties"] : undefined;
  return isBag(properties) ? properties : {};
}

function withEnum(property: Json | undefined, values: readonly string[]): Json {
  const fixed = isBag(property) ? property : {};
  if (fixed["type"] === "array") return { ...fixed, items: withEnum(fixed["items"], values) };
  return { ...fixed, enum: values };
}

function entryOf(offer: Offer, choices: Choices | undefined): Entry {
  const visible = choices === undefined ? [] : visibleChoices(offer, choices);
  if (visible.length === 0) return plainEntry(offer);
  const schema = offer.definition["inputSchema"];
  const properties = { ...propertiesOf(offer) };
  for (const [argument, values] of visible) properties[argument] = withEnum(properties[argument], values);
  return { ...plainEntry(offer), inputSchema: { ...(isBag(schema) ? schema : {}), properties } };
}

// A resource may be listed by another name than it is known by: clients ask for its URI.
const plainEntry = memoize((offer: Offer): Entry => {
  // What a mounted server says of tasks is about itself: here only what its offer says can be kept.
  const { execution: _, ...definition } = offer.definition;
  return { name: offer.name, ...definition, ...(offer.task !== undefined && { execution: { taskSupport: offer.task } }) };
});

const MOST_LISTS = 64;
/** In these together: what stands behind templates may be very much, and others with each turn. */
const MOST_ENTRIES = 50_000;

/** Lists of one catalogue by what they show: a few are kept, the others live as long as anybody holds them. */
class Listings {
  readonly #byPrint = new Map<string, WeakRef<readonly Entry[]>>();
  readonly #recent: (readonly Entry[])[] = [];
  #entries = 0;
  readonly #gone = new FinalizationRegistry<string>((print) => {
    if (this.#byPrint.get(print)?.deref() === undefined) this.#byPrint.delete(print);
  });

  get(print: string, make: () => readonly Entry[]): readonly Entry[] {
    const known = this.#byPrint.get(print)?.deref();
    if (known !== undefined) return known;
    const made = Object.freeze(make());
    this.#byPrint.set(print, new WeakRef(made));
    this.#gone.register(made, print);
    this.#recent.push(made);
    this.#entries += made.length;
    while (this.#recent.length > MOST_LISTS || this.#entries > MOST_ENTRIES) this.#entries -= this.#recent.shift()?.length ?? 0;
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
  const kept = listingsOf(catalogue);
  const print = printsOf(surface);
  const visible = (list: ListName): readonly Offer[] =>
    catalogue[list].filter((offer) => !Object.hasOwn(surface.off, refOf(list, offer.name)));
  return {
    tools: kept.get(`t${print.tools}`, () =>
      visible("tools").map((offer) => entryOf(offer, getOwn(surface.choices, refOf("tools", offer.name)))),
    ),
    resources: kept.get(`r${print.resources}`, () => resourcesIn(surface, visible("resources"))),
    // What stands behind them is no part of them: a print begins with a sign for each offer.
    resourceTemplates: kept.get(`u${print.resources.slice(0, catalogue.resources.length)}`, () =>
      visible("resources").filter(isTemplate).map(plainEntry),
    ),
    prompts: kept.get(`p${print.prompts}`, () => visible("prompts").map(plainEntry)),
  };
});

/** What is read under these is what has them for its own, there or off, as under those that another template says more of. */
const fixedUris = memoize(
  ({ resources }: Catalogue): ReadonlySet<unknown> => new Set(resources.map(({ definition }) => definition["uri"])),
);

const listsBehind = memoize((catalogue: Catalogue): boolean => catalogue.resources.some((offer) => offer.listed));

const bare = memoize((catalogue: Catalogue): Surface => ({ catalogue, off: {} }));

/** All of the catalogue, and of the state what stands behind its templates. */
const whole = memoize(({ catalogue, choices }: Surface): Surface => {
  const kept: Record<OfferRef, Choices> = {};
  for (const offer of catalogue.resources) {
    const ref = refOf("resources", offer.name);
    const given = offer.listed === true ? getOwn(choices, ref) : undefined;
    if (given !== undefined) kept[ref] = given;
  }
  return { catalogue, off: {}, choices: kept };
});

/** Offers that are off without a reason are in no list, and each such set of them has lists of its own. */
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

function shownOf(surface: Surface, posture: Posture): Surface {
  if (posture === "dynamic") return surface;
  if (hidesOffers(surface)) return withoutHidden(surface);
  return listsBehind(surface.catalogue) ? whole(surface) : bare(surface.catalogue);
}

/**
 * The entries of the lists. Definitions are never changed: choices are filled as `enum` over a copy of the one
 * property. Arrays and entries are shared and frozen in meaning: serialise them once and hang the text on their identity.
 */
export function listed(surface: Surface, posture: Posture): Lists {
  return dynamicLists(shownOf(surface, posture));
}

/** Which of the three lists a client would find changed. Reasons and empty choices are not seen in a list. */
export function changedLists(before: Surface, after: Surface, posture: Posture): readonly ListName[] {
  const [one, other] = [shownOf(before, posture), shownOf(after, posture)];
  if (one === other) return [];
  // Of what stands behind templates a print says what was given: twice, or under no URI that could be read.
  if (one.catalogue === other.catalogue && !listsBehind(one.catalogue)) {
    const [was, is] = [printsOf(one), printsOf(other)];
    return LISTS.filter((list) => was[list] !== is[list]);
  }
  const [was, is] = [dynamicLists(one), dynamicLists(other)];
  return LISTS.filter(
    (list) => !sameJson(was[list], is[list]) || (list === "resources" && !sameJson(was.resourceTemplates, is.resourceTemplates)),
  );
}

const EXPRESSION = /\{(\+?)([^{}]*)\}/g;

/** By value, as it was listed last, for as long as nobody needs the memory: a list is long, and with each turn nearly what it was. */
const lastOf = memoize((_offer: Offer): { entries?: WeakRef<ReadonlyMap<string, Entry>> } => ({}));

/** A resource for each value that the one variable of a template may have now, by that value's name. */
export function templateEntries(offer: Offer, choices: Readonly<Record<string, readonly string[]>> | undefined): readonly Entry[] {
  const { uriTemplate, name: _name, title, size: _size, ...shared } = offer.definition;
  if (typeof uriTemplate !== "string") return [];
  const [expression, ...others] = uriTemplate.matchAll(EXPRESSION);
  if (expression === undefined || others.length > 0) return [];
  const [text, operator = "", variable = ""] = expression;
  const [before = "", after = ""] = uriTemplate.split(text);
  const made = (value: string): Entry | undefined => {
    const uri = isNamed(value) ? before + (operator === "+" ? reserved(value) : simple(value)) + after : undefined;
    return uri !== undefined && isRead(uri) ? resourceOf(uri, value, title, shared) : undefined;
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

const resourceOf = (uri: string, name: string, title: Json | undefined, shared: Bag): Entry => ({
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
