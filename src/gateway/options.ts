import { fromHex } from "../platform/index.ts";
import {
  ABOVE_ZERO,
  type Bag,
  boundsOf,
  checkOptions,
  type Clock,
  type Entropy,
  FUNCTION,
  isBag,
  type Log,
  oneOf,
  type OptionRule,
  type OptionTable,
  type Peers,
  type Rate,
  RATE,
  type SessionStore,
  type Source,
  type StreamStore,
  systemClock,
  systemEntropy,
  TroupeError,
} from "../contract/index.ts";
import { checkNeeded } from "../contract/internal.ts";
import type { CacheHint, Kept } from "./cache-hints.ts";
import { unreachedPeers } from "./legacy/unreached.ts";
import { noSessions, noStreams } from "./no-sessions.ts";
import { type Profile, type ProfileName, PROFILES, type UnknownSession } from "./profile.ts";
import type { Posture } from "../source/index.ts";

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
  /** Messages in one batch. Default 64. */
  readonly batch: number;
  /** Requests of one session or connection that run at once. Default 1000. */
  readonly inFlight: number;
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
  /** How long a client may take to answer a request of the server. Default 10 minutes. */
  readonly answerMs: number;
  /** Of one such answer, in characters of its JSON. Default 256 Ki. */
  readonly answerLength: number;
  /** Rounds of asking within one call. Default 8. */
  readonly rounds: number;
  /** How long a `requestState` holds. Default 10 minutes. */
  readonly stateMs: number;
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
  /** How long results of 2026-07-28 may be kept, by method. */
  readonly cacheHints?: Readonly<Partial<Record<Kept, CacheHint>>>;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** `modern: "dynamic"` holds where the request carries a principal: lists may vary by authorization and by nothing else. */
  readonly posture?: { readonly legacy?: Posture; readonly modern?: Posture };
  /** Entries on one page of a list. Default 200, with the profile `apptheory` all. */
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
  /** Results carry `_meta["troupe/receipt"]`. Default false. */
  readonly receipts?: boolean;
  /** Codes, ids and sizes; never arguments or state. */
  readonly log?: Log;
  readonly limits?: Partial<Limits>;
}

/** The options with nothing left open. */
export interface Settings {
  readonly source: Source;
  readonly info: ServerInfo;
  readonly instructions: () => string | undefined;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly peers: Peers | undefined;
  /** What this process is called in the names of what it runs. */
  readonly self: string;
  /** Those peers are never reached: what they did, the stores say. */
  readonly unreached: boolean;
  readonly profile: Profile;
  readonly unknownSession: UnknownSession;
  readonly extensions: Bag;
  readonly cacheHints: Readonly<Partial<Record<Kept, CacheHint>>>;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly legacyPosture: Posture;
  readonly modernPosture: Posture;
  readonly pageSize: number;
  readonly rateLimit: Rate | false | undefined;
  readonly requestStateKey: Uint8Array;
  readonly sessionTtlMs: number;
  readonly receipts: boolean;
  readonly log: Log;
  readonly limits: Limits;
}

const DEFAULT_LIMITS: Limits = {
  messageBytes: 4 * 1_048_576,
  depth: 64,
  batch: 64,
  inFlight: 1_000,
  subscriptions: 1_000,
  subscriptionLength: 65_536,
  listensPerConnection: 64,
  listens: 100_000,
  liveSessions: 100_000,
  answerMs: 10 * 60_000,
  answerLength: 262_144,
  rounds: 8,
  stateMs: 10 * 60_000,
};

const POSTURE = oneOf("dynamic", "gated");

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";

const INFO: OptionRule = [
  "{ name, version }, both texts that are not empty",
  (value) => isBag(value) && isText(value["name"]) && isText(value["version"]),
];

const OPTIONS: OptionTable<GatewayOptions> = {
  source: true,
  info: INFO,
  instructions: true,
  sessions: true,
  streams: true,
  peers: true,
  sharedSessions: true,
  profile: oneOf(...Object.keys(PROFILES)),
  unknownSession: oneOf("reject", "reissue", "adopt"),
  extensions: true,
  cacheHints: true,
  clock: true,
  entropy: true,
  posture: [
    '{ legacy, modern }, each "dynamic" or "gated"',
    (value) => isBag(value) && Object.entries(value).every(([era, one]) => (era === "legacy" || era === "modern") && POSTURE[1](one)),
  ],
  pageSize: ABOVE_ZERO,
  rateLimit: RATE,
  requestStateKey: ["at least 32 bytes", (value) => value instanceof Uint8Array && value.byteLength >= 32],
  sessionTtlMs: ABOVE_ZERO,
  receipts: true,
  log: FUNCTION,
  limits: boundsOf(DEFAULT_LIMITS),
};

/** A test server's wires carry it for whoever makes a server of registries; a gateway has no handlers of its own. */
const OF_SERVERS: readonly string[] = ["onError"];

/** Throws `DOOR_OPTION`. */
export function settle(options: GatewayOptions): Settings {
  checkOptions("createGateway", options, OPTIONS, OF_SERVERS);
  checkNeeded("info", options.info, INFO);
  const entropy = options.entropy ?? systemEntropy;
  const key = options.requestStateKey ?? fromHex(entropy.hex(32));
  if (options.peers !== undefined && options.requestStateKey === undefined)
    throw new TroupeError("DOOR_OPTION", "Several nodes need one requestStateKey: give all of them the same.");
  const profile = PROFILES[options.profile ?? "strict"];
  const self = options.peers?.self ?? entropy.hex(8);
  return {
    source: options.source,
    info: options.info,
    instructions() {
      const said = [options.instructions, options.source.instructions].filter((text) => text !== undefined && text !== "");
      return said.length === 0 ? undefined : said.join("\n\n");
    },
    sessions: options.sessions ?? noSessions,
    streams: options.streams ?? noStreams,
    peers: options.peers ?? (options.sharedSessions === true ? unreachedPeers(self) : undefined),
    self,
    unreached: options.peers === undefined && options.sharedSessions === true,
    profile,
    unknownSession: options.unknownSession ?? profile.unknownSession,
    extensions: Object.fromEntries(Object.entries(options.extensions ?? {}).filter(([, settings]) => settings !== null)),
    cacheHints: options.cacheHints ?? {},
    clock: options.clock ?? systemClock,
    entropy,
    legacyPosture: options.posture?.legacy ?? "dynamic",
    modernPosture: options.posture?.modern ?? "gated",
    pageSize: Math.max(1, Math.floor(options.pageSize ?? profile.pageSize)),
    rateLimit: options.rateLimit,
    requestStateKey: key,
    sessionTtlMs: options.sessionTtlMs ?? 24 * 3_600_000,
    receipts: options.receipts ?? false,
    log: options.log ?? (() => undefined),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
  };
}
