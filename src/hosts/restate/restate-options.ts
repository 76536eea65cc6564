// Owns: the options of the engine. Does not own: their checks (restate-engine.ts, node.ts).
import type { ActorId, Behaviour, Clock, EngineError, Entropy, Index, IndexProgress } from "../../core/contract/index.ts";
import type { SendLater, RestateSdk } from "./sdk.ts";

/** Where a fault occurred that no caller is informed of in full. */
export interface NodeFault {
  readonly where: "turn" | "work" | "load" | "watcher" | "receipt" | "progress" | "outbox" | "network" | "index";
  readonly actor?: ActorId;
  readonly action?: string;
  /** Id of the message that became a dead letter. */
  readonly letter?: string;
  /** The failed turn has reported this already: it is not another fault. */
  readonly repeated?: true;
  /** The message has secret arguments, which an error of the author's code may contain: do not log its text. */
  readonly hasSecrets?: true;
}

/** Options of `RestateEngine`. */
export interface RestateOptions {
  /** URL of the server's HTTP ingress. */
  readonly ingress: string;
  /** URL of its admin API. Only needed to find an event by its id. */
  readonly admin?: string;
  /** The imported module `@restatedev/restate-sdk`. */
  readonly sdk: RestateSdk;
  readonly kinds: readonly Behaviour[];
  /**
   * Indexes over the contents of actors, as `index()` makes them. Their rows follow the turns with a short delay. Indexes that earlier
   * nodes declared for these kinds, and that are not in this list, are deleted. If absent, they stay.
   */
  readonly indexes?: readonly Index[];
  /** Where the server, and other nodes, reach this node. Default: loopback, a free port. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /** At least 32 bytes, the same for every node: secret arguments are sealed with it. Kinds that `redact` need it. */
  readonly secret?: Uint8Array;
  /** Public keys (`publickeyv1_…`) of the server: unsigned requests are refused. */
  readonly identityKeys?: readonly string[];
  /** Precedes every name on the server, if several systems share it. Lower-case letters, digits and hyphens. */
  readonly prefix?: string;
  /** The clock of actors: stamps, deadlines, timers. */
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** The clock of retries. Default the system's, whatever `clock` is. */
  readonly patience?: Clock;
  /** How long a call is retried while the server is away. Default 60 s, which is the maximum. */
  readonly patienceMs?: number;
  /** How long keyed replies are stored. Default 24 h. */
  readonly keyMs?: number;
  /** Pause after a delivery's first failure; four times as long after the second. Default 100 ms. */
  readonly retryMs?: number;
  /** Called while this node builds an index, and when it is complete. */
  readonly onIndexProgress?: (progress: IndexProgress) => void;
  /** Default: faults are ignored. */
  readonly onFault?: (error: unknown, where: NodeFault) => void;
  /** Called with the fault when the server is lost, and with `undefined` when it is back. */
  readonly onAvailability?: (fault: EngineError | undefined) => void;
  /** For tests with a simulated clock: sends delayed messages. Default: the server's durable timers. */
  readonly later?: (send: Parameters<SendLater>, begin: () => Promise<void>) => void;
}
