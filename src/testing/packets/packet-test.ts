// Owns: `packetTest`: capabilities in the test process, and its MCP requests. Does not own: starting actors (packet-actors.ts).
import {
  Capabilities,
  type Capability,
  capabilitySource,
  type CapabilitySourceOptions,
  type Effect,
  type Emitted,
  McpTunnel,
  type PacketContext,
  PacketError,
  PacketFlow,
  type PacketFlowOptions,
  searchesOf,
} from "../../bridges/packet/index.ts";
import {
  checkOptions,
  type OptionTable,
  type Behaviour,
  type Closable,
  EngineError,
  type Json,
  type JsonObject,
  type Store,
  TroupeError,
} from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { createGateway } from "../../mcp/gateway/index.ts";
import { SimulatedClock, SimulatedEntropy, twice } from "../index.ts";
import { type ActorKind, asCapability, type StartTestActor, type TestActor, testActors } from "./packet-actors.ts";
import { assertActorStateContains, effectAssertions, type FieldOf, type Partially, type Where } from "./packet-assertions.ts";

/** Options of `packetTest`. */
export interface PacketTestOptions
  extends
    Pick<PacketFlowOptions, "actors" | "executionMs" | "servers">,
    Pick<CapabilitySourceOptions, "expose" | "generate" | "toolTimeoutMs"> {
  /** Capabilities, and kinds of actors. */
  readonly capabilities: readonly (Capability | ActorKind)[];
  /** The store of actors on disk and of distributed ones; not closed by the test. Absent: actors in memory only. */
  readonly store?: Store;
  /** The sender of calls that name none. Default `tester`. */
  readonly user?: string;
}

const OPTIONS: OptionTable<PacketTestOptions> = {
  capabilities: true,
  store: true,
  user: true,
  actors: true,
  executionMs: true,
  servers: true,
  expose: true,
  generate: true,
  toolTimeoutMs: true,
};

/**
 * Functions that can be destructured. Time passes only by `advance`. A failed call rejects with `PacketError`, whose `cause` is the
 * original error. A failed assertion throws an `AssertionError`.
 */
export interface PacketTest extends Closable {
  readonly startTestActor: StartTestActor;
  /**
   * Sends a message; settles with the reply once it was applied. An actor that has ended meanwhile is started anew. A `user_id` in the
   * context is the sender.
   */
  readonly sendActorMessage: (actor: TestActor, payload: JsonObject, context?: PacketContext) => Promise<Json>;
  /** A copy of the actor's last durable state. */
  readonly getActorState: <S>(actor: TestActor<S>) => Promise<S>;
  /** Asserts that the state has a field of that name, or contains these parts: objects by the given fields, lists item by item. */
  readonly assertActorStateContains: <S>(actor: TestActor<S>, expected: FieldOf<NoInfer<S>> | Partially<NoInfer<S>>) => Promise<void>;
  /** The JSON-RPC request of a tool call, with a new id. */
  readonly mcpToolCall: (name: string, args?: JsonObject) => McpRequest;
  /** The response of the whole MCP server, which may be a JSON-RPC error. Initializes first. */
  readonly executeMcpRequest: (request: McpRequest, options?: { readonly user?: string }) => Promise<McpResponse>;
  /** Asserts that an effect happened: as declared, by its name, or by its type (`audit_log`, `metric`). Failed runs count too. */
  readonly assertEffectExecuted: (effect: Effect | string, where?: Where) => void;
  readonly assertMetricEmitted: (name: string, where?: Where) => void;
  /** Advances the clock by so many milliseconds. Settles when all that was due has happened. */
  readonly advance: (ms: number) => Promise<void>;
  /** Closes everything. Can be called repeatedly. */
  readonly close: () => Promise<void>;
  /** All effects so far, in order. */
  readonly effects: readonly Emitted[];
  /** Faults inside, in order. Clients never see them. */
  readonly faults: readonly unknown[];
  readonly clock: SimulatedClock;
  /** The flow under test, for what these functions do not cover. */
  readonly flow: PacketFlow;
}

/**
 * Runs capabilities on a real engine and a real MCP server, in this process. Deterministic: the same calls give the same ids and times.
 * Each turn runs twice and is compared (law 4): an impure one rejects with `actor_crash`.
 *
 * Throws `NAME_COLLISION`, or `ENGINE_MISSING` if a capability needs a store.
 */
