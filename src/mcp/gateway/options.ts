// Owns: a gateway's options, their check, and their defaults. Does not own: what the dialects differ in (dialects.ts).
import {
  ABOVE_ZERO,
  type JsonObject,
  boundsOf,
  checkOptions,
  type Clock,
  type Entropy,
  FUNCTION,
  isJsonObject,
  type Log,
  type Observer,
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
  type TaskStore,
  TroupeError,
} from "../../core/contract/index.ts";
import { checkNeeded, omitUndefined, rateLimitedLog, VALUE_LIMITS } from "../../core/contract/internal.ts";
import { fromHex } from "../../core/platform/index.ts";
import type { ListMode } from "../source/index.ts";
import { type Dialect, DIALECTS, type ProfileName, type UnknownSession } from "./dialects.ts";
import { TASKS } from "./revision.ts";

/** The server's name: MCP's `Implementation`. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly JsonObject[];
}

/** Bounds of what a client may send, or make the server hold in memory. */
export interface Limits {
  /** Size of one message in bytes (text: in UTF-16 units). Default 4 MiB. */
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
   * Approximate memory of the messages that are being worked on, of all clients together, in bytes: their text, and 32 for each of their
   * values. Messages below 4 KiB do not count. One caller may use half of it. Default 256 MiB.
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
   * Sessions of one principal, or of one peer without a principal. With more, the one that has been unused for longest ends. Local peers
   * without a principal have no such limit, since they all count as one. Default 10,000.
   */
  readonly sessionsPerCaller: number;
  /** How long a client may take to answer a request of the server. Default 10 minutes. */
  readonly answerMs: number;
  /** Length of one such answer, in characters of its JSON. Default 256 Ki. */
  readonly answerLength: number;
  /** Rounds of questions within one call. Default 8. */
  readonly rounds: number;
  /** How long a `requestState` is valid. Default 10 minutes. */
  readonly stateMs: number;
  /** Tasks in all, including those that are done. One principal may have half of them, of which `inFlight` may run at once. Default 10,000. */
  readonly tasks: number;
}

/** How long a result may be cached, and whether for one caller or for all. */
export interface CacheHint {
  /** Milliseconds; a negative number counts as 0. Default 0. */
  readonly ttlMs?: number;
  /** `public` only where the result is the same for every caller. Default `private`. */
  readonly cacheScope?: "public" | "private";
}

/** Methods whose results carry a cache hint. */
export type CacheableMethod =
  | "server/discover"
  | "tools/list"
  | "resources/list"
  | "resources/templates/list"
  | "prompts/list"
  | "resources/read";

