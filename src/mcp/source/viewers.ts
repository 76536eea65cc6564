// Owns: the root actors of a viewer, and which parts of a viewer something depends on. Does not own: who may do what (actor-access.ts).

import type { ActorId, Viewer } from "../../core/contract/index.ts";
import { Lru, omitUndefined, sameClaims } from "../../core/contract/internal.ts";
import type { KeyAddress, Slot } from "./plan.ts";

/** A viewer and its root actors. */
export class ViewerRoots {
  readonly viewer: Viewer;
  readonly ids: ReadonlyMap<Slot, ActorId>;
  /** Which of many actors is meant. Undefined: links by argument are not followed. */
  readonly address: KeyAddress | undefined;
  readonly #as = new Map<ActorId, Viewer>();

  constructor({ principal, self, scopes, claims }: Viewer, ids: ReadonlyMap<Slot, ActorId>, address?: KeyAddress) {
    // A copy, since a transport may change its own object later. Claims are frozen.
    this.viewer = { ...omitUndefined({ principal, self, claims }), scopes: [...scopes] };
    this.ids = ids;
    this.address = address;
  }

  /** The same viewer, with only the roots on the way to the actor that is meant. */
  at(address: KeyAddress): ViewerRoots {
    return new ViewerRoots(this.viewer, new Map([...this.ids].filter(([slot]) => address.slots.has(slot))), address);
  }

  /** Equal for the same roots and address. */
  get text(): string {
    const roots = [...this.ids.values()].join(" ");
    return this.address === undefined ? roots : `${roots} ${this.address.text}`;
  }

  /** The actor to report a fault with that is not about one actor. */
  get first(): ActorId {
    for (const id of this.ids.values()) return id;
    return "cast/none";
  }

  /** The viewer acting as one of its roots. */
  as(self: ActorId): Viewer {
    let viewer = this.#as.get(self);
    if (viewer === undefined) this.#as.set(self, (viewer = Object.freeze({ ...this.viewer, self })));
    return viewer;
  }
}

const MAX_VIEWERS = 1_024;

/** Caches root actors by the viewer's content, since a transport may make a new viewer for each request. */
export class RootsCache {
  readonly #rootsOf: (viewer: Viewer) => ReadonlyMap<Slot, ActorId>;
  readonly #known = new Lru<string | undefined, ViewerRoots>(MAX_VIEWERS);

  constructor(rootsOf: (viewer: Viewer) => ReadonlyMap<Slot, ActorId>) {
    this.#rootsOf = rootsOf;
  }

  of(viewer: Viewer): ViewerRoots {
    const known = this.#known.get(viewer.principal);
    if (known !== undefined && isSameViewer(known.viewer, viewer)) return known;
    const roots = new ViewerRoots(viewer, this.#rootsOf(viewer));
    this.#known.set(viewer.principal, roots);
    return roots;
  }
}

function isSameViewer(one: Viewer, other: Viewer): boolean {
  if (one.principal !== other.principal || one.self !== other.self || one.scopes.length !== other.scopes.length) return false;
  for (let at = 0; at < one.scopes.length; at += 1) if (one.scopes[at] !== other.scopes[at]) return false;
  return sameClaims(one.claims, other.claims);
}

// By viewer, which does not change, and by the parts that count: to compute a key takes longer than most reads.
const keys = new WeakMap<Viewer, (string | undefined)[]>();

/** The parts of a viewer that something has read: viewers who agree in these get the same. */
export class ViewerDependencies {
  principal = false;
  self = false;
  scopes = false;
  claims = false;
  #tracked: WeakMap<Viewer, Viewer> | undefined;

  /** Whether there was anything new in the other. */
  add(other: ViewerDependencies): boolean {
    const isNew = !this.has(other);
    this.principal ||= other.principal;
    this.self ||= other.self;
    this.scopes ||= other.scopes;
    this.claims ||= other.claims;
    return isNew;
  }

  has(other: ViewerDependencies): boolean {
    return (
      (this.principal || !other.principal) && (this.self || !other.self) && (this.scopes || !other.scopes) && (this.claims || !other.claims)
    );
  }

  /** The viewer as an object that records here which of its parts are read. Cached: making one takes longer than most reads. */
  track(viewer: Viewer): Viewer {
    const known = this.#tracked?.get(viewer);
    if (known !== undefined) return known;
    const tracked = trackedBy(this, viewer);
    (this.#tracked ??= new WeakMap()).set(viewer, tracked);
    return tracked;
  }

  /** Equal for viewers who agree. Whether a part is present always counts, since that can be seen without reading it. */
  keyOf(viewer: Viewer): string {
    const present = `${viewer.principal === undefined ? "" : "p"}${viewer.self === undefined ? "" : "s"}${viewer.claims === undefined ? "" : "c"}`;
    const counts = (this.principal ? 1 : 0) + (this.self ? 2 : 0) + (this.scopes ? 4 : 0) + (this.claims ? 8 : 0);
    if (counts === 0) return present;
    let known = keys.get(viewer);
    if (known === undefined) keys.set(viewer, (known = []));
    return (known[counts] ??= this.#key(viewer, present));
  }

  #key({ principal, self, scopes, claims }: Viewer, present: string): string {
    const read = [this.principal ? principal : null, this.self ? self : null, this.scopes ? scopes : null, this.claims ? claims : null];
    return JSON.stringify([present, ...read]);
  }
}

const PARTS = ["principal", "self", "scopes", "claims"] as const;

function trackedBy(dependencies: ViewerDependencies, viewer: Viewer): Viewer {
  // Own properties and no class, as a viewer has: an author may spread, clone, inherit from or wrap it.
  const tracked: Viewer = { ...viewer };
  for (const part of PARTS) {
    if (viewer[part] === undefined) continue;
    const get = (): unknown => {
      dependencies[part] = true;
      return viewer[part];
    };
    Object.defineProperty(tracked, part, { get });
  }
  return Object.freeze(tracked);
}
