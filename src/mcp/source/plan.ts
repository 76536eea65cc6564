// Owns: which offers can be reached from a root by kinds and links, before any state is read; the arguments that say which actor a call is
// about (a handle, the keys of links by argument). Does not own: states (actor-views.ts), who may address which actor (actor-access.ts).
import {
  type Behaviour,
  type Catalogue,
  isJsonObject,
  type Json,
  type JsonObject,
  type ListName,
  type Offer,
  type OfferRef,
  TroupeError,
} from "../../core/contract/index.ts";
import { argumentNames, getOwn, namesMember, scopesOf, templateVariables } from "../../core/contract/internal.ts";
import { refused, type Refused } from "./actor-access.ts";
import { handleOffers } from "./handles.ts";
import { sameJson } from "./json.ts";
import { checkName, fillAlias, joinName, LISTS, type Names, refOf, uriOf, withAppUri, withSegment } from "./names.ts";

/** An argument that says which actor is meant. */
export interface AddressArgument {
  readonly name: string;
  readonly description: string;
}

/** A position in a viewer's cast that an actor may have: a root, or the end of a path of links. */
export interface Slot {
  readonly behaviour: Behaviour;
  readonly parent?: Slot;
  /** The link's prefix in the parent's surface; "" for a root. */
  readonly link: string;
  /** All prefixes from the root on, joined. */
  readonly path: string;
  /** Stands for `{alias}` in URIs: never the principal. */
  readonly alias: string;
  /** Its root is addressed by a handle. */
  readonly handled: boolean;
  /** The argument that names the key of its actor, if a link by argument leads to it. */
  readonly by: string | undefined;
  /** The arguments of links by argument on the way to it, from the root on. */
  readonly keys: readonly AddressArgument[];
  readonly depth: number;
  readonly children: readonly Slot[];
}

/** Which of many actors a call is about, by the keys in its arguments. */
export interface KeyAddress {
  /** By argument. */
  readonly keys: ReadonlyMap<string, string>;
  /** The slots on the way to the offer: no others are looked at. */
  readonly slots: ReadonlySet<Slot>;
  /** Equal for two of the same offers and keys. */
  readonly text: string;
}

/** One of the actors' offers that a name may mean. A name has several only where at most one of their slots can have an actor. */
export interface Route {
  readonly slot: Slot;
  readonly offer: Offer;
  readonly inner: OfferRef;
  /** Those that the actor names; null: it may take others too. */
  readonly argumentNames: ReadonlySet<string> | null;
}

export interface PlannedOffer {
  readonly ref: OfferRef;
  readonly list: ListName;
  readonly listed: Offer;
  readonly routes: readonly Route[];
  /** The root that a handle addresses; undefined: no handle is needed. */
  readonly handleRoot: Slot | undefined;
  /** The arguments that name the keys of actors behind links by argument. */
  readonly keys: readonly AddressArgument[];
  /** What its caller's token must have. */
  readonly scopes: readonly string[];
}

/** A tool that mints or ends handles. */
export interface HandleTool {
  readonly root: Slot;
  readonly does: "start" | "end";
}

/** All that a viewer can ever be offered, computed once: names, definitions, and where each comes from. */
export interface Plan {
  readonly roots: readonly Slot[];
  readonly offers: ReadonlyMap<OfferRef, PlannedOffer>;
  readonly handleTools: ReadonlyMap<OfferRef, HandleTool>;
  readonly catalogue: Catalogue;
  /** The catalogue or links of some kind are not known ahead. */
  readonly open: boolean;
}

