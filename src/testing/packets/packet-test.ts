import {
  type Closable,
  type JsonObject,
  type Behaviour,
  EngineError,
  type Json,
  type Store,
  TroupeError,
} from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { createGateway } from "../../mcp/gateway/index.ts";
import {
  Capabilities,
  type Capability,
  capabilitySource,
  type CapabilitySourceOptions,
  type Effect,
  type Emitted,
  McpTunnel,
  type PacketContext,
  PacketFlow,
  type PacketFlowOptions,
  searchesOf,
  PacketError,
} from "../../bridges/packet/index.ts";
import { SimulatedClock, SimulatedEntropy, twice } from "../index.ts";
import { effectAssertions, type Where, assertActorStateContains, type FieldOf, type Partially } from "./assertions.ts";
import { type ActorKind, asCapability, type StartTestActor, type TestActor, testActors } from "./test-actor.ts";

/** What `packetTest` takes. */
export interface PacketTestOptions
  extends
    Pick<PacketFlowOptions, "actors" | "executionMs" | "servers">,
    Pick<CapabilitySourceOptions, "expose" | "generate" | "toolTimeoutMs"> {
  /** Capabilities, and kinds of actors as they are. */
  readonly capabilities: readonly (Capability | ActorKind)[];
  /** Where actors on disk sleep; not closed by the test. Distributed ones sleep there too. Absent: memory actors only. */
  readonly store?: Store;
  /** Who sends where a call names nobody. Default `tester`. */
  readonly user?: string;
}

/**
 * Functions, free to be taken apart. Time stands still but for `advance`. What a capability says no to rejects with
 * `PacketError`, whose `cause` is what broke; what does not hold throws an `AssertionError`.
 */
export interface PacketTest extends Closable {
  readonly startTestActor: StartTestActor;
  /**
   * The reply, once the message was applied. Of an actor that has ended since it was started, another begins. A `user_id` in
   * the context sends as that user.
   */
  readonly sendActorMessage: (actor: TestActor, payload: JsonObject, context?: PacketContext) => Promise<Json>;
  /** Its last durable state; a copy. */
  readonly getActorState: <S>(actor: TestActor<S>) => Promise<S>;
  /** A field by its name; or parts of the state: objects by the fields named, lists item by item. */
  readonly assertActorStateContains: <S>(actor: TestActor<S>, expected: FieldOf<NoInfer<S>> | Partially<NoInfer<S>>) => Promise<void>;
  /** The JSON-RPC request of a tool call, with an id of its own. */
  readonly mcpToolCall: (name: string, args?: JsonObject) => McpRequest;
  /** The response of the whole MCP server: a JSON-RPC error is one too. Initialization is taken care of. */
  readonly executeMcpRequest: (request: McpRequest, options?: { readonly user?: string }) => Promise<McpResponse>;
  /** One effect at least, as it was declared; or by its name, or all of a sort: `audit_log`, `metric`. Failed runs count too. */
  readonly assertEffectExecuted: (effect: Effect | string, where?: Where) => void;
  readonly assertMetricEmitted: (name: string, where?: Where) => void;
  /** Moves time on by so many milliseconds. Whatever falls due has happened when it settles. */
  readonly advance: (ms: number) => Promise<void>;
  /** Ends all of it; as often as you like. */
  readonly close: () => Promise<void>;
  /** All effects so far, in order. */
  readonly effects: readonly Emitted[];
  /** What broke inside, in order: a client is never told what it was. */
  readonly faults: readonly unknown[];
  readonly clock: SimulatedClock;
  /** What is under test, for all that is not here. */
  readonly flow: PacketFlow;
}

/**
 * Capabilities over a real engine and a real MCP server, in this process. Deterministic: the same calls give the same ids and
 * times. Each turn runs twice and is compared (law 4): one that is not pure rejects with `actor_crash`.
 *
 * Throws `NAME_COLLISION`; `ENGINE_MISSING` where a capability needs a store.
 */
export async function packetTest(options: PacketTestOptions): Promise<PacketTest> {
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
      run: (id, payload, how) => flow.running.run(id, payload, how).catch((error: unknown) => noted(error, faults)),
      ...(expose !== undefined && { expose }),
      ...(generate !== undefined && { generate }),
      ...(toolTimeoutMs !== undefined && { toolTimeoutMs }),
    }),
  );
  const info = { name: "PacketFlow Capabilities", version: "1.0.0" };
  const gateway = building.use(createGateway({ source, info, clock, entropy, rateLimit: false }));
  const tunnel = building.use(new McpTunnel({ gateway, clock, timeoutMs: LONGEST_MS }));
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

/** What a tool may take is its own to say. */
const LONGEST_MS = 2 * 86_400_000;

/** A crash of an actor is told by the engine; of what has none, only here. */
function noted(error: unknown, faults: unknown[]): never {
  if (error instanceof Error && error.cause !== undefined && !(error.cause instanceof EngineError)) faults.push(error.cause);
  throw error;
}

/** Its turns held to law 4; and here is one machine, where what is distributed is on disk. */
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

/** Of a tool call, the first three; of other methods what MCP says. */
export interface McpResult {
  readonly isError?: boolean;
  readonly content?: readonly Json[];
  readonly structuredContent?: Json;
  readonly [more: string]: Json | undefined;
}

/** An error of MCP inside a packet. */
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

/** A client of the whole gateway, one for each user. */
export function mcpExchange(tunnel: McpTunnel, defaultUser: string) {
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
