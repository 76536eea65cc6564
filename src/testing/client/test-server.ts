// Owns: `testServer`: a server in the test process on a simulated clock, its ids and clients. Does not own: its clients (client.ts).
import { type AgenticService, fromAgenticService, isAgenticService } from "../../bridges/agentic/index.ts";
import {
  checkOptions,
  type OptionTable,
  type Behaviour,
  type Clock,
  type Closable,
  type Engine,
  type Entropy,
  type Index,
  type SessionStore,
  type Source,
  type Store,
  type StreamStore,
  TroupeError,
} from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memorySessionStore, memoryStore, memoryStreamStore } from "../../core/store/index.ts";
import { createGateway, type GatewayOptions } from "../../mcp/gateway/index.ts";
import { cast } from "../../mcp/source/index.ts";
import { settle, SimulatedClock, SimulatedEntropy } from "../simulated-clock.ts";
import { TestClient } from "./client.ts";
import type { TestClientOptions } from "./conversation.ts";
import type { Exchanging } from "./http-call.ts";
import { type FaultOrigin, ServerFault } from "./server-faults.ts";
import { StalledCalls } from "./stalled-calls.ts";
import type { Kinds, ToolCalls } from "./tool-calls.ts";

/** Options that make a server deterministic. Pass them on to it. */
export interface Wires {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly rateLimit: false;
  /** Fills `faults` with what handlers throw. Your own `onError`, given after the wires, replaces it. */
  readonly onError: (error: unknown) => void;
}

/** A server that has a gateway, as `createServer` returns it. */
export type Holding = { readonly gateway: Exchanging } & Partial<AsyncDisposable>;

// About a hundred thousand turns, more than a test plausibly has at one moment.
const MOST_ROUNDS = 100;
// A server that is being closed waits a while for its calls, and simulated time does not pass by itself.
const GRACE_MS = 60_000;

/**
 * Kinds of actors, for which an engine in memory is made; a source; an AgenticService; a function that makes a server with these wires
 * as options of `createServer`; or a finished server, with its own clock and ids.
 */
export type Served =
  | readonly Behaviour[]
  | Source
  | AgenticService
  | Exchanging
  | Holding
  | ((wires: Wires) => Exchanging | Holding | Promise<Exchanging | Holding>);

/** Options of `testServer`. */
export interface TestServerOptions extends Partial<Omit<GatewayOptions, "source" | "clock" | "entropy">> {
  /** The seed of ids and randomness. Default 1. */
  readonly seed?: number;
  /** The time at the start, in milliseconds since 1970. Default 2024-01-01. */
  readonly now?: number;
  /** Indexes over the contents of actors, if kinds are served. */
  readonly indexes?: readonly Index[];
}

const OPTIONS: OptionTable<TestServerOptions> = {
  seed: true,
  now: true,
  indexes: true,
  info: true,
  instructions: true,
  sessions: true,
  streams: true,
  peers: true,
  sharedSessions: true,
  profile: true,
  unknownSession: true,
  extensions: true,
  cacheHints: true,
  serverInfoInResults: true,
  listMode: true,
  pageSize: true,
  rateLimit: true,
  requestStateKey: true,
  sessionTtlMs: true,
  tasks: true,
  taskStore: true,
  taskTtlMs: true,
  receipts: true,
  log: true,
  observer: true,
  limits: true,
};

// Each kind of server has one of these members; `act` is that of a source.
const SERVED = ["exchange", "gateway", "act"] as const;
const NOT_SERVED =
  "There is nothing here to test: give testServer a list of kinds, a source, an AgenticService, a function that makes a server, a gateway or what has one, or remoteServer(url).";