export interface PlanOptions {
  readonly kinds: ReadonlyMap<string, Behaviour>;
  readonly names: Names;
  /** After how many milliseconds handles expire, where the kind's policy does not say. */
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

/** Whether the links of the kind are not known ahead. */
export function isOpen(behaviour: Behaviour): boolean {
  return behaviour.catalogue?.links === undefined;
}

function aliasOf(behaviour: Behaviour, path: string): string {
  if (path !== "") return path;
  if (behaviour.per === "shared") return "main";
  return behaviour.per === "user" ? "me" : behaviour.kind;
}

/** The slot that a link leads to. */
export function slotBelow(parent: Slot, link: string, behaviour: Behaviour, names: Names): Slot {
  const path = joinName(names, parent.path, link);
  const { handled, depth } = parent;
  const by = getOwn(parent.behaviour.catalogue?.linkArguments, link);
  const keys = by === undefined ? parent.keys : [...parent.keys, keyArgument(by, behaviour.kind)];
  const clash = by === undefined ? undefined : addressOf(parent).find(({ name }) => name === by);
  if (clash !== undefined) {
    throw new TroupeError(
      "BAD_DEFINITION",
      `${parent.behaviour.kind}: the argument \`${by}\` of the link ${JSON.stringify(link)} already says which actor the offers of ${parent.behaviour.kind} are about: name it otherwise with \`by\`.`,
    );
  }
  return { behaviour, parent, link, path, alias: aliasOf(behaviour, path), handled, by, keys, depth: depth + 1, children: [] };
}

/** All arguments that say which actor an offer of this slot is about. */
function addressOf(slot: Slot): readonly AddressArgument[] {
  return slot.handled ? [handleArgument(rootOf(slot).behaviour.kind), ...slot.keys] : slot.keys;
}

const isAddressed = ({ handled, keys }: Slot): boolean => handled || keys.length > 0;

/** The slot with those of its planned links. */
function withChildren(slot: Slot, options: PlanOptions): Slot {
  const links = slot.behaviour.catalogue?.links ?? {};
  const children: Slot[] = [];
  const parent: Slot = { ...slot, children };
  for (const [link, kinds] of Object.entries(links)) {
    for (const kind of kinds) {
      const behaviour = options.kinds.get(kind);
      if (behaviour === undefined) {
        throw new TroupeError(
          "BAD_DEFINITION",
          `${slot.behaviour.kind} links to the kind ${kind}, which this cast does not have: add it to \`kinds\`.`,
        );
      }
      // A kind is joined once on a path: a room reached through a room is not listed again.
      if (pathTo(parent).some((above) => above.behaviour === behaviour)) continue;
      if (parent.depth >= MAX_DEPTH)
        throw new TroupeError("BAD_DEFINITION", `${kind} is more than ${MAX_DEPTH} links away: link to it from nearer.`);
      children.push(withChildren(slotBelow(parent, link, behaviour, options.names), options));
    }
  }
  return parent;
}

function describeSlot(slot: Slot): string {
  return slot.parent === undefined ? slot.behaviour.kind : `${slot.behaviour.kind} (linked from ${describeSlot(slot.parent)})`;
}

// Where their paths part, both follow the same link, to different kinds: at most one of them has an actor.
function excludeEachOther(a: Slot, b: Slot): boolean {
  const [left, right] = [pathTo(a), pathTo(b)];
  const at = left.findIndex((slot, i) => slot !== right[i]);
  const [one, other] = [left[at], right[at]];
  return at > 0 && one !== undefined && other !== undefined && one.link === other.link && one.behaviour !== other.behaviour;
}

/** `isUriTaken`: another offer under the same arguments has the shorter URI. */
function listedAs(offer: Offer, list: ListName, slot: Slot, names: Names, isUriTaken = false): Offer {
  const name = joinName(names, slot.path, offer.name);
  checkName(names, list, name, describeSlot(slot));
  let { definition } = offer;
  if (isAddressed(slot)) definition = withAddress(list, offer, addressOf(slot), isUriTaken ? slot.path : "", slot.behaviour.kind);
  else if (list === "resources") definition = withAlias(definition, slot.alias);
  else if (list === "tools") definition = withAppUri(definition, (uri) => fillAlias(uri, slot.alias));
  if (name !== offer.name) definition = withoutName(definition, offer.name);
  return name === offer.name && definition === offer.definition ? offer : { ...offer, name, definition };
}

function withAlias(definition: Offer["definition"], alias: string): Offer["definition"] {
  for (const key of ["uri", "uriTemplate"]) {
    const uri = definition[key];
    if (typeof uri !== "string" || !uri.includes("{alias}")) continue;
    const { [key]: _uri, ...rest } = definition;
    const text = fillAlias(uri, alias);
    return { ...rest, [text.includes("{") ? "uriTemplate" : "uri"]: text };
  }
  return definition;
}

/** Drops a name that only repeats the offer's own, so that the joined name is displayed. */
export function withoutName(definition: Offer["definition"], own: string): Offer["definition"] {
  if (definition["name"] !== own) return definition;
  const { name: _name, ...rest } = definition;
  return rest;
}

export function rootOf(slot: Slot): Slot {
  return slot.parent === undefined ? slot : rootOf(slot.parent);
}

/** The slots from the root to this one. */
export function pathTo(slot: Slot): readonly Slot[] {
  return slot.parent === undefined ? [slot] : [...pathTo(slot.parent), slot];
}

/** Collects offers, and refuses two with the same name or URI. */
export class OfferCollector {
  readonly #names: Names;
  readonly #offers = new Map<OfferRef, PlannedOffer & { readonly routes: Route[] }>();
  readonly #uris = new Map<string, { readonly ref: OfferRef; readonly slot: Slot }>();
  readonly #handleTools = new Map<OfferRef, HandleTool>();
  readonly #own: Offer[] = [];

