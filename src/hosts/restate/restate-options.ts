import type { ActorId, Behaviour, Clock, EngineError, Entropy, Index, IndexProgress } from "../../core/contract/index.ts";
import type { SendLater, RestateSdk } from "./sdk.ts";

/** Where a fault was noticed that no caller can be told of in full. */
export interface NodeFault {
  readonly where: "turn" | "work" | "load" | "watcher" | "receipt" | "progress" | "outbox" | "network" | "index";
  readonly actor?: ActorId;
  readonly action?: string;
  /** The message that is a dead letter from now on, by its id. */
  readonly letter?: string;
  /** What failed was reported before, by the turn that failed: this is not another fault. */
  readonly repeated?: true;
  /** The message has secret arguments, which an error of the author's code may contain: do not log its text. */
  readonly hasSecrets?: true;
}

/** What `RestateEngine` takes. */
export interface RestateOptions {
  /** Of the server's HTTP ingress. */
  readonly ingress: string;
  /** Of its admin API: only for what is found by an event's id alone. */
  readonly admin?: string;
  /** `@restatedev/restate-sdk`, as it was imported. */
  readonly sdk: RestateSdk;
  readonly kinds: readonly Behaviour[];
  /**
   * Indexes over the contents of actors, as `index()` makes them. Their rows follow the turns with a short delay. Those that earlier nodes
   * had of these kinds, and that are not among them, are deleted; absent: they stay.
   */
  readonly indexes?: readonly Index[];
  /** Where the server, and other nodes, reach this one. Default: loopback, a free port. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /** At least 32 bytes, the same for every node: what is secret in arguments is sealed with it. Kinds that `redact` need it. */
  readonly secret?: Uint8Array;
  /** Public keys (`publickeyv1_…`) of the server: requests it has not signed are refused. */
  readonly identityKeys?: readonly string[];
  /** Before every name on the server, where several systems share it. Lower-case letters, digits and hyphens. */
  readonly prefix?: string;
  /** By which actors live: stamps, deadlines, wakes. */
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** By which the server is tried again. Default the system's, whatever `clock` is. */
  readonly patience?: Clock;
  /** How long a call is sent again while the server is away. Default 60 s, which is the most. */
  readonly patienceMs?: number;
  /** Keyed replies are given again for this long. Default 24 h. */
  readonly keyMs?: number;
  /** The wait after a delivery's first failure, four times as long after the second. Default 100 ms. */
  readonly retryMs?: number;
  /** Called while this node builds an index, and when it is complete. */
  readonly onIndexProgress?: (progress: IndexProgress) => void;
  /** Default: nothing is told. */
  readonly onFault?: (error: unknown, where: NodeFault) => void;
  /** Called with why calls are refused when the server is lost, and with `undefined` when it is back. */
  readonly onAvailability?: (fault: EngineError | undefined) => void;
  /** For tests by a simulated clock: how what comes later is sent. Default: by the server's own durable timers. */
  readonly later?: (send: Parameters<SendLater>, begin: () => Promise<void>) => void;
}