/** A server in the test's process, on a simulated clock: two runs of a test give the same bytes. */
export interface TestServer<Tools = unknown> extends Closable {
  readonly exchange: Exchanging["exchange"];
  readonly remote: boolean;
  readonly clock: SimulatedClock;
  /** The actors' randomness. */
  readonly entropy: SimulatedEntropy;
  /** The ids of sessions and requests: `server.ids.queue("a", "b")`. */
  readonly ids: TestIds;
  /** The actors' engine, if kinds are served. */
  readonly engine: Engine | undefined;
  /** Faults inside the server, in order, with the line of the author's code. Clients never see them. */
  readonly faults: readonly ServerFault[];
  /** Another client, closed with the server. Its `tools` are typed from the served kinds, or from `kinds`. */
  client<const K extends Kinds>(options: TestClientOptions & { readonly kinds: K }): TestClient<ToolCalls<K>>;
  client(options?: TestClientOptions): TestClient<Tools>;
}

/**
 * Starts a server in this process, from kinds, a source, a service or your own server. Throws if there is nothing to serve.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { assertToolResult, testServer } from "troupe/testing";
 * import * as z from "zod";
 *
 * const door = actor("door", {
 *   description: "A door.",
 *   state: z.object({ open: z.boolean().default(false) }),
 *   tools: {
 *     open: {
 *       description: "Open it.",
 *       enabled: ({ state }) => !state.open || "It is already open.",
 *       run({ state }) {
 *         state.open = true;
 *         return "It creaks open.";
 *       },
 *     },
 *   },
 * });
 * await using server = await testServer([door]);
 * const client = server.client();
 * assertToolResult(await client.callTool("open"), "It creaks open.");
 * ```
 */
export async function testServer<const K extends Kinds>(
  served: K,
  options?: TestServerOptions,
): Promise<TestServer<ToolCalls<K>> & { readonly engine: LocalEngine }>;
export async function testServer(served: Served, options?: TestServerOptions): Promise<TestServer>;
export async function testServer(served: Served, options: TestServerOptions = {}): Promise<TestServer> {
  checkOptions("testServer", options, OPTIONS);
  if (!isServed(served)) throw new Error(NOT_SERVED);
  refuseUnused(served, options);
  const { seed, now, indexes = [], ...gatewayOptions } = options;
  let changes = 0;
  const clock = new SimulatedClock(now, () => atRest(() => changes));
  const entropy = new SimulatedEntropy(seed);
  // Separate from the actors' randomness, so that queued or reset ids never name an actor's message.
  const ids = new TestIds((seed ?? 1) + 1);
  const faults: ServerFault[] = [];
  await using building = new AsyncDisposableStack();
  const sessions = options.sessions ?? building.use(memorySessionStore());
  const streams = options.streams ?? building.use(memoryStreamStore());
  const onFault = (error: unknown, place?: FaultOrigin): void => void faults.push(new ServerFault(error, place));
  const onError = (error: unknown): void => onFault(error);
  const wires: Wires = { clock, entropy: ids, sessions, streams, rateLimit: false, onError };
  const over = (source: Source): Exchanging =>
    building.use(createGateway({ info: { name: "test-server", version: "1.0.0" }, ...wires, ...gatewayOptions, source }));
  let engine: LocalEngine | undefined;
  let store: Store | undefined;
  const make = async (): Promise<Exchanging> => {
    if (typeof served === "function") {
      const own = await served(wires);
      if (!isServed(own)) throw new Error(`What the function made is no server. ${NOT_SERVED}`);
      building.defer(async () => void (await Promise.all([own[Symbol.asyncDispose]?.(), clock.advance(GRACE_MS)])));
      return exchanging(own);
    }
    if (isAgenticService(served)) return over(building.use(fromAgenticService(served, { clock, onFault: onError })));
    if (!isKinds(served)) return isFinished(served) ? exchanging(served) : over(served);
    const actors = building.use(memoryStore({ clock }));
    store = actors;
    engine = building.use(await LocalEngine.start({ kinds: served, indexes, clock, entropy, store: actors, onFault }));
    for (const { kind } of served) engine.watch(`${kind}/*`, () => (changes += 1));
    const secret = Uint8Array.from(Buffer.from(entropy.hex(32), "hex"));
    return over(
      cast({ engine, kinds: served, indexes, clock, entropy, handles: { secret }, onFault: (error, actor) => onFault(error, { actor }) }),
    );
  };
  const made = await make();
  const stalled = made.remote === true ? undefined : new StalledCalls({ clock, store });
  const clients: TestClient[] = [];
  const everything = building.move();
  let closed: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    for (const client of clients) await client[Symbol.asyncDispose]();
    await everything.disposeAsync();
  };
  const close = (): Promise<void> => (closed ??= end());
  return {
    clock,
    entropy,
    ids,
    engine,
    faults,
    exchange: (exchange) => made.exchange(exchange),
    remote: made.remote === true,
    client(how?: TestClientOptions) {
      const client = new TestClient<never>(made, how, { stalled, faults });
      clients.push(client);
      return client;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Messages between actors are delivered asynchronously and may cause more: waits until nothing changes anymore. */
async function atRest(changes: () => number): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const before = changes();
    await settle();
    if (changes() === before) return;
  }
  throw new Error("The actors do not come to rest: they go on sending to each other while no time passes. Let a wake send what repeats.");
}

