// Owns: what the handlers of an actor capability receive: state, payload, context and the actions of a turn.
//   Does not own: which handler runs (actor-handlers.ts).
import type { Create } from "../../core/actor/index.ts";
import {
  type ActorId,
  type JsonObject,
  type Log,
  type Message,
  type Progress,
  type Viewer,
  isJsonObject,
} from "../../core/contract/index.ts";
import type { CapabilityTurn, CapabilityWork } from "./actor-state.ts";
import type { ActorTimes } from "./capability.ts";
import type { PacketContext } from "./packet.ts";
import type { CapabilityCalls, RequestCapability } from "./recorded-calls.ts";
import type { ForeignServer } from "./upstream-interface.ts";

/** The arguments of a packet's message. */
interface PacketArgs {
  readonly payload: JsonObject;
  readonly context: PacketContext;
}

/** A turn, as a handler sees it: `state` is the author's own. Getters, since each turn pays only for what it uses. */
export class HandlerContext {
  readonly payload: unknown;
  readonly context: PacketContext;
  readonly metadata: ActorTimes;
  readonly #turn: CapabilityTurn;

  constructor(turn: CapabilityTurn, payload: unknown, context: PacketContext, metadata: ActorTimes) {
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
  get random(): CapabilityTurn["random"] {
    return this.#turn.random;
  }
  get id(): CapabilityTurn["id"] {
    return this.#turn.id;
  }
  get can(): CapabilityTurn["can"] {
    return this.#turn.can;
  }
  get send(): CapabilityTurn["send"] {
    return this.#turn.send;
  }
  get create(): CapabilityTurn["create"] {
    return createOwnedBy(this.#turn.create, () => this.owner);
  }
  get wake(): CapabilityTurn["wake"] {
    return this.#turn.wake;
  }
  get cancel(): CapabilityTurn["cancel"] {
    return this.#turn.cancel;
  }
  get stop(): CapabilityTurn["stop"] {
    return this.#turn.stop;
  }
  get forward(): CapabilityTurn["forward"] {
    return this.#turn.forward;
  }
  get settled(): CapabilityTurn["settled"] {
    return this.#turn.settled;
  }
  get later(): CapabilityTurn["later"] {
    return this.#turn.later;
  }
  get answer(): CapabilityTurn["answer"] {
    return this.#turn.answer;
  }
  get record(): CapabilityTurn["record"] {
    return this.#turn.record;
  }
  get restart(): CapabilityTurn["restart"] {
    return this.#turn.restart;
  }
  get report(): CapabilityTurn["report"] {
    return this.#turn.report;
  }
  get emit(): CapabilityTurn["emit"] {
    return this.#turn.emit;
  }
  get ask(): CapabilityTurn["ask"] {
    return this.#turn.ask;
  }
}

/** The same for a `work` handler. */
export class WorkHandlerContext extends HandlerContext {
  readonly #work: CapabilityWork;
  readonly mcp: (server: string) => ForeignServer;
  readonly #calls: CapabilityCalls;

  constructor(
    work: CapabilityWork,
    payload: unknown,
    context: PacketContext,
    metadata: ActorTimes,
    mcp: (server: string) => ForeignServer,
    calls: CapabilityCalls,
  ) {
    super(work, payload, context, metadata);
    this.#work = work;
    this.mcp = mcp;
    this.#calls = calls;
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
  get call(): CapabilityWork["call"] {
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
