// Owns: options, limits and settings of a remote stage. Does not own: what they apply to (remote-stage.ts).
import {
  boundsOf,
  checkOptions,
  type Clock,
  type Entropy,
  FUNCTION,
  type Log,
  oneOf,
  type OptionTable,
  systemClock,
  systemEntropy,
} from "../../../core/contract/index.ts";
import { TEXT } from "../../../core/contract/internal.ts";
import { StageError } from "../stage.ts";
import { type Codec, WIRE_LIMITS, type WireLimits } from "../wire/codec.ts";

/** Limits and intervals, in milliseconds and bytes. */
export interface RemoteLimits {
  /** One attempt to connect. Default 5 s. */
  readonly connectMs: number;
  /** Attempts to connect before a call fails. Default 5. */
  readonly attempts: number;
  /** Delay before the second attempt. It doubles up to `retryMaxMs`, and half of it is random. Default 200 ms, 5 s. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** Wait for a reply. Default 30 s. */
  readonly replyMs: number;
  /** Wait for the reply to a request to an actor. Default 300 s. */
  readonly requestMs: number;
  /** Wait for a reply that a server may not be able to give, by codec or command. Default 3 s. */
  readonly probeMs: number;
  /** How much longer the answer in the newer codec may take than in the older one. Default 50 ms. */
  readonly graceMs: number;
  /** An unused connection is closed after this time. Default 60 s. */
  readonly idleMs: number;
  /** How long a list of actors is proof enough that an actor exists. Default 1 s. */
  readonly freshMs: number;
  /** Between two reads of the list of actors while it is watched. Default 2 s. */
  readonly pollMs: number;
  /** How long a command that the server did not know is not tried again. Default 10 min. */
  readonly unknownMs: number;
  /** Connections for commands that are answered at once. Default 4. */
  readonly connections: number;
  /** Concurrent requests, each on a connection of its own. Default 64. */
  readonly requests: number;
  /** Calls that wait for a connection of either pool. Default 1,024. */
  readonly waiting: number;
  /** Open channels. Default 64. */
  readonly channels: number;
  /** Actors whose events are followed. Default 16. */
  readonly followed: number;
  /** Cached events of one actor, the newest. Default 10,000. */
  readonly events: number;
  /** Data of all cached events. Default 64 MiB. */
  readonly eventBytes: number;
  /** How long all actors are searched for an event of which only the id is known. Default 20 s. */
  readonly searchMs: number;
  /** One frame, sent or received. Default 32 MiB. */
  readonly frameBytes: number;
}

const DEFAULTS: RemoteLimits = {
  connectMs: 5_000,
  attempts: 5,
  retryMs: 200,
  retryMaxMs: 5_000,
  replyMs: 30_000,
  requestMs: 300_000,
  probeMs: 3_000,
  graceMs: 50,
  idleMs: 60_000,
  freshMs: 1_000,
  pollMs: 2_000,
  unknownMs: 600_000,
  connections: 4,
  requests: 64,
  waiting: 1_024,
  channels: 64,
  followed: 16,
  events: 10_000,
  eventBytes: 64 * 1_048_576,
  searchMs: 20_000,
  frameBytes: WIRE_LIMITS.frameBytes,
};

/** Options of `remoteStage`. */
export interface RemoteOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 9000, as Theater's own. */
  readonly port?: number;
  /** `raw`: servers until June 2025. `fragmenting`: later ones. Default `auto`: detected. */
  readonly codec?: "auto" | Codec;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** Receives names, codes and counts; never messages. */
  readonly log?: Log;
  readonly limits?: Partial<RemoteLimits>;
}

/** Options with defaults, as the parts of the stage use them. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  /** The server's name in messages. */
  readonly server: string;
  readonly codec: "auto" | Codec;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly limits: RemoteLimits;
  readonly wire: WireLimits;
}

const OPTIONS: OptionTable<RemoteOptions> = {
  host: TEXT,
  port: true,
  codec: oneOf("auto", "raw", "fragmenting"),
  clock: true,
  entropy: true,
  log: FUNCTION,
  limits: boundsOf(DEFAULTS),
};

/** Throws `BAD_OPTION`, `InvalidRequest`. */
export function settingsOf(options: RemoteOptions): Settings {
  checkOptions("remoteStage", options, OPTIONS);
  const { host = "127.0.0.1", port = 9_000, codec = "auto", clock = systemClock, entropy = systemEntropy, log = () => undefined } = options;
  const limits = { ...DEFAULTS, ...options.limits };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1) throw new StageError("InvalidRequest", `limits.${name} must be a whole number above 0.`);
  }
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new StageError("InvalidRequest", "port must be a number of 1 to 65535.");
  const server = `the Theater server at ${host.includes(":") ? `[${host}]` : host}:${port}`;
  const wire = { ...WIRE_LIMITS, frameBytes: limits.frameBytes, messageBytes: Math.max(limits.frameBytes, WIRE_LIMITS.messageBytes) };
  return { host, port, server, codec, clock, entropy, log, limits, wire };
}