const isServed = (served: unknown): boolean =>
  typeof served === "function" ||
  (isObject(served) && (Array.isArray(served) || isAgenticService(served) || SERVED.some((name) => name in served)));

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const isKinds = (served: Served): served is readonly Behaviour[] => Array.isArray(served);

const isFinished = (served: Source | Exchanging | Holding): served is Exchanging | Holding => "exchange" in served || "gateway" in served;

/** Options that would be ignored. Throws `BAD_OPTION`. */
function refuseUnused(served: Served, options: TestServerOptions): void {
  const [isUsed, where] = usedBy(served);
  const unused = Object.entries(options).find(([name, value]) => value !== undefined && !isUsed(name));
  if (unused !== undefined) throw new TroupeError("BAD_OPTION", `testServer has no use for ${unused[0]} here: ${where}.`);
}

function usedBy(served: Served): readonly [isUsed: (option: string) => boolean, where: string] {
  if (typeof served === "function")
    return [(name) => ["seed", "now", "sessions", "streams"].includes(name), "give it to the server that the function makes"];
  if (isKinds(served)) return [() => true, ""];
  if (!isAgenticService(served) && isFinished(served))
    return [(name) => ["seed", "now"].includes(name), "give it to the server when you make it"];
  return [(name) => name !== "indexes", "only kinds have indexes"];
}

const exchanging = (server: Exchanging | Holding): Exchanging => ("gateway" in server ? server.gateway : server);

// Characters that need no escape in a header or a JSON string, since a session's id appears in both.
const VALID_ID = /^[\x21-\x7e]{1,128}$/;
const ID_BYTES = 16;

/** The ids that a server under test gives to sessions and requests: those the test queued, otherwise a deterministic sequence. */
export class TestIds implements Entropy {
  readonly #seed: number;
  readonly #queued: string[] = [];
  #drawn: SimulatedEntropy;

  constructor(seed: number) {
    this.#seed = seed;
    this.#drawn = new SimulatedEntropy(seed);
  }

  /** The next ids, in that order. Throws if a header could not contain one. */
  queue(...ids: readonly string[]): void {
    const wrong = ids.find((id) => !VALID_ID.test(id));
    if (wrong !== undefined)
      throw new Error(`${JSON.stringify(wrong)} is no id a client could send back: queue 1 to 128 visible ASCII characters.`);
    this.#queued.push(...ids);
  }

  /** Clears the queue and restarts the sequence. Ids in use are repeated, so call it only before there are sessions. */
  reset(): void {
    this.#queued.length = 0;
    this.#drawn = new SimulatedEntropy(this.#seed);
  }

  // Keys and marks have other lengths: a queued name would be no secret.
  hex(bytes: number): string {
    return (bytes === ID_BYTES ? this.#queued.shift() : undefined) ?? this.#drawn.hex(bytes);
  }

  uuid(): string {
    return this.#queued.shift() ?? this.#drawn.uuid();
  }
}
