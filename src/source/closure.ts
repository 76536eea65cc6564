import type { ActorId, Behaviour, Catalogue, OfferRef, Surface, Viewer } from "../contract/index.ts";
import { kindOf, rootActor } from "./identity.ts";
import { Lru } from "./lru.ts";
import type { Names } from "./names.ts";
import { addPlanned, isOpen, MAX_DEPTH, Offers, type Place, placeBelow, type Plan, type Planned, rootOf } from "./plan.ts";
import { offersOf } from "./refs.ts";
import { sameJson } from "./same-json.ts";
import { Reads } from "./reads.ts";
import type { Sight, Sights } from "./sight.ts";
import type { Standing } from "./standing.ts";

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

type Joined = Pick<Plan, "offers" | "catalogue">;

export interface ClosureOptions {
  readonly kinds: ReadonlyMap<string, Behaviour>;
  readonly names: Names;
  readonly sights: Sights;
  readonly onFault?: (error: unknown, actor: ActorId) => void;
}

const MAX_ACTORS = 256;

/** Walks links and joins what it finds. Told of every actor *before* it is read, so that a watcher misses nothing. */
export class Closures {
  readonly #plan: Plan;
  readonly #options: ClosureOptions;
  readonly #order: ReadonlyMap<Place, number>;
  readonly #lastOf = new Lru<string, Surface>(4_096);
  readonly #joined = new Lru<string, Joined>(256);
  readonly #numbers = new WeakMap<Catalogue, number>();
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
  }

  /** Its surface alone; on the spot where all that is looked at is seen on the spot. */
  surfaceFor(standing: Standing): Surface | Promise<Surface> {
    const place = this.#single;
    const id = place === undefined ? undefined : standing.roots.get(place);
    if (place === undefined || id === undefined) return this.#walked(standing);
    const reads = new Reads();
    const sight = this.#options.sights.see(place.behaviour, id, standing.as(id), true, reads);
    if (sight instanceof Promise) return this.#surfaceLate(standing, place, sight, reads);
    return this.#surfaceOf(standing, place, sight, reads);
  }

  async #walked(standing: Standing): Promise<Surface> {
    return (await this.of(standing)).surface;
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

  async of(standing: Standing, onActor?: (id: ActorId) => void): Promise<Closure> {
    const { roots } = standing;
    const reads = new Reads();
    const at = new Map<Place, Sight>();
    let actors = 0;
    const visit = async (place: Place, id: ActorId, self: ActorId, above: readonly ActorId[]): Promise<void> => {
      actors += 1;
      if (actors > MAX_ACTORS) return;
      onActor?.(id);
      const sight = await this.#options.sights.see(place.behaviour, id, standing.as(self), above.length === 0, reads);
      if (sight === undefined) return;
      at.set(place, sight);
      const links = Object.entries(sight.surface.links ?? {});
      await Promise.all(
        links.map(async ([link, target]) => {
          const child = this.#childAt(place, link, target, [...above, id]);
          if (child !== undefined) await visit(child, target, self, [...above, id]);
        }),
      );
    };
    await Promise.all([...roots].map(([place, id]) => visit(place, id, id, [])));
    return this.#join(standing, at, reads);
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
          this.#options.onFault?.(error, sight.id);
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
    const byPath = joined === this.#plan ? undefined : new Map(parts.map(({ place, sight }) => [describe(place), sight]));
    const off: Record<OfferRef, string | true> = {};
    const choices: Record<OfferRef, Readonly<Record<string, readonly string[]>>> = {};
    for (const { ref, ways } of joined.offers.values()) {
      // Listed under a handle: which actor is meant, and so what it can do now, only the call says.
      if (ways[0]?.place.handled === true && !roots.has(rootOf(ways[0].place))) continue;
      const way = ways.find(({ place }) => (at.get(place) ?? byPath?.get(describe(place))) !== undefined);
      const sight = way === undefined ? undefined : (at.get(way.place) ?? byPath?.get(describe(way.place)));
      const why = way === undefined || sight === undefined ? true : offNow(sight.surface, way.inner);
      if (why !== undefined) off[ref] = why;
      const given = way === undefined ? undefined : ownChoices(sight?.surface, way.inner);
      if (given !== undefined) choices[ref] = given;
    }
    const open = joined === this.#plan ? {} : { links: Object.fromEntries(parts.map(({ place, sight }) => [place.path, sight.id])) };
    const surface: Surface = { catalogue: joined.catalogue, off, ...(Object.keys(choices).length === 0 ? {} : { choices }), ...open };
    // The same contents are the same object: lists and whatever hangs on them are found again.
    const last = this.#lastOf.get(key);
    if (last !== undefined && last.catalogue === surface.catalogue && sameJson(last.off, off) && sameJson(last.choices ?? {}, choices))
      return last;
    this.#lastOf.set(key, surface);
    return surface;
  }
}

/** Undefined: on. */
export function offNow(surface: Surface, inner: OfferRef): string | true | undefined {
  if (Object.hasOwn(surface.off, inner)) return surface.off[inner];
  return offersOf(surface.catalogue).has(inner) ? undefined : true;
}

export function ownChoices(surface: Surface | undefined, inner: OfferRef): Readonly<Record<string, readonly string[]>> | undefined {
  const { choices } = surface ?? {};
  return choices !== undefined && Object.hasOwn(choices, inner) ? choices[inner] : undefined;
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