  constructor(names: Names) {
    this.#names = names;
  }

  add(slot: Slot, catalogue: Catalogue): void {
    for (const list of LISTS) for (const offer of catalogue[list]) this.#addOffer(slot, list, offer);
  }

  addHandleTool(root: Slot, does: "start" | "end", offer: Offer): void {
    this.#handleTools.set(refOf("tools", offer.name), { root, does });
    this.#own.push(offer);
  }

  #addOffer(slot: Slot, list: ListName, offer: Offer): void {
    const alone = listedAs(offer, list, slot, this.#names);
    const listed = isAddressed(slot) && this.#takerOf(alone, slot) !== undefined ? listedAs(offer, list, slot, this.#names, true) : alone;
    const ref = refOf(list, listed.name);
    const route: Route = { slot, offer, inner: refOf(list, offer.name), argumentNames: argumentNames(offer) };
    const minting = this.#handleTools.get(ref);
    if (minting !== undefined) throw collision(ref, slot, minting.root);
    const known = this.#offers.get(ref);
    const first = known?.routes[0];
    if (known === undefined || first === undefined) {
      this.#checkUri(listed, ref, slot);
      if (this.#offers.size >= MAX_OFFERS) {
        throw new TroupeError("BAD_DEFINITION", `A viewer would meet more than ${MAX_OFFERS} offers: link to fewer kinds, or offer less.`);
      }
      const handleRoot = slot.handled ? rootOf(slot) : undefined;
      const { keys } = slot;
      this.#offers.set(ref, { ref, list, listed, routes: [route], handleRoot, keys, scopes: scopesOf(listed.definition) });
      return;
    }
    const clash = known.routes.find((other) => !excludeEachOther(other.slot, slot));
    if (clash !== undefined) throw collision(ref, slot, clash.slot);
    if (!sameJson(known.listed.definition, listed.definition) || !sameJson(known.keys, slot.keys)) {
      throw new TroupeError(
        "NAME_COLLISION",
        `${ref} of ${describeSlot(slot)} is defined otherwise than that of ${describeSlot(first.slot)}, whose place it takes: define both alike, or rename one.`,
      );
    }
    known.routes.push(route);
  }

  #checkUri(listed: Offer, ref: OfferRef, slot: Slot): void {
    const uri = uriOf(listed.definition);
    if (uri === "") return;
    const other = this.#takerOf(listed, slot);
    if (other !== undefined) {
      throw new TroupeError(
        "NAME_COLLISION",
        `${ref} of ${describeSlot(slot)} and ${other.ref} of ${describeSlot(other.slot)} have the same URI ${uri}: put {alias} in one that has none, or change one.`,
      );
    }
    this.#uris.set(uri, { ref, slot });
  }

