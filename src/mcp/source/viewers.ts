// Owns: the actors that stand for a viewer, and which parts of it a surface depends on. Does not own: who is allowed what (access.ts).

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

// Of viewers, which do not change: by which parts count, since to write one takes longer than most looks.
const keys = new WeakMap<Viewer, (string | undefined)[]>();

/** Which parts of its viewer something looked at: viewers who agree in these are shown the same. */
export class Reads {
  principal = false;
  self = false;
  scopes = false;
  #noticed: WeakMap<Viewer, Viewer> | undefined;

  /** Whether there was anything new in it. */
  add(other: Reads): boolean {
    const isNews = !this.has(other);
    this.principal ||= other.principal;
    this.self ||= other.self;
    this.scopes ||= other.scopes;
    return isNews;
  }

  /** Whether all that is in it counts here, too. */
  has(other: Reads): boolean {
    return (this.principal || !other.principal) && (this.self || !other.self) && (this.scopes || !other.scopes);
  }

  /** The viewer, which notes here what of it is looked at. Made once: it takes longer than most looks. */
  noticed(viewer: Viewer): Viewer {
    const known = this.#noticed?.get(viewer);
    if (known !== undefined) return known;
    const made = noticing(viewer, this);
    (this.#noticed ??= new WeakMap()).set(viewer, made);
    return made;
  }

  /** The same for all who agree. Whether a part is there can be seen without a look at it, so that always counts. */
  keyOf(viewer: Viewer): string {
    const there = `${viewer.principal === undefined ? "" : "p"}${viewer.self === undefined ? "" : "s"}`;
    const counts = (this.principal ? 1 : 0) + (this.self ? 2 : 0) + (this.scopes ? 4 : 0);
    if (counts === 0) return there;
    let known = keys.get(viewer);
    if (known === undefined) keys.set(viewer, (known = []));
    return (known[counts] ??= this.#key(viewer, there));
  }

  #key({ principal, self, scopes }: Viewer, there: string): string {
    return JSON.stringify([there, this.principal ? principal : null, this.self ? self : null, this.scopes ? scopes : null]);
  }
}

const PARTS = ["principal", "self", "scopes"] as const;

function noticing(viewer: Viewer, reads: Reads): Viewer {
  // Members of its own and no class, as a viewer has: an author may spread, clone, inherit from or wrap it.
  const seen: Viewer = { ...viewer };
  for (const part of PARTS) {
    if (viewer[part] === undefined) continue;
    const get = (): unknown => {
      reads[part] = true;
      return viewer[part];
    };
    Object.defineProperty(seen, part, { get });
  }
  return Object.freeze(seen);
}
