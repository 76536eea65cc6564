// Owns: which offers a root's kinds and links can lead to, before any state is read. Does not own: states (sight.ts).

import { type Behaviour, type Catalogue, type ListName, type Offer, type OfferRef, TroupeError } from "../../core/contract/index.ts";
import { scopesOf } from "../../core/contract/internal.ts";
import { handleOffers, withHandle } from "./handle.ts";
import { checkName, joinName, type Names, fillAlias, uriOf } from "./names.ts";
import { LISTS, refOf } from "./offers.ts";
import { sameJson } from "./json.ts";

/** Where an actor may stand in a viewer's cast: a root, or the end of a chain of links. */
export interface Place {
  readonly behaviour: Behaviour;
  readonly parent?: Place;
  /** The link's prefix in the parent's surface; "" for a root. */
  readonly link: string;
  /** All prefixes from the root on, joined. */
  readonly path: string;
  /** Stands for `{alias}` in URIs: never the principal. */
  readonly alias: string;
  /** Its root is addressed by a handle. */
  readonly handled: boolean;
  readonly depth: number;
  readonly children: readonly Place[];
}

/** One of the offers a name may stand for. Several only where at most one of their places can be taken. */
export interface Way {
  readonly place: Place;
  readonly offer: Offer;
  readonly inner: OfferRef;
}

export interface Planned {
  readonly ref: OfferRef;
  readonly list: ListName;
  readonly shown: Offer;
  readonly ways: readonly Way[];
  /** What its caller's token must have. */
  readonly scopes: readonly string[];
}

/** A tool that mints or ends handles. */
export interface HandleTool {
  readonly root: Place;
  readonly does: "start" | "end";
}

/** All a viewer can ever meet, computed once: names, definitions, and where each comes from. */
export interface Plan {
  readonly roots: readonly Place[];
  readonly offers: ReadonlyMap<OfferRef, Planned>;
  readonly handleTools: ReadonlyMap<OfferRef, HandleTool>;
  readonly catalogue: Catalogue;
  /** Some kind does not say ahead what it shows or links to. */
  readonly open: boolean;
}

export interface PlanOptions {
  readonly kinds: ReadonlyMap<string, Behaviour>;
  readonly names: Names;
  /** Of handles, in milliseconds, where the kind's policy has none. */
  readonly expireMs: number;
  /** For viewers with a principal, or for those without. */
  readonly known: boolean;
  /** The kind of the only root, whatever its `per`: the viewer acts as its `self`. */
  readonly as: string | undefined;
  /** The kind of the only root, if its `per` allows one. */
  readonly only: string | undefined;
}

export const MAX_DEPTH = 8;
const MAX_OFFERS = 1_000;

/** Whether the kind does not say ahead which actors may join it. */
export function isOpen(behaviour: Behaviour): boolean {
  return behaviour.catalogue?.links === undefined;
}

function aliasOf(behaviour: Behaviour, path: string): string {
  if (path !== "") return path;
  if (behaviour.per === "shared") return "main";
  return behaviour.per === "user" ? "me" : behaviour.kind;
}

/** A place below another. A kind joins once on the way from a root: a room reached through a room is not shown again. */
export function placeBelow(parent: Place, link: string, behaviour: Behaviour, names: Names): Place {
  const path = joinName(names, parent.path, link);
  const children: Place[] = [];
  const { handled, depth } = parent;
  return { behaviour, parent, link, path, alias: aliasOf(behaviour, path), handled, depth: depth + 1, children };
}

function isOnWay(place: Place | undefined, behaviour: Behaviour): boolean {
  for (let at = place; at !== undefined; at = at.parent) if (at.behaviour === behaviour) return true;
  return false;
}

function grow(place: Place, options: PlanOptions): Place {
  const links = place.behaviour.catalogue?.links ?? {};
  const children: Place[] = [];
  const grown: Place = { ...place, children };
  for (const [link, kinds] of Object.entries(links)) {
    for (const kind of kinds) {
      const behaviour = options.kinds.get(kind);
      if (behaviour === undefined) {
        throw new TroupeError(
          "BAD_DEFINITION",
          `${place.behaviour.kind} links to the kind ${kind}, which this cast does not have: add it to \`kinds\`.`,
        );
      }
      if (isOnWay(grown, behaviour)) continue;
      if (grown.depth >= MAX_DEPTH)
        throw new TroupeError("BAD_DEFINITION", `${kind} is more than ${MAX_DEPTH} links away: link to it from nearer.`);
      children.push(grow(placeBelow(grown, link, behaviour, options.names), options));
    }
  }
  return grown;
}

