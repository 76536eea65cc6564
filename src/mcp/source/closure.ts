// Owns: the actors that a viewer reaches through links, their joined surface, and what differs between two of them. Does not own: when to look (cast-watch.ts).

import {
  type ActorId,
  type Behaviour,
  type Catalogue,
  type OfferRef,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { isActorId, kindOf, getOwn, memoize } from "../../core/contract/internal.ts";
import { rootActor } from "./access.ts";
import { Lru } from "./lru.ts";
import type { Names } from "./names.ts";
import { addPlanned, isOpen, MAX_DEPTH, Offers, type Place, placeBelow, type Plan, type Planned, rootOf, type Way } from "./plan.ts";
import { offersOf } from "./offers.ts";
import { sameJson } from "./json.ts";
import { Reads, type Standing } from "./viewers.ts";
import { isAlike, type OnFault, type Sight, type Sights, sameState } from "./sight.ts";

/** A taken place: which actor stands there, and what the viewer sees of it. */
export interface Part {
  readonly place: Place;
  readonly sight: Sight;
}

/** The cast a viewer meets now. */
export interface Closure {
  readonly parts: readonly Part[];
  readonly at: ReadonlyMap<Place, Sight>;
  readonly offers: ReadonlyMap<OfferRef, Planned>;
  readonly surface: Surface;
  /** What of the viewer counted: who agrees in it, and has these roots, meets the same. */
  readonly reads: Reads;
}

/** Where an actor is looked for. */
interface Step {
  readonly place: Place;
  readonly id: ActorId;
  readonly self: ActorId;
  readonly above: readonly ActorId[];
}

/** What was shown last, and what was seen at each place for it. */
interface Shown {
  readonly surface: Surface;
  seen: ReadonlyMap<Place, Surface>;
}

type Joined = Pick<Plan, "offers" | "catalogue">;

export interface ClosureOptions {
  readonly kinds: ReadonlyMap<string, Behaviour>;
  readonly names: Names;
  readonly sights: Sights;
  readonly onFault: OnFault;
}

/** Where links lead is for states to say. Of as many kinds as stand for every viewer, each is met. */
const MAX_ACTORS = 256;

/** Walks links and joins what it finds. Told of every actor *before* it is read, so that a watcher misses nothing. */
export class Closures {
  readonly #plan: Plan;
  readonly #options: ClosureOptions;
  readonly #order: ReadonlyMap<Place, number>;
  readonly #lastOf = new Lru<string, Shown>(4_096);
  readonly #joined = new Lru<string, Joined>(256);
  readonly #numbers = new WeakMap<Catalogue, number>();
  readonly #most: number;
  #told = false;
  #count = 0;
  /** Where one actor is all that can be met, nothing is walked. */
  readonly #single: Place | undefined;
  readonly #shown = new WeakMap<Surface, Surface>();

  constructor(plan: Plan, options: ClosureOptions) {
    this.#plan = plan;
    this.#options = options;
    const [root] = plan.roots;
    if (root !== undefined && plan.roots.length === 1 && root.children.length === 0 && !plan.open) this.#single = root;
    this.#order = new Map(plan.roots.flatMap(placesOf).map((place, i) => [place, i]));
    this.#most = Math.max(MAX_ACTORS, plan.roots.length);
  }

  /** Its surface alone; on the spot where all that is looked at is seen on the spot. */
  surfaceFor(standing: Standing): Surface | Promise<Surface> {
    const place = this.#single;
    const id = place === undefined ? undefined : standing.roots.get(place);
    if (place === undefined || id === undefined) {
      const met = this.of(standing);
      return met instanceof Promise ? met.then(({ surface }) => surface) : met.surface;
    }
    const reads = new Reads();
    const sight = this.#options.sights.see(place.behaviour, id, standing.as(id), true, reads);
    if (sight instanceof Promise) return this.#surfaceLate(standing, place, sight, reads);
    return this.#surfaceOf(standing, place, sight, reads);
  }

  async #surfaceLate(standing: Standing, place: Place, sight: Promise<Sight | undefined>, reads: Reads): Promise<Surface> {
    return this.#surfaceOf(standing, place, await sight, reads);
  }

  #surfaceOf(standing: Standing, place: Place, sight: Sight | undefined, reads: Reads): Surface {
    if (sight === undefined) return this.#join(standing, new Map(), reads).surface;
    let surface = this.#shown.get(sight.surface);
    if (surface === undefined) {
      ({ surface } = this.#join(standing, new Map([[place, sight]]), reads));
      this.#shown.set(sight.surface, surface);
    }
    return surface;
  }

  /** Whether a look at it would show what it did: then all that was met is met again. `reads` is told what of the viewer counts. */
  isAsSeen({ place, sight }: Part, standing: Standing, reads: Reads): boolean {
    const self = standing.roots.get(rootOf(place));
    if (self === undefined) return false;
    const begins = place.parent === undefined;
    const now = this.#options.sights.surfaceNow(place.behaviour, sight.id, standing.as(self), begins, reads);
    return now !== undefined && (now === sight.surface || listAlike(now, sight.surface));
  }

  /** The same, and all that was met on the way. */
  of(standing: Standing, onActor?: (id: ActorId) => void): Closure | Promise<Closure> {
    const reads = new Reads();
    const at = new Map<Place, Sight>();
    let actors = 0;
    // What is near is met first, since there may be too many. What is seen on the spot is walked in a loop; what is waited for goes on by itself.
    const walk = (from: readonly Step[]): Promise<unknown> | undefined => {
      const late: Promise<unknown>[] = [];
      for (let steps = from; steps.length > 0;) {
        const further: Step[] = [];
        for (const step of steps) {
          actors += 1;
          if (actors > this.#most) {
            this.#tooMany(step.id);
            break;
          }
          onActor?.(step.id);
          const sight = this.#look(step, standing, reads);
          if (sight instanceof Promise) late.push(sight.then((found) => walk(this.#below(step, found, at))));
          else further.push(...this.#below(step, sight, at));
        }
        steps = further;
      }
      return late.length === 0 ? undefined : Promise.all(late);
    };
    const waits = walk([...standing.roots].map(([place, id]) => ({ place, id, self: id, above: [] })));
    return waits === undefined ? this.#join(standing, at, reads) : waits.then(() => this.#join(standing, at, reads));
  }

  #tooMany(actor: ActorId): void {
    if (this.#told) return;
    this.#told = true;
    const text = `More than ${this.#most} actors can be met by one viewer here: what those beyond offer is in no list, though it can be called. Link to fewer.`;
    this.#options.onFault(new TroupeError("OUT_OF_ORDER", text), actor);
  }

  // One that fails on the spot leaves nobody alone with those that are waited for.
  #look({ place, id, self, above }: Step, standing: Standing, reads: Reads): ReturnType<Sights["see"]> {
    try {
      return this.#options.sights.see(place.behaviour, id, standing.as(self), above.length === 0, reads);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #below({ place, id, self, above }: Step, sight: Sight | undefined, at: Map<Place, Sight>): readonly Step[] {
    if (sight === undefined) return [];
    at.set(place, sight);
    const way = [...above, id];
    return Object.entries(sight.surface.links ?? {}).flatMap(([link, target]) => {
      const child = this.#childAt(place, link, target, way);
      return child === undefined ? [] : [{ place: child, id: target, self, above: way }];
    });
  }

  #join({ viewer, roots }: Standing, at: ReadonlyMap<Place, Sight>, reads: Reads): Closure {
    const parts = [...at].map(([place, sight]) => ({ place, sight }));
    const rank = (place: Place): number => this.#order.get(place) ?? this.#order.size;
    parts.sort((a, b) => rank(a.place) - rank(b.place) || (describe(a.place) < describe(b.place) ? -1 : 1));
    const joined = this.#plan.open ? this.#joinOpen(parts) : this.#plan;
    const key = `${reads.keyOf(viewer)} ${[...roots.values()].join(" ")}`;
    return { parts, at, offers: joined.offers, surface: this.#surface(joined, at, key, roots, parts), reads };
  }

  /** The place a link leads to: planned, or, under an actor that does not say ahead, made for this walk. */
  #childAt(place: Place, link: string, target: ActorId, above: readonly ActorId[]): Place | undefined {
    const behaviour = this.#options.kinds.get(kindOf(target));
    if (behaviour === undefined) return undefined;
    const planned = place.children.find((child) => child.link === link && child.behaviour === behaviour);
    if (planned !== undefined || !isOpen(place.behaviour) || place.handled) return planned;
    return above.includes(target) || place.depth >= MAX_DEPTH ? undefined : placeBelow(place, link, behaviour, this.#options.names);
  }

  #joinOpen(parts: readonly Part[]): Joined {
    const extra = parts.filter(({ place }) => !this.#order.has(place) || place.behaviour.catalogue === undefined);
    if (extra.length === 0) return this.#plan;
    const key = extra.map(({ place, sight }) => `${describe(place)} ${this.#numberOf(sight.surface.catalogue)}`).join("\n");
    let joined = this.#joined.get(key);
    if (joined === undefined) {
      const offers = new Offers(this.#options.names);
      for (const root of this.#plan.roots) addPlanned(offers, root);
      for (const { place, sight } of extra) {
        try {
          offers.add(place, sight.surface.catalogue);
        } catch (error) {
          // Refused where it joins: what another actor links to must not take this viewer's lists away.
          this.#options.onFault(error, sight.id);
        }
      }
      joined = offers.finish();
      this.#joined.set(key, joined);
    }
    return joined;
  }

  #numberOf(catalogue: Catalogue): number {
    const known = this.#numbers.get(catalogue);
    if (known !== undefined) return known;
    this.#count += 1;
    this.#numbers.set(catalogue, this.#count);
    return this.#count;
  }

  #surface(
    joined: Joined,
    at: ReadonlyMap<Place, Sight>,
    key: string,
    roots: ReadonlyMap<Place, ActorId>,
    parts: readonly Part[],
  ): Surface {
    const last = this.#lastOf.get(key);
    // A surface that was seen before is the same object. Where kinds do not say ahead, it also matters whose it is.
    if (last !== undefined && joined === this.#plan && isSeen(last, joined, at)) return last.surface;
    const byPath = joined === this.#plan ? undefined : new Map(parts.map(({ place, sight }) => [describe(place), sight]));
    const sightAt = (place: Place): Sight | undefined => at.get(place) ?? byPath?.get(describe(place));
    const off: Record<OfferRef, string | true> = {};
    const choices: Record<OfferRef, Readonly<Record<string, readonly string[]>>> = {};
    for (const { ref, ways } of joined.offers.values()) {
      // Listed under a handle: which actor is meant, and so what it can do now, only the call says.
      if (ways[0]?.place.handled === true && !roots.has(rootOf(ways[0].place))) continue;
      const way = ways.find(({ place }) => sightAt(place) !== undefined);
      const sight = way === undefined ? undefined : sightAt(way.place);
      const why = way === undefined || sight === undefined ? (whyNowhere(ways, sightAt) ?? true) : offNow(sight.surface, way.inner);
      if (why !== undefined) off[ref] = why;
      const given = way === undefined ? undefined : getOwn(sight?.surface.choices, way.inner);
      if (given !== undefined) choices[ref] = given;
    }
    const open = joined === this.#plan ? {} : { links: Object.fromEntries(parts.map(({ place, sight }) => [place.path, sight.id])) };
    const surface: Surface = { catalogue: joined.catalogue, off, ...(Object.keys(choices).length === 0 ? {} : { choices }), ...open };
    // The same contents are the same object: lists and whatever hangs on them are found again.
    const seen = new Map(parts.map(({ place, sight }) => [place, sight.surface]));
    if (last !== undefined && isAlike(last.surface, surface)) {
      last.seen = seen;
      return last.surface;
    }
    this.#lastOf.set(key, { surface, seen });
    return surface;
  }
}

/** As the nearest actor on a way there says. */
function whyNowhere(ways: readonly Way[], sightAt: (place: Place) => Sight | undefined): string | undefined {
  for (const { place } of ways)
    for (let { parent, link, behaviour } = place; parent !== undefined; { parent, link, behaviour } = parent) {
      const surface = sightAt(parent)?.surface;
      const why = getOwn(surface?.linksOff, link);
      if (why !== undefined) return why;
      const target = getOwn(surface?.links, link);
      if (isActorId(target) && kindOf(target) === behaviour.kind && sightAt(place) === undefined) return notThere(behaviour);
    }
  return undefined;
}

function isSeen({ surface, seen }: Shown, { catalogue }: Joined, at: ReadonlyMap<Place, Sight>): boolean {
  if (surface.catalogue !== catalogue || seen.size !== at.size) return false;
  for (const [place, sight] of at) if (seen.get(place) !== sight.surface) return false;
  return true;
}

/** As lists show it, which tell no reasons, and by where it leads. */
function listAlike(one: Surface, other: Surface): boolean {
  const off = Object.keys(one.off);
  return (
    one.catalogue === other.catalogue &&
    off.length === Object.keys(other.off).length &&
    off.every((ref) => Object.hasOwn(other.off, ref)) &&
    sameJson(one.choices, other.choices) &&
    sameJson(one.links, other.links)
  );
}

/** Why a link leads nowhere: its actor has not begun, has ended, or is somebody else's. One answer for all three. */
export const notThere = ({ kind }: Behaviour): string => `There is no ${kind} there now.`;

/** Undefined: on. */
export function offNow(surface: Surface, inner: OfferRef): string | true | undefined {
  if (Object.hasOwn(surface.off, inner)) return surface.off[inner];
  return offersOf(surface.catalogue).has(inner) ? undefined : true;
}

/** The actors that stand for a viewer, where no handle is needed to know them. */
export function rootsOf(plan: Plan, viewer: Viewer): ReadonlyMap<Place, ActorId> {
  const roots = new Map<Place, ActorId>();
  for (const place of plan.roots) {
    const id = place.handled ? undefined : rootActor(place.behaviour, viewer);
    if (id !== undefined) roots.set(place, id);
  }
  return roots;
}

/** The one actor that the viewer acts as, where it is of the plan's kind. */
export function selfAsRoot({ roots: [place] }: Plan, { self }: Viewer): ReadonlyMap<Place, ActorId> {
  return new Map(place !== undefined && self !== undefined && kindOf(self) === place.behaviour.kind ? [[place, self]] : []);
}

function placesOf(place: Place): readonly Place[] {
  return [place, ...place.children.flatMap(placesOf)];
}

function describe(place: Place): string {
  return place.parent === undefined
    ? place.behaviour.kind
    : `${describe(place.parent)} ${JSON.stringify(place.link)} ${place.behaviour.kind}`;
}

/** The resources whose content, or whose actor, is another than before. `isTold`: that state has been told of already. */
export function changedContents(before: Closure, now: Closure, isTold: (sight: Sight) => boolean): readonly OfferRef[] {
  return [...new Set([...contents(before), ...contents(now)])].filter((ref) => {
    const [was, is] = [shownBy(before, ref)?.sight, shownBy(now, ref)?.sight];
    if (was === undefined || is === undefined) return was !== is;
    return was.id !== is.id || !(sameState(was, is) || isTold(is));
  });
}

/** The resources that show one of these actors. */
export function contentsOf(closure: Closure, isMeant: (id: ActorId) => boolean): readonly OfferRef[] {
  return contents(closure).filter((ref) => {
    const id = shownBy(closure, ref)?.sight.id;
    return id !== undefined && isMeant(id);
  });
}

function contents(closure: Closure): readonly OfferRef[] {
  return closure.surface.catalogue.resources.map((offer): OfferRef => `resources/${offer.name}`);
}

/** The resources that show certain members of a state alone, where they are on. */
export function readersIn(closure: Closure): ReadonlyMap<OfferRef, Reader> {
  const readers = new Map<OfferRef, Reader>();
  for (const ref of readersOf(closure.surface.catalogue)) {
    const shown = shownBy(closure, ref);
    if (shown?.reads !== undefined) readers.set(ref, { sight: shown.sight, reads: shown.reads });
  }
  return readers;
}

export interface Reader {
  readonly sight: Sight;
  readonly reads: readonly string[];
}

// Most catalogues have none, and each look asks.
const readersOf = memoize((catalogue: Catalogue): readonly OfferRef[] =>
  catalogue.resources.flatMap(({ name, reads }): readonly OfferRef[] => (reads === undefined ? [] : [`resources/${name}`])),
);

interface ShownResource {
  readonly sight: Sight;
  readonly way: Way;
  readonly reads: readonly string[] | undefined;
}

/** What of which actor a resource shows; undefined where it is off. */
export function shownBy(closure: Closure, ref: OfferRef): ShownResource | undefined {
  for (const way of closure.offers.get(ref)?.ways ?? []) {
    const sight = closure.at.get(way.place);
    if (sight !== undefined) return offNow(sight.surface, way.inner) === undefined ? { sight, way, reads: way.offer.reads } : undefined;
  }
  return undefined;
}
