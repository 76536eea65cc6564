// Owns: what the handlers of an actor capability receive: state, payload, context and the actions of a turn.
//   Does not own: which handler runs (actor-handlers.ts).
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
import type { ActorTimes } from "./capability.ts";
import type { PacketContext } from "./packet.ts";
import type { CapabilityCalls, RequestCapability } from "./recorded-calls.ts";
import type { ForeignServer } from "./upstream-server.ts";

/** The arguments of a packet's message. */
export interface PacketArgs {
  readonly payload: JsonObject;
  readonly context: PacketContext;
}

type Run = RunContext<CapabilityStateDraft, unknown>;

/** A turn, as a handler sees it: `state` is the author's own. Getters, since each turn pays only for what it uses. */
export class HandlerContext {
  readonly payload: unknown;
  readonly context: PacketContext;
  readonly metadata: ActorTimes;
  readonly #turn: Run;

  constructor(turn: Run, payload: unknown, context: PacketContext, metadata: ActorTimes) {
    this.#turn = turn;
    this.payload = payload;
    this.context = withTrace(context, turn.message);
    this.metadata = metadata;
  }

  get state(): object {
    return this.#turn.state.state;
  }
  /** The owner of the actor; of a shared actor, the caller. */
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

/** The same for a `work` handler. */
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
  /** Calls as the actor's owner. Keeps the sender's scopes only if the owner is the sender. */
  get request(): RequestCapability {
    const { viewer, owner, context, signal, record } = this;
    const caller: Viewer = viewer.principal === owner ? viewer : { scopes: [], ...(owner !== undefined && { principal: owner }) };
    return this.#calls.requestFor({ viewer: caller, context, signal, record, call: (message) => this.#work.call(message) });
  }
}

/** With what of the packet's context is no part of the message's arguments. */
function withTrace(context: PacketContext, { trace = {} }: Message): PacketContext {
  const { trace_id, timestamp } = trace;
  return {
    ...context,
    ...(typeof trace_id === "string" && { trace_id }),
    ...(typeof timestamp === "string" && { timestamp }),
  };
}

/** Reads the arguments of a message, which only this folder sends. */
export function parsePacketArgs(args: unknown): PacketArgs {
  if (isJsonObject(args) && isJsonObject(args["payload"]) && isJsonObject(args["context"]))
    return { payload: args["payload"], context: args["context"] };
  return { payload: isJsonObject(args) ? args : {}, context: {} };
}

/** A handler's `create`. The new actor has the owner of the handler's actor, unless the options name a viewer. */
function createOwnedBy(create: Create, owner: () => string | undefined): Create {
  return (actor, args, options) => {
    const principal = options?.viewer === undefined ? owner() : undefined;
    return create(actor, args, principal === undefined ? options : { ...options, viewer: { principal, scopes: [] } });
  };
}