function describePlace(place: Place): string {
  return place.parent === undefined ? place.behaviour.kind : `${place.behaviour.kind} (linked from ${describePlace(place.parent)})`;
}

// At their first parting, both follow the same link to different kinds: never both are there.
function excludeEachOther(a: Place, b: Place): boolean {
  const [left, right] = [wayTo(a), wayTo(b)];
  const at = left.findIndex((place, i) => place !== right[i]);
  const [one, other] = [left[at], right[at]];
  return at > 0 && one !== undefined && other !== undefined && one.link === other.link && one.behaviour !== other.behaviour;
}

/** `crowded`: under a handle another has the URI that it would have. */
function shownAs(offer: Offer, list: ListName, place: Place, names: Names, crowded = false): Offer {
  const name = joinName(names, place.path, offer.name);
  checkName(names, list, name, describePlace(place));
  let { definition } = offer;
  if (place.handled) definition = withHandle(list, offer, { kind: rootOf(place).behaviour.kind, path: crowded ? place.path : "" });
  else if (list === "resources") definition = filled(definition, place.alias);
  if (name !== offer.name) definition = withoutName(definition, offer.name);
  return name === offer.name && definition === offer.definition ? offer : { ...offer, name, definition };
}

function filled(definition: Offer["definition"], alias: string): Offer["definition"] {
  for (const key of ["uri", "uriTemplate"]) {
    const uri = definition[key];
    if (typeof uri !== "string" || !uri.includes("{alias}")) continue;
    const { [key]: _uri, ...rest } = definition;
    const text = fillAlias(uri, alias);
    return { ...rest, [text.includes("{") ? "uriTemplate" : "uri"]: text };
  }
  return definition;
}

/** A name that only repeats the offer's own goes, so that what it was joined under shows. */
export function withoutName(definition: Offer["definition"], own: string): Offer["definition"] {
  if (definition["name"] !== own) return definition;
  const { name: _name, ...rest } = definition;
  return rest;
}

export function rootOf(place: Place): Place {
  return place.parent === undefined ? place : rootOf(place.parent);
}

/** The places from the root on, the place itself last. */
export function wayTo(place: Place): readonly Place[] {
  return place.parent === undefined ? [place] : [...wayTo(place.parent), place];
}

/** Collects offers, refusing two that would answer to one name or one URI. */
export class Offers {
  readonly #names: Names;
  readonly #offers = new Map<OfferRef, Planned & { readonly ways: Way[] }>();
  readonly #uris = new Map<string, { readonly ref: OfferRef; readonly place: Place }>();
  readonly #handleTools = new Map<OfferRef, HandleTool>();
  readonly #own: Offer[] = [];

  constructor(names: Names) {
    this.#names = names;
  }

  add(place: Place, catalogue: Catalogue): void {
    for (const list of LISTS) for (const offer of catalogue[list]) this.#addOffer(place, list, offer);
  }

  addHandleTool(root: Place, does: "start" | "end", offer: Offer): void {
    this.#handleTools.set(refOf("tools", offer.name), { root, does });
    this.#own.push(offer);
  }

  #addOffer(place: Place, list: ListName, offer: Offer): void {
    const alone = shownAs(offer, list, place, this.#names);
    const shown = place.handled && this.#takerOf(alone, place) !== undefined ? shownAs(offer, list, place, this.#names, true) : alone;
    const ref = refOf(list, shown.name);
    const way: Way = { place, offer, inner: refOf(list, offer.name) };
    const minting = this.#handleTools.get(ref);
    if (minting !== undefined) throw collision(ref, place, minting.root);
    const known = this.#offers.get(ref);
    const first = known?.ways[0];
    if (known === undefined || first === undefined) {
      this.#checkUri(shown, ref, place);
      if (this.#offers.size >= MAX_OFFERS) {
        throw new TroupeError("BAD_DEFINITION", `A viewer would meet more than ${MAX_OFFERS} offers: link to fewer kinds, or offer less.`);
      }
      this.#offers.set(ref, { ref, list, shown, ways: [way], scopes: scopesOf(shown.definition) });
      return;
    }
    const clash = known.ways.find((other) => !excludeEachOther(other.place, place));
    if (clash !== undefined) throw collision(ref, place, clash.place);
    if (!sameJson(known.shown.definition, shown.definition)) {
      throw new TroupeError(
        "NAME_COLLISION",
        `${ref} of ${describePlace(place)} is defined otherwise than that of ${describePlace(first.place)}, whose place it takes: define both alike, or rename one.`,
      );
    }
    known.ways.push(way);
  }

