// Owns: options of a cluster's node, their checks, and the form of its name and URL. Does not own: the key (handshake.ts).
import {
  systemClock,
  systemEntropy,
  TroupeError,
  type Clock,
  type Entropy,
  type Json,
  type Log,
  type Members,
} from "../../core/contract/index.ts";
import { peersKey } from "./handshake.ts";

/** Bounds and intervals. Milliseconds and bytes. The nodes of one cluster should agree. */
export interface ClusterLimits {
  /** How long the lease of this node lasts. It is renewed three times as often. Default 15 s. */
  readonly forMs: number;
  /** Default 1 s. A node that is silent for five heartbeats is considered dead. */
  readonly heartbeatMs: number;
  /** After this, an `ask` without an answer is "unknown". Default 10 s. */
  readonly askMs: number;
  /** To connect and complete the handshake. Default 5 s. */
  readonly greetMs: number;
  /** Pause before the first attempt to reconnect; it doubles up to `retryMaxMs`. Default 100 ms, 5 s. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** Minimum time between two runs of the `onGap` listeners. Default 100 ms. */
  readonly gapMs: number;
  /** Maximum size of a message with its topic. Default 1 MiB. */
  readonly frameBytes: number;
  /** Maximum size of what is queued for one node. Default 4 MiB. */
  readonly queueBytes: number;
  /** Maximum number of pending asks to one node, and from one. Default 256. */
  readonly asks: number;
  /** Maximum number of other nodes. Default 256. */
  readonly peers: number;
  /** Maximum number of connections that have not completed the handshake. Default 64. */
  readonly greetings: number;
}

export const CLUSTER_LIMITS: ClusterLimits = {
  forMs: 15_000,
  heartbeatMs: 1_000,
  askMs: 10_000,
  greetMs: 5_000,
  retryMs: 100,
  retryMaxMs: 5_000,
  gapMs: 100,
  frameBytes: 1_048_576,
  queueBytes: 4 * 1_048_576,
  asks: 256,
  peers: 256,
  greetings: 64,
};

/** Options of `joinCluster`. */
export interface ClusterOptions {
  /** At least 32 bytes, the same for every node. The cluster derives a key of its own from it. */
  readonly secret: Uint8Array;
  readonly members: Members;
  /** Default: random. `[a-z0-9]{16}`; never one that was used before. */
  readonly self?: string;
  /** Where other nodes reach this one: `http://host:port`. Required unless `listen` is given. */
  readonly url?: string;
  /** A server of its own, instead of `handle` mounted on another server. Default host 127.0.0.1, port 0: a free one. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  readonly limits?: Partial<ClusterLimits>;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** Logs names, codes and sizes; never messages. */
  readonly log?: Log;
  /** For tests: true loses a message after it was numbered. Called once for each node. */
  readonly drop?: (topic: string, message: Json) => boolean;
}

/** The checked options, as the parts of a node use them. */
export interface Settings {
  readonly self: string;
  readonly url: string;
  readonly key: Uint8Array;
  readonly limits: ClusterLimits;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
}

export const isNodeName = (text: unknown): text is string => typeof text === "string" && /^[a-z0-9]{16}$/.test(text);

function limitsOf(given: Partial<ClusterLimits> = {}): ClusterLimits {
  const limits = { ...CLUSTER_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1) throw new TroupeError("BAD_OPTION", `limits.${name} is not a whole number above 0.`);
  }
  if (limits.queueBytes < 2 * limits.frameBytes) {
    throw new TroupeError("BAD_OPTION", "limits.queueBytes is too small: give at least twice limits.frameBytes.");
  }
  return limits;
}

/** Throws `BAD_OPTION`. */
export function settingsOf(options: ClusterOptions, url: string): Settings {
  const { clock = systemClock, entropy = systemEntropy, log = () => undefined, self = entropy.hex(8) } = options;
  if (!isNodeName(self)) throw new TroupeError("BAD_OPTION", "A node's name is 16 of a-z and 0-9: leave `self` away to have one drawn.");
  const checked = peerUrl(url);
  if (checked === undefined) {
    throw new TroupeError("BAD_OPTION", "A node's url is http://host:port, without a path, a query or credentials.");
  }
  return { self, url: checked, key: peersKey(options.secret), limits: limitsOf(options.limits), clock, entropy, log };
}

/**
 * The canonical form of a node's URL, `http://host:port`. Undefined if it is not one: nodes use HTTP/2 in cleartext, so https is not
 * allowed.
 */
export function peerUrl(text: unknown): string | undefined {
  if (typeof text !== "string" || text.length > 512 || !URL.canParse(text)) return undefined;
  const { protocol, username, password, pathname, search, hash, hostname, origin } = new URL(text);
  const plain = protocol === "http:" && username === "" && password === "" && pathname === "/" && search === "" && hash === "";
  return plain && hostname !== "" ? origin : undefined;
}

/** For logs: the text of an error may quote a message. */
export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