/** What `createGateway` takes. */
export interface GatewayOptions {
  readonly source: Source;
  readonly info: ServerInfo;
  /** Precede those of the source. */
  readonly instructions?: string;
  /** Stores legacy sessions over HTTP. Absent: there are none; connections (stdio, TCP, in a page) do not need it. */
  readonly sessions?: SessionStore;
  /** Stores what such sessions resume replies from. */
  readonly streams?: StreamStore;
  /**
   * The other nodes that serve the same sessions from the same two stores: a client may send each request to any of them. Limits apply
   * to each node by itself. Not disposed with the gateway. Absent: this is the only node.
   */
  readonly peers?: Peers;
  /**
   * Other processes serve the same sessions from the same two stores, and cannot reach each other: the row of a session is read from the
   * store for each of its requests. Default false; not needed with `peers`.
   */
  readonly sharedSessions?: boolean;
  /** The dialect of the protocol. Default `strict`. */
  readonly profile?: ProfileName;
  /**
   * What to do with a POST over HTTP whose session is unknown, or another principal's: `reject` answers 404, `reissue` begins a new
   * session and names it in the answer, `adopt` begins one under the client's id. Default: the profile's; `reject` in strict.
   */
  readonly unknownSession?: UnknownSession;
  /** The server's extensions of MCP and their settings, for clients of 2026-07-28. Null: it does not have that one. */
  readonly extensions?: JsonObject;
  /**
   * How long results of 2026-07-28 may be cached, by method. Default: `server/discover` 5 minutes for all callers, lists that do not
   * follow the state 1 minute for one caller, everything else not at all.
   */
  readonly cacheHints?: Readonly<Partial<Record<CacheableMethod, CacheHint>>>;
  /** Whether each result of 2026-07-28 names this server in its `_meta`. Default true; false does not disclose its name and version. */
  readonly serverInfoInResults?: boolean;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /**
   * Default: dynamic lists for legacy clients, static ones for those of 2026-07-28. `modern: "dynamic"` applies to requests with a
   * principal only: lists may vary by authorization and by nothing else.
   */
  readonly listMode?: { readonly legacy?: ListMode; readonly modern?: ListMode };
  /** Entries on one page of a list. Default: all. A page also ends before it has more than 4 Mi characters. */
  readonly pageSize?: number;
  /**
   * The rate limit of each principal, or else each session, or else each peer. Default: 20,000 a second for local peers, 200 for others,
   * and bursts of ten times that. `false`: no limit.
   */
  readonly rateLimit?: Rate | false;
  /** At least 32 bytes that sign `requestState`. Default: random, so that a state does not outlive the process; required with `peers`. */
  readonly requestStateKey?: Uint8Array;
  /** A legacy session over HTTP ends after this long without a request. Default 24 hours. */
  readonly sessionTtlMs?: number;
  /**
   * Whether calls of tools with `task` may become tasks. They belong to this process: turn them off where a client may reach another one,
   * which does not know them; it then waits for its call. Default: true, but false with `peers` or `sharedSessions`.
   */
  readonly tasks?: boolean;
  /** Stores tasks, so that their outcome is known after a restart. Absent: they are in this process's memory only. */
  readonly taskStore?: TaskStore;
  /** How long a task is available after its end. Default 1 hour. */
  readonly taskTtlMs?: number;
  /** Results carry `_meta["troupe/receipt"]`. Default false. */
  readonly receipts?: boolean;
  /** Codes, ids and sizes; never arguments or state. */
  readonly log?: Log;
  /** Observes the requests, as `openTelemetry()` of `troupe/telemetry` does. */
  readonly observer?: Observer;
  readonly limits?: Partial<Limits>;
}

type Changed = "instructions" | "peers" | "sharedSessions" | "profile" | "listMode" | "rateLimit" | "taskStore" | "observer" | "limits";

/** The options with their defaults. */
export interface Settings extends Required<Omit<GatewayOptions, Changed>>, Pick<GatewayOptions, "rateLimit" | "taskStore" | "observer"> {
  readonly instructions: () => string | undefined;
  readonly peers: Peers | undefined;
  /** The name of this process in the names of what it runs. */
  readonly self: string;
  /** The peers cannot be reached: what they did is only in the stores. */
  readonly isolated: boolean;
  readonly dialect: Dialect;
  readonly legacyListMode: ListMode;
  readonly modernListMode: ListMode;
  readonly limits: Limits;
}

const DEFAULT_LIMITS: Limits = {
  messageBytes: 4 * 1_048_576,
  depth: 64,
  ...VALUE_LIMITS,
  batch: 64,
  inFlight: 1_000,
  heldBytes: 256 * 1_048_576,
  subscriptions: 1_000,
  subscriptionLength: 65_536,
  listensPerConnection: 64,
  listens: 100_000,
  liveSessions: 100_000,
  sessionsPerCaller: 10_000,
  answerMs: 10 * 60_000,
  answerLength: 262_144,
  rounds: 8,
  stateMs: 10 * 60_000,
  tasks: 10_000,
};

const FLAG: OptionRule = ["true or false", (value) => typeof value === "boolean"];

const LIST_MODE = oneOf("dynamic", "static");

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";

const INFO: OptionRule = [
  "{ name, version }, both texts that are not empty",
  (value) => isJsonObject(value) && isText(value["name"]) && isText(value["version"]),
];