  #checkUri(shown: Offer, ref: OfferRef, place: Place): void {
    const uri = uriOf(shown.definition);
    if (uri === "") return;
    const other = this.#takerOf(shown, place);
    if (other !== undefined) {
      throw new TroupeError(
        "NAME_COLLISION",
        `${ref} of ${describePlace(place)} and ${other.ref} of ${describePlace(other.place)} have the same URI ${uri}: put {alias} in one that has none, or change one.`,
      );
    }
    this.#uris.set(uri, { ref, place });
  }

  /** Who has its URI already, and may be there too. */
  #takerOf({ definition }: Offer, place: Place): { readonly ref: OfferRef; readonly place: Place } | undefined {
    const other = this.#uris.get(uriOf(definition));
    return other === undefined || excludeEachOther(other.place, place) ? undefined : other;
  }

  finish(): Pick<Plan, "offers" | "handleTools" | "catalogue"> {
    const of = (list: ListName): readonly Offer[] => [...this.#offers.values()].filter((one) => one.list === list).map((one) => one.shown);
    const catalogue: Catalogue = {
      tools: Object.freeze([...this.#own, ...of("tools")]),
      resources: Object.freeze(of("resources")),
      prompts: Object.freeze(of("prompts")),
    };
    return { offers: this.#offers, handleTools: this.#handleTools, catalogue };
  }
}

function collision(ref: OfferRef, one: Place, other: Place): TroupeError {
  return new TroupeError(
    "NAME_COLLISION",
    `${ref} is offered by ${describePlace(one)} and by ${describePlace(other)}: rename one, or give one a prefix (of its link, or with prefix()).`,
  );
}

/** All that a place, and those planned below it, are known ahead to show. */
export function addPlanned(offers: Offers, place: Place): void {
  if (place.behaviour.catalogue !== undefined) offers.add(place, place.behaviour.catalogue);
  for (const child of place.children) addPlanned(offers, child);
}

function someOpen(place: Place): boolean {
  return isOpen(place.behaviour) || place.children.some(someOpen);
}

/** Plans what viewers can meet; throws `NAME_COLLISION`, `BAD_NAME` and `BAD_DEFINITION`, each naming who is meant. */
export function makePlan(options: PlanOptions): Plan {
  const offers = new Offers(options.names);
  const roots: Place[] = [];
  for (const behaviour of options.kinds.values()) {
    const { per } = behaviour;
    const { as, only = behaviour.kind } = options;
    const isRoot = as === undefined ? per !== undefined && per !== "link" && behaviour.kind === only : behaviour.kind === as;
    if (!isRoot) continue;
    const handled = options.as === undefined && (per === "handle" || (per === "user" && !options.known));
    if (handled && behaviour.catalogue === undefined) {
      if (per === "user") continue;
      throw new TroupeError(
        "BAD_DEFINITION",
        `${behaviour.kind} is addressed by a handle, so its lists cannot follow its state: give it a catalogue.`,
      );
    }
    const seed: Place = { behaviour, link: "", path: "", alias: aliasOf(behaviour, ""), handled, depth: 0, children: [] };
    const root = grow(seed, options);
    roots.push(root);
    if (handled) {
      const made = handleOffers(behaviour.kind, behaviour.policy.expireMs ?? options.expireMs);
      offers.addHandleTool(root, "start", made.start);
      offers.addHandleTool(root, "end", made.end);
    }
  }
  for (const root of roots) addPlanned(offers, root);
  return { roots, ...offers.finish(), open: roots.some((root) => !root.handled && someOpen(root)) };
}
