import type {
  ActorId,
  Behaviour,
  Engine,
  Json,
  JsonObject,
  Observer,
  Peers,
  SessionStore,
  Store,
  StreamStore,
  TaskStore,
} from "../../core/contract/index.ts";
import { kindOf, omitUndefined } from "../../core/contract/internal.ts";
import type { Loaded } from "../load-modules.ts";
import type { ServerLog } from "../log.ts";
import type { ServeOptions } from "../serve-options.ts";

/** What a server stands on: where its actors and its clients' sessions are. */
export interface Ground extends AsyncDisposable {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  /** Absent: tasks live in memory, or are not. */
  readonly taskStore: TaskStore | undefined;
  /** Signs what clients hand back; absent: nothing outlives this process. */
  readonly key: Uint8Array | undefined;
  /** The folder in which everything is. */
  readonly data: string | undefined;
  /** Where a Restate server reaches this node, and others do. */
  readonly node: NodeAddress | undefined;
  readonly peers: Peers | undefined;
  /** What runs, since `start`. */
  readonly kinds: readonly Behaviour[];
  /** Where this process stores actors; absent: nowhere, or not in this process. */
  readonly store: Store | undefined;
  /** Why nothing is kept any more until a restart. */
  readonly fault: Error | undefined;
  /** Where these modules' actors run. The engine before it has ended. */
  start(loaded: Loaded): Promise<Engine>;
  /** They are served now: returns the kinds that have actors and are not. */
  served(loaded: Loaded): Promise<readonly KindCount[]>;
  /** Takes commands. */
  open(beside: Beside): Promise<void>;
  /** The console's operations, by the names of `troupe/console`. */
  operate(operation: string, args: JsonObject): Promise<Json>;
  /** What runs for others has this long to end. */
  drain(graceMs: number): Promise<void>;
}

/** What else has to do with commands. */
interface Beside {
  /** Knows some that are not about actors alone; undefined: not that one. */
  readonly more?: (operation: string, args: JsonObject) => Promise<Json | undefined>;
  /** Bodies of these actors were erased, or they were removed. */
  readonly erased: (ids: readonly ActorId[]) => void;
}

export interface NodeAddress {
  readonly url: string;
  /** Of the server's ingress. */
  readonly engine: string;
}

export interface GroundOptions {
  readonly options: ServeOptions;
  readonly log: ServerLog;
  /** Each kind as `dev` makes it in development. */
  readonly dev: ((kind: Behaviour) => Behaviour) | undefined;
  /** Faults are told with all they say. */
  readonly inFull: boolean;
  readonly observer: Observer | undefined;
}

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

export const logUnserved = (log: ServerLog, unserved: readonly KindCount[]): void =>
  log("warn", "kinds-not-served", {
    kinds: Object.fromEntries(unserved.map(({ kind, actors }) => [kind, actors])),
    what: SERVE_THEM_TOO,
  });