  /** The offer that already has its URI, if both may have an actor. */
  #takerOf({ definition }: Offer, slot: Slot): { readonly ref: OfferRef; readonly slot: Slot } | undefined {
    const other = this.#uris.get(uriOf(definition));
    return other === undefined || excludeEachOther(other.slot, slot) ? undefined : other;
  }

  finish(): Pick<Plan, "offers" | "handleTools" | "catalogue"> {
    const of = (list: ListName): readonly Offer[] => [...this.#offers.values()].filter((one) => one.list === list).map((one) => one.listed);
    const catalogue: Catalogue = {
      tools: Object.freeze([...this.#own, ...of("tools")]),
      resources: Object.freeze(of("resources")),
      prompts: Object.freeze(of("prompts")),
    };
    return { offers: this.#offers, handleTools: this.#handleTools, catalogue };
  }
}

function collision(ref: OfferRef, one: Slot, other: Slot): TroupeError {
  return new TroupeError(
    "NAME_COLLISION",
    `${ref} is offered by ${describeSlot(one)} and by ${describeSlot(other)}: rename one, or give one a prefix (of its link, or with prefix()).`,
  );
}

/** Adds the catalogues of a slot and those below it, where they are known ahead. */
export function addPlanned(offers: OfferCollector, slot: Slot): void {
  if (slot.behaviour.catalogue !== undefined) offers.add(slot, slot.behaviour.catalogue);
  for (const child of slot.children) addPlanned(offers, child);
}

function someOpen(slot: Slot): boolean {
  return isOpen(slot.behaviour) || slot.children.some(someOpen);
}

/** Plans what viewers can be offered. Throws `NAME_COLLISION`, `BAD_NAME` and `BAD_DEFINITION`. */
export function makePlan(options: PlanOptions): Plan {
  const offers = new OfferCollector(options.names);
  const roots: Slot[] = [];
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
    const alias = aliasOf(behaviour, "");
    const seed: Slot = { behaviour, link: "", path: "", alias, handled, by: undefined, keys: [], depth: 0, children: [] };
    const root = withChildren(seed, options);
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

/** The argument of offers behind a handle. */
const handleArgument = (kind: string): AddressArgument => ({ name: "handle", description: `What start_${kind} returned.` });

/** The argument of offers behind a link by argument. */
const keyArgument = (name: string, kind: string): AddressArgument => ({ name, description: `Which ${kind}: its key.` });

/**
 * The definition of an offer with the arguments that say which actor is meant before its own. `path`: the prefixes of the links to it,
 * where the arguments alone do not distinguish its URI from another. Throws `BAD_DEFINITION` where one has the name of its own.
 */
function withAddress(list: ListName, offer: Offer, args: readonly AddressArgument[], path: string, kind: string): Offer["definition"] {
  const { definition } = offer;
  const taken = ({ name }: AddressArgument): TroupeError =>
    new TroupeError(
      "BAD_DEFINITION",
      `${kind}: ${list}/${offer.name} has an argument \`${name}\`, which says which actor is meant here: rename it${name === "handle" ? "" : ", or name the link's argument with `by`"}.`,
    );
  if (list === "resources") return templateOf(offer, args, path, taken);
  if (list === "prompts") {
    const own = definition["arguments"];
    const fixed: readonly Json[] = Array.isArray(own) ? own : [];
    const clash = args.find(({ name }) => fixed.some((argument) => isJsonObject(argument) && argument["name"] === name));
    if (clash !== undefined) throw taken(clash);
    return { ...definition, arguments: [...args.map((argument) => ({ ...argument, required: true })), ...fixed] };
  }
  const given = definition["inputSchema"];
  const schema: JsonObject = isJsonObject(given) ? given : { type: "object" };
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const clash = args.find(({ name }) => namesMember(schema, name));
  if (clash !== undefined) throw taken(clash);
  const required: readonly Json[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const address = Object.fromEntries(args.map(({ name, description }) => [name, { type: "string", description }]));
  return {
    ...definition,
    inputSchema: { ...schema, properties: { ...address, ...properties }, required: [...args.map(({ name }) => name), ...required] },
  };
}

function templateOf(
  offer: Offer,
  args: readonly AddressArgument[],
  path: string,
  taken: (argument: AddressArgument) => TroupeError,
): Offer["definition"] {
  const { uri: _uri, uriTemplate: _template, ...rest } = offer.definition;
  const text = uriOf(offer.definition);
  const own = templateVariables(text, `resources/${offer.name}`, "alias");
  const clash = args.find(({ name }) => own.includes(name));
  if (clash !== undefined) throw taken(clash);
  const variables = args.map(({ name }) => `{${name}}`).join("/");
  return {
    ...rest,
    uriTemplate: text.includes("{alias}")
      ? fillAlias(text, path === "" ? variables : `${variables}/${path}`)
      : withSegment(text, variables),
  };
}

// In UTF-16 units. A key is at most 256 bytes.
const MAX_KEY = 256;

const isKey = (given: unknown): given is string =>
  typeof given === "string" && given !== "" && given.length <= MAX_KEY && given.isWellFormed();

/** The keys in the arguments of a call, and its other arguments; refuses with `INVALID` where one is missing, or can be no key. */
export function splitAddress(
  ref: OfferRef,
  keys: readonly AddressArgument[],
  slots: ReadonlySet<Slot>,
  args: Json,
): { readonly address: KeyAddress; readonly args: Json } | Refused {
  const rest: Record<string, Json> = { ...(isJsonObject(args) ? args : {}) };
  const found = new Map<string, string>();
  for (const { name, description } of keys) {
    const key = Object.hasOwn(rest, name) ? rest[name] : undefined;
    if (!isKey(key)) return refused("INVALID", `Invalid arguments: ${name}: must be text of 1 to ${MAX_KEY} bytes. ${description}`);
    found.set(name, key);
    delete rest[name];
  }
  return { address: { keys: found, slots, text: JSON.stringify([ref, ...found.values()]) }, args: rest };
}