export async function packetTest(options: PacketTestOptions): Promise<PacketTest> {
  checkOptions("packetTest", options, OPTIONS);
  const { store, user = "tester", servers, actors, executionMs, expose, generate, toolTimeoutMs } = options;
  const clock = new SimulatedClock();
  const entropy = new SimulatedEntropy();
  const effects: Emitted[] = [];
  const faults: unknown[] = [];
  const capabilities = new Capabilities(options.capabilities.map(asCapability), { clock, ...(servers && { servers }) });
  await using building = new AsyncDisposableStack();
  const kinds = capabilities.kinds.map(inProcess);
  const engine = building.use(
    await started({ kinds, clock, entropy, ...(store && { store }), onFault: (error) => void faults.push(error) }),
  );
  const searches = searchesOf(capabilities.list(), engine, ":memory:", (error) => void faults.push(error));
  if (searches !== undefined) capabilities.register(...building.use(searches).capabilities);
  const flow = building.use(
    new PacketFlow({
      capabilities,
      engine,
      clock,
      entropy,
      ...(actors && { actors }),
      ...(executionMs !== undefined && { executionMs }),
      ...(servers && { servers }),
    }),
  );
  flow.onEffect((emitted) => void effects.push(emitted));
  const source = building.use(
    capabilitySource({
      capabilities,
      engine,
      actors: flow.actors,
      run: (id, payload, how) => flow.running.run(id, payload, how).catch((error: unknown) => recordFault(error, faults)),
      ...(expose !== undefined && { expose }),
      ...(generate !== undefined && { generate }),
      ...(toolTimeoutMs !== undefined && { toolTimeoutMs }),
    }),
  );
  const info = { name: "PacketFlow Capabilities", version: "1.0.0" };
  const gateway = building.use(createGateway({ source, info, clock, entropy, rateLimit: false }));
  const tunnel = building.use(new McpTunnel({ gateway, clock, timeoutMs: TUNNEL_TIMEOUT_MS }));
  flow.tunnelTo(gateway);
  const built = building.move();
  const close = (): Promise<void> => built.disposeAsync();
  return {
    ...testActors(flow, engine, user),
    ...mcpExchange(tunnel, user),
    ...effectAssertions(effects),
    assertActorStateContains,
    getActorState: (actor) => actor.state(),
    advance: (ms) => clock.advance(ms),
    close,
    [Symbol.asyncDispose]: close,
    effects,
    faults,
    clock,
    flow,
  };
}

/** The tunnel's timeout, longer than that of any tool. */
const TUNNEL_TIMEOUT_MS = 2 * 86_400_000;

/** Records a crash outside actors. Those of actors are reported by the engine. */
function recordFault(error: unknown, faults: unknown[]): never {
  if (error instanceof Error && error.cause !== undefined && !(error.cause instanceof EngineError)) faults.push(error.cause);
  throw error;
}

/** The kind with law 4 checked. Distributed actors are stored on disk, since there is one process. */
function inProcess(kind: Behaviour): Behaviour {
  const pure = twice(kind);
  return kind.policy.persistence === "distributed" ? { ...pure, policy: { ...kind.policy, persistence: "disk" } } : pure;
}

async function started(options: Parameters<typeof LocalEngine.start>[0]): Promise<LocalEngine> {
  try {
    return await LocalEngine.start(options);
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== "ENGINE_MISSING") throw error;
    throw new TroupeError(
      "ENGINE_MISSING",
      "Some capability keeps its actors on disk: give packetTest a `store`, as memoryStore() of troupe/store.",
      {
        cause: error,
      },
    );
  }
}

/** A JSON-RPC request. */
export type McpRequest = {
  readonly jsonrpc: "2.0";
  readonly id: number | string;
  readonly method: string;
  readonly params?: JsonObject;
};

/** The result of a method. The first three members are those of a tool call. */
export interface McpResult {
  readonly isError?: boolean;
  readonly content?: readonly Json[];
  readonly structuredContent?: Json;
  readonly [more: string]: Json | undefined;
}

/** A JSON-RPC error inside a packet. */
export interface McpError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Either a result or an error. */
export interface McpResponse {
  readonly jsonrpc: "2.0";
  readonly id: number | string;
  readonly result?: McpResult;
  readonly error?: McpError;
}

/** Requests to the gateway, with one client per user. */
function mcpExchange(tunnel: McpTunnel, defaultUser: string) {
  let id = 0;

  function mcpToolCall(name: string, args: JsonObject = {}): McpRequest {
    return { jsonrpc: "2.0", id: (id += 1), method: "tools/call", params: { name, arguments: args } };
  }

  async function executeMcpRequest(request: McpRequest, { user = defaultUser }: { readonly user?: string } = {}): Promise<McpResponse> {
    const response = await tunnel.request({ ...request }, { principal: user, scopes: [] }, undefined);
    if (response === undefined)
      throw new PacketError("protocol_error", `${request.method} without an id is a notification, which has no response: give it an id.`);
    if (isResponse(response)) return response;
    throw new PacketError("protocol_error", "What came back is no JSON-RPC response.", { response });
  }

  return { mcpToolCall, executeMcpRequest };
}

function isResponse(message: object): message is McpResponse {
  return ("result" in message && isObject(message.result)) || ("error" in message && isObject(message.error));
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