const OPTIONS: OptionTable<GatewayOptions> = {
  source: true,
  info: INFO,
  instructions: true,
  sessions: true,
  streams: true,
  peers: true,
  sharedSessions: true,
  profile: oneOf(...Object.keys(DIALECTS)),
  unknownSession: oneOf("reject", "reissue", "adopt"),
  extensions: true,
  cacheHints: true,
  serverInfoInResults: FLAG,
  clock: true,
  entropy: true,
  listMode: [
    '{ legacy, modern }, each "dynamic" or "static"',
    (value) =>
      isJsonObject(value) && Object.entries(value).every(([era, one]) => (era === "legacy" || era === "modern") && LIST_MODE[1](one)),
  ],
  pageSize: ABOVE_ZERO,
  rateLimit: RATE,
  requestStateKey: ["at least 32 bytes", (value) => value instanceof Uint8Array && value.byteLength >= 32],
  sessionTtlMs: ABOVE_ZERO,
  tasks: FLAG,
  taskStore: true,
  taskTtlMs: ABOVE_ZERO,
  receipts: true,
  log: FUNCTION,
  observer: true,
  limits: boundsOf(DEFAULT_LIMITS),
};

/** An option of servers, which may be passed on with the others; a gateway has no handlers of its own. */
const SERVER_OPTIONS: readonly string[] = ["onError"];

/** Throws `BAD_OPTION`. */
export function settle(options: GatewayOptions): Settings {
  checkOptions("createGateway", options, OPTIONS, SERVER_OPTIONS);
  checkNeeded("info", options.info, INFO);
  const entropy = options.entropy ?? systemEntropy;
  const clock = options.clock ?? systemClock;
  if (options.peers !== undefined && options.requestStateKey === undefined)
    throw new TroupeError("BAD_OPTION", "Several nodes need one requestStateKey: give all of them the same.");
  const dialect = DIALECTS[options.profile ?? "strict"];
  const self = options.peers?.self ?? entropy.hex(8);
  const peers = options.peers ?? (options.sharedSessions === true ? isolatedPeers(self) : undefined);
  return {
    source: options.source,
    info: options.info,
    instructions() {
      const texts = [options.instructions, options.source.instructions].filter((text) => text !== undefined && text !== "");
      return texts.length === 0 ? undefined : texts.join("\n\n");
    },
    sessions: options.sessions ?? noSessions,
    streams: options.streams ?? noStreams,
    peers,
    self,
    isolated: options.peers === undefined && options.sharedSessions === true,
    dialect,
    unknownSession: options.unknownSession ?? dialect.unknownSession,
    extensions: Object.fromEntries(Object.entries(options.extensions ?? {}).filter(([, settings]) => settings !== null)),
    cacheHints: options.cacheHints ?? {},
    serverInfoInResults: options.serverInfoInResults ?? true,
    clock,
    entropy,
    legacyListMode: options.listMode?.legacy ?? "dynamic",
    modernListMode: options.listMode?.modern ?? "static",
    pageSize: Math.max(1, Math.floor(options.pageSize ?? Number.MAX_SAFE_INTEGER)),
    ...omitUndefined({ rateLimit: options.rateLimit, taskStore: options.taskStore, observer: options.observer }),
    requestStateKey: options.requestStateKey ?? fromHex(entropy.hex(32)),
    sessionTtlMs: options.sessionTtlMs ?? 24 * 3_600_000,
    taskTtlMs: options.taskTtlMs ?? 3_600_000,
    tasks: (options.tasks ?? peers === undefined) && !dialect.refusesTasks && options.extensions?.[TASKS] !== null,
    receipts: options.receipts ?? false,
    log: rateLimitedLog(options.log, clock) ?? (() => undefined),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
  };
}

const none = (): Promise<never> =>
  Promise.reject(new TroupeError("BAD_OPTION", "This server keeps no sessions: give the gateway `sessions` and `streams`."));
const nothing = async (): Promise<void> => undefined;

/** For a gateway that serves connections only. */
const noSessions: SessionStore = {
  put: none,
  get: async () => undefined,
  touch: nothing,
  delete: nothing,
  expire: async () => [],
  [Symbol.asyncDispose]: nothing,
};

const noStreams: StreamStore = { append: none, after: async () => undefined, delete: nothing, [Symbol.asyncDispose]: nothing };

const undo = (): void => undefined;

/** For nodes that share the two stores and cannot reach each other: nothing is sent, and there are no answers. */
function isolatedPeers(self: string): Peers {
  return {
    self,
    tell: () => undefined,
    ask: async () => undefined,
    on: () => undo,
    onGap: () => undo,
    async [Symbol.asyncDispose]() {},
  };
}
