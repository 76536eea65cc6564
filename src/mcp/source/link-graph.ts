// Owns: the actors that a viewer reaches through links, which actor each link leads to, and their joined surface.
// Does not own: when they are looked at (surface-watch.ts).
import {
  type ActorId,
  type Behaviour,
  type Catalogue,
  type OfferRef,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { andThen, choicesMessage, getOwn, isActorId, kindOf, Lru, memoize } from "../../core/contract/internal.ts";
import { lacksScope, linkedActor, refused, type Refused, rootActor } from "./actor-access.ts";
import { type ActorView, type ActorViews, isSameSurface, type OnFault, sameState } from "./actor-views.ts";
import { sameJson } from "./json.ts";
import { type Names, offersOf } from "./names.ts";
import {
  addPlanned,
  isOpen,
  MAX_DEPTH,
  OfferCollector,
  pathTo,
  type Plan,
  type PlannedOffer,
  rootOf,
  type Route,
  type Slot,
  slotBelow,
} from "./plan.ts";
import { ViewerDependencies, type ViewerRoots } from "./viewers.ts";

/** A slot that an actor has, and what the viewer sees of it. */
export interface GraphNode {
  readonly slot: Slot;
  readonly view: ActorView;
}

interface ResolvedResource {
  readonly view: ActorView;
  readonly route: Route;
}

/** A resource that shows only these members of its actor's state. */
export interface Reader {
  readonly view: ActorView;
  readonly reads: readonly string[];
}

type Joined = Pick<Plan, "offers" | "catalogue">;

/** The actors that a viewer reached at one look. */
export class LinkGraph {
  readonly nodes: readonly GraphNode[];
  readonly surface: Surface;
  /** Viewers who agree in these, and have the same roots, reach the same. */
  readonly dependencies: ViewerDependencies;
  readonly #at: ReadonlyMap<Slot, ActorView>;
  readonly #offers: ReadonlyMap<OfferRef, PlannedOffer>;
  #resourcesOf: Map<ActorId, readonly OfferRef[]> | undefined;

  constructor(
    nodes: readonly GraphNode[],
    at: ReadonlyMap<Slot, ActorView>,
    offers: ReadonlyMap<OfferRef, PlannedOffer>,
    surface: Surface,
    dependencies: ViewerDependencies,
  ) {
    this.nodes = nodes;
    this.#at = at;
    this.#offers = offers;
    this.surface = surface;
    this.dependencies = dependencies;
  }

  offer(ref: OfferRef): PlannedOffer | undefined {
    return this.#offers.get(ref);
  }

  /** The actor that a resource shows; undefined: it is off. */
  resource(ref: OfferRef): ResolvedResource | undefined {
    for (const route of this.#offers.get(ref)?.routes ?? []) {
      const view = this.#at.get(route.slot);
      if (view !== undefined) return offNow(view.surface, route.inner) === undefined ? { view, route } : undefined;
    }
    return undefined;
  }

  resources(): readonly OfferRef[] {
    return this.surface.catalogue.resources.map(({ name }): OfferRef => `resources/${name}`);
  }

  /** The resources that show this actor. Cached, since each change of it needs them. */
  resourcesOf(id: ActorId): readonly OfferRef[] {
    const known = (this.#resourcesOf ??= new Map<ActorId, readonly OfferRef[]>());
    let refs = known.get(id);
    if (refs === undefined) known.set(id, (refs = this.resources().filter((ref) => this.resource(ref)?.view.id === id)));
    return refs;
  }

  /** The resources whose actor or its state is not what it was. `isNotified`: subscribers know of that state. */
  resourcesChangedSince(before: LinkGraph, isNotified: (view: ActorView) => boolean): readonly OfferRef[] {
    return [...new Set([...before.resources(), ...this.resources()])].filter((ref) => {
      const [was, is] = [before.resource(ref)?.view, this.resource(ref)?.view];
      if (was === undefined || is === undefined) return was !== is;
      return was.id !== is.id || !(sameState(was, is) || isNotified(is));
    });
  }

  /** The resources that are on and show certain members alone. */
  readers(): ReadonlyMap<OfferRef, Reader> {
    const readers = new Map<OfferRef, Reader>();
    for (const ref of readersOf(this.surface.catalogue)) {
      const resource = this.resource(ref);
      const reads = resource?.route.offer.reads;
      if (reads !== undefined && resource !== undefined) readers.set(ref, { view: resource.view, reads });
    }
    return readers;
  }
}

// Cached, since most catalogues have none, and each look needs them.
const readersOf = memoize((catalogue: Catalogue): readonly OfferRef[] =>
  catalogue.resources.flatMap(({ name, reads }): readonly OfferRef[] => (reads === undefined ? [] : [`resources/${name}`])),
);

/** An actor to look at. */
interface Step {
  readonly slot: Slot;
  readonly id: ActorId;
  /** The root that leads to it. */
  readonly self: ActorId;
  readonly above: readonly ActorId[];
}

/** The joined surface that was handed out last, and the surfaces that it was made of. */
interface JoinedSurface {
  readonly surface: Surface;
  of: ReadonlyMap<Slot, Surface>;
}

export interface LinkGraphsOptions {
  readonly kinds: ReadonlyMap<string, Behaviour>;
  readonly names: Names;
  readonly views: ActorViews;
  readonly onFault: OnFault;
}

/** States decide what is linked, so the number of actors is limited. Roots are not: there are only so many kinds. */
const MAX_ACTORS = 256;

/** More keys are not part of a list: it would be long, and change with each of them. */
const MAX_LISTED_KEYS = 50;

/** Follows links, and joins the surfaces of the actors it reaches. */
export class LinkGraphs {
  readonly #plan: Plan;
  readonly #options: LinkGraphsOptions;
  readonly #order: ReadonlyMap<Slot, number>;
  readonly #lastOf = new Lru<string, JoinedSurface>(4_096);
  readonly #joined = new Lru<string, Joined>(256);
  readonly #numbers = new WeakMap<Catalogue, number>();
  #count = 0;
  readonly #maxActors: number;
  #hasReported = false;
  /** Which keys an offer lists depends on the scopes of the viewer, since keys are part of a state. */
  readonly #showsKeysByScope: boolean;
  /** The only slot that there can be: then no links are followed. */
  readonly #single: Slot | undefined;
  /** By the surface of the actor in it. */
  readonly #ofSingle = new WeakMap<Surface, Surface>();

  constructor(plan: Plan, options: LinkGraphsOptions) {
    this.#plan = plan;
    this.#options = options;
    const [root] = plan.roots;
    if (root !== undefined && plan.roots.length === 1 && root.children.length === 0 && !plan.open) this.#single = root;
    this.#order = new Map(plan.roots.flatMap(slotsOf).map((slot, i) => [slot, i]));
    this.#showsKeysByScope = [...plan.offers.values()].some(({ keys, scopes }) => keys.length > 0 && scopes.length > 0);
    this.#maxActors = Math.max(MAX_ACTORS, plan.roots.length);
  }

  /** The surface of `of`. Synchronous where all actors are read synchronously. */
  surfaceFor(roots: ViewerRoots): Surface | Promise<Surface> {
    const slot = this.#single;
    const id = slot && roots.ids.get(slot);
    if (slot === undefined || id === undefined) return andThen(this.of(roots), surfaceIn);
    const dependencies = new ViewerDependencies();
    const view = this.#options.views.see({ behaviour: slot.behaviour, id, viewer: roots.as(id), begins: true, dependencies });
    return view instanceof Promise
      ? this.#singleLater(roots, slot, view, dependencies)
      : this.#singleSurface(roots, slot, view, dependencies);
  }

  async #singleLater(roots: ViewerRoots, slot: Slot, view: Promise<ActorView | undefined>, dependencies: ViewerDependencies) {
    return this.#singleSurface(roots, slot, await view, dependencies);
  }

  #singleSurface(roots: ViewerRoots, slot: Slot, view: ActorView | undefined, dependencies: ViewerDependencies): Surface {
    if (view === undefined) return this.#join(roots, new Map(), dependencies).surface;
    let surface = this.#ofSingle.get(view.surface);
    if (surface === undefined)
      this.#ofSingle.set(view.surface, (surface = this.#join(roots, new Map([[slot, view]]), dependencies).surface));
    return surface;
  }

  /** Whether lists and links of a node are known to be what they were, without a look at the whole graph. */
  isUnchanged({ slot, view }: GraphNode, roots: ViewerRoots, dependencies: ViewerDependencies): boolean {
    const self = roots.ids.get(rootOf(slot));
    if (self === undefined) return false;
    const { behaviour, parent } = slot;
    const look = { behaviour, id: view.id, viewer: roots.as(self), begins: parent === undefined, dependencies };
    const now = this.#options.views.surfaceNow(look);
    return now !== undefined && (now === view.surface || hasSameLists(now, view.surface));
  }

  /** `onActor` is called with each actor before it is read, so that a watcher misses no change. */
  of(roots: ViewerRoots, onActor?: (id: ActorId) => void): LinkGraph | Promise<LinkGraph> {
    const dependencies = new ViewerDependencies();
    const at = new Map<Slot, ActorView>();
    let actors = 0;
    // Breadth first, since there may be too many actors. Those read at once are followed in a loop, the others when they have been read.
    const follow = (from: readonly Step[]): Promise<unknown> | undefined => {
      const pending: Promise<unknown>[] = [];
      for (let steps = from; steps.length > 0;) {
        const further: Step[] = [];
        for (const step of steps) {
          actors += 1;
          if (actors > this.#maxActors) {
            this.#reportTooMany(step.id);
            break;
          }
          onActor?.(step.id);
          const view = this.#look(step, roots, dependencies);
          if (view instanceof Promise) pending.push(view.then((found) => follow(this.#stepsBelow(step, found, roots, at))));
          else further.push(...this.#stepsBelow(step, view, roots, at));
        }
        steps = further;
      }
      return pending.length === 0 ? undefined : Promise.all(pending);
    };
    const all = follow([...roots.ids].map(([slot, id]) => ({ slot, id, self: id, above: [] })));
    return andThen(all, () => this.#join(roots, at, dependencies));
  }

  #reportTooMany(actor: ActorId): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    const text = `More than ${this.#maxActors} actors can be met by one viewer here: what those beyond offer is in no list, though it can be called. Link to fewer.`;
    this.#options.onFault(new TroupeError("OUT_OF_ORDER", text), actor);
  }

  // A read that throws becomes a rejection: thrown, it would leave the pending reads without a handler.
  #look({ slot, id, self, above }: Step, roots: ViewerRoots, dependencies: ViewerDependencies): ReturnType<ActorViews["see"]> {
    try {
      return this.#options.views.see({ behaviour: slot.behaviour, id, viewer: roots.as(self), begins: above.length === 0, dependencies });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #stepsBelow({ slot, id, self, above }: Step, view: ActorView | undefined, roots: ViewerRoots, at: Map<Slot, ActorView>): readonly Step[] {
    if (view === undefined) return [];
    at.set(slot, view);
    const path = [...above, id];
    const { address } = roots;
    const steps = Object.entries(view.surface.links ?? {}).flatMap(([link, target]) => {
      const child = this.#childAt(slot, link, target, path);
      const isMeant = child !== undefined && address?.slots.has(child) !== false;
      return isMeant ? [{ slot: child, id: target, self, above: path }] : [];
    });
    if (address === undefined) return steps;
    const addressed = slot.children.flatMap((child) => {
      const target = child.by !== undefined && address.slots.has(child) ? linkTarget(view.surface, child, roots) : undefined;
      return typeof target === "string" ? [{ slot: child, id: target, self, above: path }] : [];
    });
    return [...steps, ...addressed];
  }

  #join(roots: ViewerRoots, at: ReadonlyMap<Slot, ActorView>, dependencies: ViewerDependencies): LinkGraph {
    if (this.#showsKeysByScope) dependencies.scopes = true;
    const nodes = [...at].map(([slot, view]) => ({ slot, view }));
    const rank = (slot: Slot): number => this.#order.get(slot) ?? this.#order.size;
    nodes.sort((a, b) => rank(a.slot) - rank(b.slot) || (keyOf(a.slot) < keyOf(b.slot) ? -1 : 1));
    const joined = this.#plan.open ? this.#joinOpen(nodes) : this.#plan;
    const key = `${dependencies.keyOf(roots.viewer)} ${roots.text}`;
    return new LinkGraph(nodes, at, joined.offers, this.#surface(joined, at, key, roots, nodes), dependencies);
  }

  /** The slot that a link leads to: the planned one, or one made for this look if the actor's links are not known ahead. */
  #childAt(slot: Slot, link: string, target: ActorId, above: readonly ActorId[]): Slot | undefined {
    const behaviour = this.#options.kinds.get(kindOf(target));
    if (behaviour === undefined) return undefined;
    const planned = slot.children.find((child) => child.link === link && child.behaviour === behaviour);
    if (planned !== undefined || !isOpen(slot.behaviour) || slot.handled) return planned;
    return above.includes(target) || slot.depth >= MAX_DEPTH ? undefined : slotBelow(slot, link, behaviour, this.#options.names);
  }

  /** The plan and the catalogues that were not known ahead. */
  #joinOpen(nodes: readonly GraphNode[]): Joined {
    const extra = nodes.filter(({ slot }) => !this.#order.has(slot) || slot.behaviour.catalogue === undefined);
    if (extra.length === 0) return this.#plan;
    const key = extra.map(({ slot, view }) => `${keyOf(slot)} ${this.#numberOf(view.surface.catalogue)}`).join("\n");
    let joined = this.#joined.get(key);
    if (joined === undefined) {
      const offers = new OfferCollector(this.#options.names);
      for (const root of this.#plan.roots) addPlanned(offers, root);
      for (const { slot, view } of extra) {
        try {
          offers.add(slot, view.surface.catalogue);
        } catch (error) {
          // Refused alone: what another actor links to must not break this viewer's lists.
          this.#options.onFault(error, view.id);
        }
      }
      this.#joined.set(key, (joined = offers.finish()));
    }
    return joined;
  }

  #numberOf(catalogue: Catalogue): number {
    let number = this.#numbers.get(catalogue);
    if (number === undefined) this.#numbers.set(catalogue, (number = this.#count += 1));
    return number;
  }

  #surface(joined: Joined, at: ReadonlyMap<Slot, ActorView>, key: string, roots: ViewerRoots, nodes: readonly GraphNode[]): Surface {
    const last = this.#lastOf.get(key);
    // The same surfaces give the same object. Where catalogues are not known ahead, the actors count too.
    if (last !== undefined && joined === this.#plan && isMadeOf(last, joined, at)) return last.surface;
    const byKey = joined === this.#plan ? undefined : new Map(nodes.map(({ slot, view }) => [keyOf(slot), view]));
    const viewAt = (slot: Slot): ActorView | undefined => at.get(slot) ?? byKey?.get(keyOf(slot));
    const off: Record<OfferRef, string | true> = {};
    const choices: Record<OfferRef, Readonly<Record<string, readonly string[]>>> = {};
    for (const offer of joined.offers.values()) {
      const now = offerNow(offer, viewAt, roots);
      if (now.off !== undefined) off[offer.ref] = now.off;
      if (now.choices !== undefined) choices[offer.ref] = now.choices;
    }
    const links = joined === this.#plan ? {} : { links: Object.fromEntries(nodes.map(({ slot, view }) => [slot.path, view.id])) };
    const surface: Surface = { catalogue: joined.catalogue, off, ...(Object.keys(choices).length === 0 ? {} : { choices }), ...links };
    // An equal surface is the same object, so that lists and what was derived from them are found again.
    const of = new Map(nodes.map(({ slot, view }) => [slot, view.surface]));
    if (last !== undefined && isSameSurface(last.surface, surface)) {
      last.of = of;
      return last.surface;
    }
    this.#lastOf.set(key, { surface, of });
    return surface;
  }
}

const surfaceIn = ({ surface }: LinkGraph): Surface => surface;

function isMadeOf({ surface, of }: JoinedSurface, { catalogue }: Joined, at: ReadonlyMap<Slot, ActorView>): boolean {
  if (surface.catalogue !== catalogue || of.size !== at.size) return false;
  for (const [slot, view] of at) if (of.get(slot) !== view.surface) return false;
  return true;
}

/** Why an offer is off, and its choices. Neither, where only a call says which actor is meant: behind a handle, or a link by argument. */
function offerNow(
  { routes, keys, scopes }: PlannedOffer,
  viewAt: (slot: Slot) => ActorView | undefined,
  { viewer, ids }: ViewerRoots,
): { readonly off?: string | true | undefined; readonly choices?: Readonly<Record<string, readonly string[]>> | undefined } {
  const [first] = routes;
  if (first?.slot.handled === true && !ids.has(rootOf(first.slot))) return {};
  for (const { slot, inner } of routes) {
    const view = viewAt(slot);
    if (view !== undefined) return { off: offNow(view.surface, inner), choices: getOwn(view.surface.choices, inner) };
  }
  const open = keys.length > 0 ? openLink(routes, viewAt) : undefined;
  if (open === undefined) return { off: whyNoActor(routes, viewAt) ?? true };
  if (open.keys === true || open.keys.length > MAX_LISTED_KEYS || lacksScope(scopes, viewer)) return {};
  return { choices: { [open.argument]: open.keys } };
}

/** The reason of the nearest actor on a route to an offer whose actor is not there. */
function whyNoActor(routes: readonly Route[], viewAt: (slot: Slot) => ActorView | undefined): string | undefined {
  for (const { slot } of routes)
    for (let { parent, link, behaviour } = slot; parent !== undefined; { parent, link, behaviour } = parent) {
      const surface = viewAt(parent)?.surface;
      const why = getOwn(surface?.linksOff, link);
      if (why !== undefined) return why;
      const target = getOwn(surface?.links, link);
      if (isActorId(target) && kindOf(target) === behaviour.kind && viewAt(slot) === undefined) return noActorThere(behaviour);
    }
  return undefined;
}

/** The first link by argument on a way to an offer that the viewer's graph does not follow, if it is on. */
function openLink(
  routes: readonly Route[],
  viewAt: (slot: Slot) => ActorView | undefined,
): { readonly argument: string; readonly keys: readonly string[] | true } | undefined {
  for (const { slot } of routes) {
    const next = pathTo(slot).find((one) => viewAt(one) === undefined);
    if (next?.by === undefined || next.parent === undefined) continue;
    const keys = getOwn(viewAt(next.parent)?.surface.linkKeys, next.link);
    if (keys !== undefined) return { argument: next.by, keys };
  }
  return undefined;
}

/** Whether lists, which show no reasons, and links are the same. */
function hasSameLists(one: Surface, other: Surface): boolean {
  const off = Object.keys(one.off);
  return (
    one.catalogue === other.catalogue &&
    off.length === Object.keys(other.off).length &&
    off.every((ref) => Object.hasOwn(other.off, ref)) &&
    sameJson(one.choices, other.choices) &&
    sameJson(one.links, other.links) &&
    sameJson(one.linkKeys, other.linkKeys)
  );
}

/** Undefined: on; text: off, and why; true: off. */
export function offNow(surface: Surface, inner: OfferRef): string | true | undefined {
  if (Object.hasOwn(surface.off, inner)) return surface.off[inner];
  return offersOf(surface.catalogue).has(inner) ? undefined : true;
}

/** The root actors of a viewer, except those behind handles. */
export function rootsOf(plan: Plan, viewer: Viewer): ReadonlyMap<Slot, ActorId> {
  const roots = new Map<Slot, ActorId>();
  for (const slot of plan.roots) {
    const id = slot.handled ? undefined : rootActor(slot.behaviour, viewer);
    if (id !== undefined) roots.set(slot, id);
  }
  return roots;
}

/** The one actor that the viewer acts as, if it is of the plan's kind. */
export function selfAsRoot({ roots: [slot] }: Plan, { self }: Viewer): ReadonlyMap<Slot, ActorId> {
  return new Map(slot !== undefined && self !== undefined && kindOf(self) === slot.behaviour.kind ? [[slot, self]] : []);
}

function slotsOf(slot: Slot): readonly Slot[] {
  return [slot, ...slot.children.flatMap(slotsOf)];
}

function keyOf({ parent, link, behaviour }: Slot): string {
  return parent === undefined ? behaviour.kind : `${keyOf(parent)} ${JSON.stringify(link)} ${behaviour.kind}`;
}

/** Where the link to a slot leads now, by the surface of the actor that has it: an actor, why to none, or undefined: nowhere, hidden. */
export function linkTarget(surface: Surface, slot: Slot, roots: ViewerRoots): ActorId | Refused | undefined {
  const { link, by, behaviour } = slot;
  const why = getOwn(surface.linksOff, link);
  if (why !== undefined) return refused("NOT_NOW", why);
  if (by === undefined) {
    const target = getOwn(surface.links, link);
    // A behaviour that is not an actor() may link to what is not an id.
    return isActorId(target) && kindOf(target) === behaviour.kind ? target : undefined;
  }
  const keys = getOwn(surface.linkKeys, link);
  const key = roots.address?.keys.get(by);
  if (keys === undefined || key === undefined) return undefined;
  if (keys !== true && !keys.includes(key)) return refused("INVALID", `Invalid arguments: ${by}: ${choicesMessage(keys)}.`);
  return linkedActor(behaviour, roots.viewer, key, keys !== true) ?? noTarget(slot);
}

/** The refusal of a call through a link without a target. */
export const noTarget = ({ by, behaviour }: Slot): Refused =>
  by === undefined ? refused("NOT_NOW", noActorThere(behaviour)) : refused("NO_ACTOR", `There is no ${behaviour.kind} of this key.`);

/** Why a link leads nowhere: its actor does not exist yet, has ended, or belongs to another viewer. One answer for all three. */
const noActorThere = ({ kind }: Behaviour): string => `There is no ${kind} there now.`;
