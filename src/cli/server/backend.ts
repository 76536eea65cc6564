// Owns: the interface of what runs a server's actors, and which stored kinds are not served. Does not own: its two forms
// (local-backend.ts, cluster-backend.ts).
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
import type { LoadedModules } from "../load-modules.ts";
import type { ServerLog } from "../log.ts";
import type { ServeOptions } from "../serve-options.ts";

/** What a server runs on: the engine of its actors, and the stores of its clients' sessions. */
export interface Backend extends AsyncDisposable {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  /** Undefined: tasks are in memory, if there are any. */
  readonly taskStore: TaskStore | undefined;
  /** Signs what clients hand back; undefined if nothing survives a restart. */
  readonly key: Uint8Array | undefined;
  /** The data directory. */
  readonly data: string | undefined;
  /** The address of this node for the Restate server and other nodes. */
  readonly node: NodeAddress | undefined;
  readonly peers: Peers | undefined;
  /** The kinds that run since `start`. */
  readonly kinds: readonly Behaviour[];
  /** The store of actors in this process, if there is one. */
  readonly store: Store | undefined;
  /** Why nothing can be stored any more until a restart. */
  readonly fault: Error | undefined;
  /** Starts the engine of these modules. The previous engine has ended. */
  start(loaded: LoadedModules): Promise<Engine>;
  /** Called when the modules are served. Returns the kinds that have actors and are not served. */
  recordServed(loaded: LoadedModules): Promise<readonly KindCount[]>;
  /** Accepts commands from now on. */
  openCommands(hooks: CommandHooks): Promise<void>;
  /** Performs an operation of the console, by its name in `troupe/console`. */
  operate(operation: string, args: JsonObject): Promise<Json>;
  /** Waits at most this long for running work. */
  drain(graceMs: number): Promise<void>;
}

/** What other parts of the server add to commands. */
interface CommandHooks {
  /** Performs further operations; undefined if it does not know this one. */
  readonly more?: (operation: string, args: JsonObject) => Promise<Json | undefined>;
  /** Called when bodies of these actors were erased, or the actors removed. */
  readonly erased: (ids: readonly ActorId[]) => void;
}

export interface NodeAddress {
  readonly url: string;
  /** The ingress of the Restate server. */
  readonly engine: string;
}

export interface BackendOptions {
  readonly options: ServeOptions;
  readonly log: ServerLog;
  /** Wraps each kind in development. */
  readonly prepareKind: ((kind: Behaviour) => Behaviour) | undefined;
  /** Log the messages of author errors, too. */
  readonly detailedFaults: boolean;
  readonly observer: Observer | undefined;
}

/** A kind, and how many of its actors have not ended. */
export interface KindCount {
  readonly kind: string;
  readonly actors: number;
}

// Keys are percent-encoded, so none of the kind sorts after this one.
const lastIdOf = (kind: string): ActorId => `${kind}/\u{10ffff}`;

/**
 * Kinds with live actors in the store that are not served: their timers do not fire, calls to them fail, and messages become dead letters.
 * Takes two queries per kind, however many actors there are.
 */
export const unservedKinds = async (store: Store, served: ReadonlySet<string>): Promise<readonly KindCount[]> => {
  const found: KindCount[] = [];
  let after: ActorId | undefined;
  for (;;) {
    const [first] = await store.list({ limit: 1, ...omitUndefined({ after }) });
    if (first === undefined) return found;
    const kind = kindOf(first.id);
    after = lastIdOf(kind);
    if (served.has(kind)) continue;
    const actors = await store.count({ kind, live: true });
    if (actors > 0) found.push({ kind, actors });
  }
};

/** What to do about them. */
export const SERVE_THEM_TOO =
  "Nothing wakes these actors, calls to them fail, and messages to them become dead letters. Serve the module that defines their kind too, then replay those; or stop the actors with troupe stop <actor> --module <file> while no server runs.";

export const logUnserved = (log: ServerLog, unserved: readonly KindCount[]): void =>
  log("warn", "kinds-not-served", {
    kinds: Object.fromEntries(unserved.map(({ kind, actors }) => [kind, actors])),
    what: SERVE_THEM_TOO,
  });
