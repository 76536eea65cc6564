import type { Create, RunContext, WorkContext } from "../../core/actor/index.ts";
import {
  type ActorId,
  type JsonObject,
  type Log,
  type Message,
  type Progress,
  type Viewer,
  isJsonObject,
} from "../../core/contract/index.ts";
import type { CapabilityStateDraft } from "./actor-state.ts";
import type { ActorTimes, ForeignServer } from "./capability.ts";
import type { PacketContext } from "./packet.ts";
import type { CapabilityCalls, RequestCapability } from "./recorded-calls.ts";

/** What the message of a packet brings. */
export interface PacketArgs {
  readonly payload: JsonObject;
  readonly context: PacketContext;
}

type Run = RunContext<CapabilityStateDraft, unknown>;

/** The turn of an actor, as the handler of a packet sees it: `state` is the author's own. Getters, since a turn pays for those it takes. */
export class HandlerContext {
  readonly payload: unknown;
  readonly context: PacketContext;
  readonly metadata: ActorTimes;
  readonly #turn: Run;

  constructor(turn: Run, payload: unknown, context: PacketContext, metadata: ActorTimes) {
    this.#turn = turn;
    this.payload = payload;
    this.context = withTraceId(context, turn.message.trace);
    this.metadata = metadata;
  }

  get state(): object {
    return this.#turn.state.state;
  }
  /** Whose the actor is; of everybody's, who asks. */
  protected get owner(): string | undefined {
    return this.#turn.state.owner ?? this.#turn.message.viewer?.principal;
  }
  get self(): ActorId {
    return this.#turn.self;
  }
  get key(): string {
    return this.#turn.key;
  }
  get now(): number {
    return this.#turn.now;
  }
  get viewer(): Viewer {
    return this.#turn.viewer;
  }
  get from(): ActorId | undefined {
    return this.#turn.from;
  }
  get message(): Message {
    return this.#turn.message;
  }
  get answers(): JsonObject {
    return this.#turn.answers;
  }
  get random(): Run["random"] {
    return this.#turn.random;
  }
  get id(): Run["id"] {
    return this.#turn.id;
  }
  get can(): Run["can"] {
    return this.#turn.can;
  }
  get send(): Run["send"] {
    return this.#turn.send;
  }
  get create(): Run["create"] {
    return createOwnedBy(this.#turn.create, () => this.owner);
  }
  get wake(): Run["wake"] {
    return this.#turn.wake;
  }
  get cancel(): Run["cancel"] {
    return this.#turn.cancel;
  }
  get stop(): Run["stop"] {
    return this.#turn.stop;
  }
  get forward(): Run["forward"] {
    return this.#turn.forward;
  }
  get settled(): Run["settled"] {
    return this.#turn.settled;
  }
  get later(): Run["later"] {
    return this.#turn.later;
  }
  get answer(): Run["answer"] {
    return this.#turn.answer;
  }
  get record(): Run["record"] {
    return this.#turn.record;
  }
  get restart(): Run["restart"] {
    return this.#turn.restart;
  }
  get report(): Run["report"] {
    return this.#turn.report;
  }
  get emit(): Run["emit"] {
    return this.#turn.emit;
  }
  get ask(): Run["ask"] {
    return this.#turn.ask;
  }
}

/** The same for a handler that waits. */
export class WorkHandlerContext extends HandlerContext {
  readonly #work: WorkContext<CapabilityStateDraft, unknown>;
  readonly mcp: (server: string) => ForeignServer;
  readonly #calls: CapabilityCalls;

  constructor(
    work: WorkContext<CapabilityStateDraft, unknown>,
    payload: unknown,
    context: PacketContext,
    metadata: ActorTimes,
    mcp: (server: string) => ForeignServer,
    asks: CapabilityCalls,
  ) {
    super(work, payload, context, metadata);
    this.#work = work;
    this.mcp = mcp;
    this.#calls = asks;
  }

  get signal(): AbortSignal {
    return this.#work.signal;
  }
  get progress(): Progress {
    return this.#work.progress;
  }
  get log(): Log {
    return this.#work.log;
  }
  get call(): WorkContext<CapabilityStateDraft, unknown>["call"] {
    return this.#work.call;
  }
  /** As its user: with what whoever sent the message may do, where that is who did. */
  get request(): RequestCapability {
    const { viewer, owner, context, signal, record } = this;
    const caller: Viewer = viewer.principal === owner ? viewer : { scopes: [], ...(owner !== undefined && { principal: owner }) };
    return this.#calls.requestFor({ viewer: caller, context, signal, record, call: (message) => this.#work.call(message) });
  }
}

function withTraceId(context: PacketContext, trace: JsonObject | undefined): PacketContext {
  const trace_id = trace?.["trace_id"];
  return typeof trace_id === "string" ? { ...context, trace_id } : context;
}

/** What a message holds, which only the transports of this folder sends. */
export function parsePacketArgs(args: unknown): PacketArgs {
  if (isJsonObject(args) && isJsonObject(args["payload"]) && isJsonObject(args["context"]))
    return { payload: args["payload"], context: args["context"] };
  return { payload: isJsonObject(args) ? args : {}, context: {} };
}

/** A handler's `create`. The actor belongs to whom the handler's own actor belongs to, unless the options say otherwise. */
function createOwnedBy(create: Create, owner: () => string | undefined): Create {
  return (actor, args, options) => {
    const principal = options?.viewer === undefined ? owner() : undefined;
    return create(actor, args, principal === undefined ? options : { ...options, viewer: { principal, scopes: [] } });
  };
}
