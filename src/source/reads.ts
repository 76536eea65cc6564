import type { Viewer } from "../contract/index.ts";

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

const PARTS = ["principal", "self", "scopes"] as const;

/** The viewer, which notes what of it is looked at. */
export function noticed(viewer: Viewer, reads: Reads): Viewer {
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
