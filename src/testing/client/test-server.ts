import { type AgenticService, fromAgenticService, isAgenticService } from "../../bridges/agentic/index.ts";
import type {
  Closable,
  Behaviour,
  Clock,
  Engine,
  Entropy,
  Index,
  SessionStore,
  Source,
  Store,
  StreamStore,
} from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { createGateway, type GatewayOptions } from "../../mcp/gateway/index.ts";
import { cast } from "../../mcp/source/index.ts";
import { memorySessionStore, memoryStore, memoryStreamStore } from "../../core/store/index.ts";
import { settle, SimulatedClock, SimulatedEntropy } from "../simulated-clock.ts";
import type { TestClientOptions } from "./conversation.ts";
import { TestClient } from "./client.ts";
import type { Exchanging } from "./http-call.ts";
import { type FaultOrigin, ServerFault } from "./server-faults.ts";
import { StalledCalls } from "./stalled-calls.ts";
import type { Kinds, ToolCalls } from "./tool-calls.ts";

/** What makes a server the same in every run: give it these. */
export interface Wires {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly rateLimit: false;
  /** Fills `faults` with what handlers throw; an `onError` of your own, given after the wires, hears it instead. */
  readonly onError: (error: unknown) => void;
}

/** What has a gateway, as `createServer` makes it. */
export type Holding = { readonly gateway: Exchanging } & Partial<AsyncDisposable>;

// A hundred thousand turns: more than any test means to have at one moment.
const MOST_ROUNDS = 100;
// A server that is closed lets its calls end for a while, and the clock stands still.
const GRACE_MS = 60_000;

/**
 * Kinds of actors, for which an engine in memory is made; a source; an AgenticService; a function that makes a server of these
 * wires, as `createServer` takes them among its options; or a server as it is, with whatever clock and ids it has.
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
  /** Of ids and randomness. Default 1. */
  readonly seed?: number;
  /** Where the clock stands, ms since 1970. Default 2024-01-01. */
  readonly now?: number;
  /** Indexes over the contents of actors, where kinds are served. */
  readonly indexes?: readonly Index[];
}

// By one of these each is known; `act` is a source's.
const SERVED = ["exchange", "gateway", "act"] as const;
const NOT_SERVED =
  "There is nothing here to test: give testServer a list of kinds, a source, an AgenticService, a function that makes a server, a gateway or what has one, or remoteServer(url).";

/** A server in the test's own process, on a clock that stands still: the same test twice gives the same bytes. */
export interface TestServer<Tools = unknown> extends Closable {
  readonly exchange: Exchanging["exchange"];
  readonly remote: boolean;
  readonly clock: SimulatedClock;
  /** Randomness of the actors. */
  readonly entropy: SimulatedEntropy;
  /** By which the server names its sessions and requests: `server.ids.queue("a", "b")`. */
  readonly ids: TestIds;
  /** Of the actors, where kinds are served. */
  readonly engine: Engine | undefined;
  /** What broke inside, in order, with the author's own line: no client is shown it. */
  readonly faults: readonly ServerFault[];
  /** Another client, closed with the server. Its `tools` are those of the kinds served, or of `kinds`. */
  client<const K extends Kinds>(options: TestClientOptions & { readonly kinds: K }): TestClient<ToolCalls<K>>;
  client(options?: TestClientOptions): TestClient<Tools>;
}

/**
 * A server in this process, of kinds, a source, a service or a server of your own. Throws if there is nothing to serve.
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
  const { seed, now, indexes = [], ...gatewayOptions } = options;
  let changes = 0;
  const clock = new SimulatedClock(now, () => atRest(() => changes));
  const entropy = new SimulatedEntropy(seed);
  // Of their own, so that what a test queues or resets never names an actor's message.
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
    if (!isServed(served)) throw new Error(NOT_SERVED);
    if (typeof served === "function") {
      const own = await served(wires);
      if (!isServed(own)) throw new Error(`What the function made is no server. ${NOT_SERVED}`);
      building.defer(async () => void (await Promise.all([own[Symbol.asyncDispose]?.(), clock.advance(GRACE_MS)])));
      return exchanging(own);
    }
    if (isAgenticService(served)) return over(building.use(fromAgenticService(served, { clock, onFault: onError })));
    if (!isKinds(served)) return "exchange" in served || "gateway" in served ? exchanging(served) : over(served);
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

/** What a turn sends takes a while to arrive, and is followed by more: until nothing has changed any more. */
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

const exchanging = (server: Exchanging | Holding): Exchanging => ("gateway" in server ? server.gateway : server);

// What a header and a JSON string both carry as it is: a session's id goes through both.
const SAYABLE = /^[\x21-\x7e]{1,128}$/;
const ID_BYTES = 16;

/** What a server under test names things by, sessions first of all: as the test says, else the same in every run. */
export class TestIds implements Entropy {
  readonly #seed: number;
  readonly #queued: string[] = [];
  #drawn: SimulatedEntropy;

  constructor(seed: number) {
    this.#seed = seed;
    this.#drawn = new SimulatedEntropy(seed);
  }

  /** The next ids the server makes, in that order, before those it would draw. Throws where no header could carry one. */
  queue(...ids: readonly string[]): void {
    const wrong = ids.find((id) => !SAYABLE.test(id));
    if (wrong !== undefined)
      throw new Error(`${JSON.stringify(wrong)} is no id a client could send back: queue 1 to 128 visible ASCII characters.`);
    this.#queued.push(...ids);
  }

  /** Forgets what is queued, and draws from the beginning again. Ids that are in use come again: for servers without sessions yet. */
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
