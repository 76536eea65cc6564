import type { ActorId, Store } from "../core/contract/index.ts";
import { kindOf, omitUndefined } from "../core/contract/internal.ts";

/** A kind of which there are actors, and how many have not ended. */
export interface KindCount {
  readonly kind: string;
  readonly actors: number;
}

// Keys are percent-encoded, so no key of the kind comes after this one.
const beyond = (kind: string): ActorId => `${kind}/\u{10ffff}`;

/**
 * Kinds with actors in the store that nobody serves: their timers do not ring, calls to them fail. Those of which all have
 * ended are left out. Two questions per kind, however many actors there are.
 */
export const unservedKinds = async (store: Store, served: ReadonlySet<string>): Promise<readonly KindCount[]> => {
  const found: KindCount[] = [];
  let after: ActorId | undefined;
  for (;;) {
    const [first] = await store.list({ limit: 1, ...omitUndefined({ after }) });
    if (first === undefined) return found;
    const kind = kindOf(first.id);
    after = beyond(kind);
    if (served.has(kind)) continue;
    const actors = await store.count({ kind, live: true });
    if (actors > 0) found.push({ kind, actors });
  }
};

/** What to do about them, in one sentence. */
export const SERVE_THEM_TOO =
  "Nothing wakes these actors, and calls to them fail. Serve the module that defines their kind too, or stop them with troupe stop <actor> --module <file> while no server runs.";
