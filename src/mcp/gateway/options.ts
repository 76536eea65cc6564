import type {
  Bag,
  Clock,
  Entropy,
  Log,
  Observer,
  Peers,
  Rate,
  SessionStore,
  Source,
  StreamStore,
  TaskStore,
} from "../../core/contract/index.ts";
import type { Posture } from "../source/index.ts";
import type { CacheHint, Kept } from "./cache-hints.ts";
import type { ProfileName, UnknownSession } from "./profile.ts";

/** How the server names itself: MCP's `Implementation`. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Bag[];
}

/** Bounds of what a client may send or make the server hold. */
export interface Limits {
  /** Of one message, in bytes (text: in UTF-16 units). Default 4 MiB. */
  readonly messageBytes: number;
  /** Levels of nesting in one message. Default 64. */
  readonly depth: number;
  /** Values in one message, lists and objects included. Default 100,000. */
  readonly values: number;
  /** Members of one object in a message. Default 10,000. */
  readonly members: number;
  /** Messages in one batch. Default 64. */
  readonly batch: number;
  /** Requests of one session or connection that run at once. Default 1000. */
  readonly inFlight: number;
  /**
   * What the messages take that are being worked on, of all clients together, in bytes, about: their text, and 32 for each value of
   * theirs. Those below 4 KiB do not count. Half of it is the most for one caller. Default 256 MiB.
   */
  readonly heldBytes: number;
  /** Subscribed URIs of one session or listen request. Default 1000. */
  readonly subscriptions: number;
  /** Characters of the URIs that one session subscribes to, in all. Default 64 Ki. */
  readonly subscriptionLength: number;
  /** Open `subscriptions/listen` requests of one connection. Default 64. */
  readonly listensPerConnection: number;
  /** Open `subscriptions/listen` requests in all. Default 100,000. */
  readonly listens: number;
  /** Sessions held in memory; more stay in the store only. Default 100,000. */
  readonly liveSessions: number;
  /**
   * Sessions of one principal, or of one peer without any; with more, the one that its client has left alone for the longest time ends.
   * Not of this machine's own without any: all of them are one peer. Default 10,000.
   */
  readonly sessionsPerCaller: number;
  /** How long a client may take to answer a request of the server. Default 10 minutes. */
  readonly answerMs: number;
  /** Of one such answer, in characters of its JSON. Default 256 Ki. */
  readonly answerLength: number;
  /** Rounds of asking within one call. Default 8. */
  readonly rounds: number;
  /** How long a `requestState` holds. Default 10 minutes. */
  readonly stateMs: number;
  /** Tasks kept in all, those that are done included; of one principal half of them, of which `inFlight` may run at once. Default 10,000. */
  readonly tasks: number;
}

export interface GatewayOptions {
  readonly source: Source;
  readonly info: ServerInfo;
  /** Before the source's own. */
  readonly instructions?: string;
  /** Legacy sessions over HTTP. Absent: none begins; connections (stdio, TCP, in a page) need none. */
  readonly sessions?: SessionStore;
  /** What such sessions resume replies from. */
  readonly streams?: StreamStore;
  /**
   * The other nodes that serve the same sessions from the same two stores: a client may then send each request to any of
   * them. Rate limits and other limits hold for each node. Not disposed with the gateway. Absent: this is the only one.
   */
  readonly peers?: Peers;
  /**
   * Other processes serve the same sessions from the same two stores, and none can reach another: for each request of a
   * session its row is read from the store. Default false; with `peers` it is not needed.
   */
  readonly sharedSessions?: boolean;
  /** Whose dialect is spoken. Default `strict`. */
  readonly profile?: ProfileName;
  /**
   * A POST over HTTP whose session is not here, or is another principal's: `reject` answers 404, `reissue` begins a new session
   * and names it in the answer, `adopt` begins one under the id the client came with. Default: the profile's; `reject` in strict.
   */
  readonly unknownSession?: UnknownSession;
  /** Extensions of MCP the server has, and their settings, for clients of 2026-07-28; null: it has it not. */
  readonly extensions?: Bag;
  /**
   * How long results of 2026-07-28 may be kept, by method. Default: `server/discover` 5 minutes and by anybody, lists that do not
   * follow the state 1 minute by one caller, all else not at all.
   */
  readonly cacheHints?: Readonly<Partial<Record<Kept, CacheHint>>>;
  /** Whether each result of 2026-07-28 names this server in its `_meta`. Default true; false keeps its name and version to itself. */
  readonly serverInfoInResults?: boolean;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /**
   * Default: dynamic lists for legacy clients, gated for those of 2026-07-28. `modern: "dynamic"` holds where the request carries a
   * principal: lists may vary by authorization and by nothing else.
   */
  readonly posture?: { readonly legacy?: Posture; readonly modern?: Posture };
  /** Entries on one page of a list. Default: all. A page ends before it has more than 4 Mi characters, too. */
  readonly pageSize?: number;
  /**
   * For each principal, else each session, else each peer. Default: 20,000 a second for local peers, 200 for others,
   * bursts of ten times that. `false`: no limit.
   */
  readonly rateLimit?: Rate | false;
  /** At least 32 bytes that sign `requestState`. Default: random, so a state does not outlive the process; with `peers` it has to be given. */
  readonly requestStateKey?: Uint8Array;
  /** A legacy session over HTTP ends after this long without a request. Default 24 hours. */
  readonly sessionTtlMs?: number;
  /**
   * Whether calls of tools with `task` may become tasks. They are kept by this process: where a client may reach another, which knows
   * nothing of them, they have to be off, and it waits. Default: on, with `peers` and `sharedSessions` off.
   */
  readonly tasks?: boolean;
  /** Where tasks are kept, so that what became of them is known after a restart. Absent: in this process's memory alone. */
  readonly taskStore?: TaskStore;
  /** A task is kept this long after its end. Default 1 hour. */
  readonly taskTtlMs?: number;
  /** Results carry `_meta["troupe/receipt"]`. Default false. */
  readonly receipts?: boolean;
  /** Codes, ids and sizes; never arguments or state. */
  readonly log?: Log;
  /** Looks on while requests are served: `openTelemetry()` of `troupe/telemetry`, say. */
  readonly observer?: Observer;
  readonly limits?: Partial<Limits>;
}
