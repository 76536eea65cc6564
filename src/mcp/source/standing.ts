import type { ActorId, Viewer } from "../../core/contract/index.ts";
import { Lru } from "./lru.ts";
import type { Place } from "./plan.ts";

/** The actors that stand for one viewer, and the viewer as each of them is told of it. */
export class Standing {
  readonly viewer: Viewer;
  readonly roots: ReadonlyMap<Place, ActorId>;
  readonly #as = new Map<ActorId, Viewer>();

  constructor({ principal, self, scopes }: Viewer, roots: ReadonlyMap<Place, ActorId>) {
    // A copy: what a door makes of its own object later is another viewer.
    this.viewer = { ...(principal === undefined ? {} : { principal }), ...(self === undefined ? {} : { self }), scopes: [...scopes] };
    this.roots = roots;
  }

  /** Of as many as there are roots. */
  as(self: ActorId): Viewer {
    let viewer = this.#as.get(self);
    if (viewer === undefined) {
      viewer = Object.freeze({ ...this.viewer, self });
      this.#as.set(self, viewer);
    }
    return viewer;
  }
}

const VIEWERS_KEPT = 1_024;

/** Which actors stand for whom, kept by what says it: a door may make a viewer anew for each request. */
export class Standings {
  readonly #rootsOf: (viewer: Viewer) => ReadonlyMap<Place, ActorId>;
  readonly #kept = new Lru<string | undefined, Standing>(VIEWERS_KEPT);

  constructor(rootsOf: (viewer: Viewer) => ReadonlyMap<Place, ActorId>) {
    this.#rootsOf = rootsOf;
  }

  of(viewer: Viewer): Standing {
    const known = this.#kept.get(viewer.principal);
    if (known !== undefined && isAlike(known.viewer, viewer)) return known;
    const standing = new Standing(viewer, this.#rootsOf(viewer));
    this.#kept.set(viewer.principal, standing);
    return standing;
  }
}

function isAlike(one: Viewer, other: Viewer): boolean {
  if (one.principal !== other.principal || one.self !== other.self || one.scopes.length !== other.scopes.length) return false;
  for (let at = 0; at < one.scopes.length; at += 1) if (one.scopes[at] !== other.scopes[at]) return false;
  return true;
}
