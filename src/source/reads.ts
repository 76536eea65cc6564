import type { ActorId, Viewer } from "../contract/index.ts";

/** Which parts of its viewer something looked at: viewers who agree in these are shown the same. */
export class Reads {
  principal = false;
  self = false;
  scopes = false;

  /** Whether there was anything new in it. */
  add(other: Reads): boolean {
    const isNews = (other.principal && !this.principal) || (other.self && !this.self) || (other.scopes && !this.scopes);
    this.principal ||= other.principal;
    this.self ||= other.self;
    this.scopes ||= other.scopes;
    return isNews;
  }

  /** The same for all who agree. Whether a part is there can be seen without a look at it, so that always counts. */
  keyOf(viewer: Viewer): string {
    const { principal, self, scopes } = viewer;
    const there = `${principal === undefined ? "" : "p"}${self === undefined ? "" : "s"}`;
    if (!this.principal && !this.self && !this.scopes) return there;
    return JSON.stringify([there, this.principal ? principal : null, this.self ? self : null, this.scopes ? scopes : null]);
  }
}

/** The viewer, which notes what of it is looked at. */
export function noticed(viewer: Viewer, reads: Reads): Viewer {
  return new Noticed(viewer, reads);
}

class Noticed implements Viewer {
  declare readonly principal?: string;
  declare readonly self?: ActorId;
  declare readonly scopes: readonly string[];
  readonly #viewer: Viewer;
  readonly #reads: Reads;

  // Members of its own, as a viewer's are, so that an author may spread, clone or print it.
  constructor(viewer: Viewer, reads: Reads) {
    this.#viewer = viewer;
    this.#reads = reads;
    if (viewer.principal !== undefined) Object.defineProperty(this, "principal", Noticed.#principal);
    if (viewer.self !== undefined) Object.defineProperty(this, "self", Noticed.#self);
    Object.defineProperty(this, "scopes", Noticed.#scopes);
  }

  static readonly #principal: PropertyDescriptor & ThisType<Noticed> = {
    enumerable: true,
    get() {
      this.#reads.principal = true;
      return this.#viewer.principal;
    },
  };

  static readonly #self: PropertyDescriptor & ThisType<Noticed> = {
    enumerable: true,
    get() {
      this.#reads.self = true;
      return this.#viewer.self;
    },
  };

  static readonly #scopes: PropertyDescriptor & ThisType<Noticed> = {
    enumerable: true,
    get() {
      this.#reads.scopes = true;
      return this.#viewer.scopes;
    },
  };
}
