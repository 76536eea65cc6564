import { fromHex } from "../../core/platform/index.ts";
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
import { checkNeeded, rateLimitedLog, VALUE_LIMITS } from "../../core/contract/internal.ts";
import type { Posture } from "../source/index.ts";
import type { CacheHint, Kept } from "./cache-hints.ts";
import type { GatewayOptions, Limits, ServerInfo } from "./options.ts";
import { TASKS } from "./modern/tasks.ts";
import { type Profile, PROFILES, type UnknownSession } from "./profile.ts";

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
  readonly serverInfoInResults: boolean;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly legacyPosture: Posture;
  readonly modernPosture: Posture;
  readonly pageSize: number;
  readonly rateLimit: Rate | false | undefined;
  readonly requestStateKey: Uint8Array;
  readonly sessionTtlMs: number;
  readonly taskTtlMs: number;
  readonly taskStore: TaskStore | undefined;
  /** Calls may become tasks. Not where another process may be asked after them, which knows nothing of this one's. */
  readonly tasks: boolean;
  readonly receipts: boolean;
  readonly log: Log;
  readonly observer: Observer | undefined;
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
  serverInfoInResults: FLAG,
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
  tasks: FLAG,
  taskStore: true,
  taskTtlMs: ABOVE_ZERO,
  receipts: true,
  log: FUNCTION,
  observer: true,
  limits: boundsOf(DEFAULT_LIMITS),
};

/** A test server's wires carry it for whoever makes a server of registries; a gateway has no handlers of its own. */
const OF_SERVERS: readonly string[] = ["onError"];

/** Throws `DOOR_OPTION`. */
export function settle(options: GatewayOptions): Settings {
  checkOptions("createGateway", options, OPTIONS, OF_SERVERS);
  checkNeeded("info", options.info, INFO);
  const entropy = options.entropy ?? systemEntropy;
  const clock = options.clock ?? systemClock;
  const key = options.requestStateKey ?? fromHex(entropy.hex(32));
  if (options.peers !== undefined && options.requestStateKey === undefined)
    throw new TroupeError("DOOR_OPTION", "Several nodes need one requestStateKey: give all of them the same.");
  const profile = PROFILES[options.profile ?? "strict"];
  const self = options.peers?.self ?? entropy.hex(8);
  const peers = options.peers ?? (options.sharedSessions === true ? unreachedPeers(self) : undefined);
  return {
    source: options.source,
    info: options.info,
    instructions() {
      const said = [options.instructions, options.source.instructions].filter((text) => text !== undefined && text !== "");
      return said.length === 0 ? undefined : said.join("\n\n");
    },
    sessions: options.sessions ?? noSessions,
    streams: options.streams ?? noStreams,
    peers,
    self,
    unreached: options.peers === undefined && options.sharedSessions === true,
    profile,
    unknownSession: options.unknownSession ?? profile.unknownSession,
    extensions: Object.fromEntries(Object.entries(options.extensions ?? {}).filter(([, settings]) => settings !== null)),
    cacheHints: options.cacheHints ?? {},
    serverInfoInResults: options.serverInfoInResults ?? true,
    clock,
    entropy,
    legacyPosture: options.posture?.legacy ?? "dynamic",
    modernPosture: options.posture?.modern ?? "gated",
    pageSize: Math.max(1, Math.floor(options.pageSize ?? Number.MAX_SAFE_INTEGER)),
    rateLimit: options.rateLimit,
    requestStateKey: key,
    sessionTtlMs: options.sessionTtlMs ?? 24 * 3_600_000,
    taskTtlMs: options.taskTtlMs ?? 3_600_000,
    taskStore: options.taskStore,
    tasks: (options.tasks ?? peers === undefined) && !profile.refusesTasks && options.extensions?.[TASKS] !== null,
    receipts: options.receipts ?? false,
    log: rateLimitedLog(options.log, clock) ?? (() => undefined),
    observer: options.observer,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
  };
}

const none = (): Promise<never> =>
  Promise.reject(new TroupeError("DOOR_OPTION", "This server keeps no sessions: give the gateway `sessions` and `streams`."));
const nothing = async (): Promise<void> => undefined;

/** Of a gateway that serves connections only. */
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

/** Nodes that share the two stores and cannot reach each other: none is told anything, and none answers. */
function unreachedPeers(self: string): Peers {
  return {
    self,
    tell: () => undefined,
    ask: async () => undefined,
    on: () => undo,
    onGap: () => undo,
    async [Symbol.asyncDispose]() {},
  };
}
