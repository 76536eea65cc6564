import type { Viewer } from "../../core/contract/index.ts";

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
