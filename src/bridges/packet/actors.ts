// Owns: the actors of capabilities by `actor_id`: sending messages, reading states, listing, ending. Does not own: starting them
//   (actor-start.ts), actors of plain kinds (kind-capability.ts), effects (running.ts).
/** Law 1: every write goes through `Engine.call` or `send`. */
import { keyOf } from "../../core/actor/index.ts";
import {
  EngineError,
  type ActorId,
  type Change,
  type JsonObject,
  type Clock,
  type Engine,
  type Entropy,
  type Json,
  type Outgoing,
  type Reply,
  type Snapshot,
  type Viewer,
} from "../../core/contract/index.ts";
import { hasBegun, MultiMap, omitUndefined, peerKey } from "../../core/contract/internal.ts";
import { KindActors } from "./kind-capability.ts";
import type { CastOptions } from "../../mcp/source/index.ts";
import { actorNotFound, actorStateOf, checkedActorId, isLiveFor, isReservedForOther, toJson } from "./visible-actors.ts";
import { ActorStarter } from "./actor-start.ts";
import { type Capabilities, registeredCapability } from "./capabilities.ts";
import type { ActorRef, ActorState, Acts, DeliveryOptions, Routed } from "./capability.ts";
import { packetErrorOf, resultOf } from "./error-mapping.ts";
import { type ActorOptions, type PacketContext, PacketError } from "./packet.ts";
import { checkPayload } from "./capability-contract.ts";

/** Rows per page of a list. */
const PAGE_SIZE = 256;
/** Rows of shared actors that one list reads, matching or not. */
const MAX_EXAMINED = 2_000;

/** Options of `Actors`. */
export interface ActorsOptions {
  readonly engine: Engine;
  readonly capabilities: Capabilities;
  readonly clock: Clock;
  /** Actors of one user at a time. Default 10. */
  readonly maxPerUser: number;
  /** Idle timeout in milliseconds of capabilities that define none. */
  readonly idleMs: number;
  /** How long a reply may take, in milliseconds. */
  readonly replyMs: number;
  readonly entropy: Entropy;
  readonly handles?: CastOptions["handles"];
}

/** The sender of a message, and options of the delivery. */
export interface Sending extends DeliveryOptions {
  readonly context?: PacketContext;
  readonly options?: ActorOptions;
}

/** An actor's reply, and how many messages it has applied. */
export interface Replied {
  readonly result: Json;
  readonly message_count: number;
}

/** The actors of packet capabilities: starts them, sends them messages, lists and ends them (PacketFlow, Layer 4). */
export class Actors {
  readonly #options: ActorsOptions;
  readonly #starter: ActorStarter;
  readonly #kindActors: KindActors;
  /** Keyed messages that do not know yet whether their actor exists, in order of arrival. */
  readonly #lookups = new MultiMap<ActorId, Promise<void>>();

  constructor(options: ActorsOptions) {
    this.#options = options;
    this.#starter = new ActorStarter(options);
    this.#kindActors = new KindActors(options);
  }

  /** Starts the actor if it does not run; on disk it continues from its stored state. Throws `PacketError`, as do the methods below. */
  async getOrCreateActor(capabilityId: string, actor_id: string, sending: Sending): Promise<ActorRef> {
    const does = this.#actorCapability(capabilityId);
    if (does.own !== undefined)
      return { capability_id: capabilityId, actor_id, id: await this.#kindActors.ensureStarted(does, actor_id, sending) };
    const id = this.#id(capabilityId, does, actor_id, sending.viewer);
    await this.#snapshot(does, actor_id, id, sending);
    return { capability_id: capabilityId, actor_id, id };
  }

  /** Resolves when the message is durably accepted. It may be applied at any later time. */
  async sendToActor(capabilityId: string, actor_id: string, payload: JsonObject, sending: Sending): Promise<void> {
    const does = this.#actorCapability(capabilityId, payload);
    if (does.own !== undefined) return this.#kindActors.send(capabilityId, does, actor_id, payload, sending);
    const routed = this.#route(capabilityId, does, actor_id, payload);
    if (routed.reads)
      throw new PacketError(
        "validation_failed",
        `${capabilityId} only reads by such a payload: request it, since a send brings no reply.`,
        { actor_id },
      );
    const { id } = await this.getOrCreateActor(capabilityId, actor_id, sending);
    try {
      await this.#options.engine.send(this.#message(id, routed, payload, sending));
    } catch (error) {
      throw packetErrorOf(error, { actor_id, timeout_ms: this.#options.replyMs });
    }
  }

  /** `actor_id` is absent if the payload names the actor or requests a new one. */
  async requestFromActor(capabilityId: string, actor_id: string | undefined, payload: JsonObject, sending: Sending): Promise<Replied> {
    const does = this.#actorCapability(capabilityId, payload);
    const timeout_ms = Math.min(sending.timeoutMs ?? Number.POSITIVE_INFINITY, this.#options.replyMs);
    if (does.own !== undefined) return this.#kindActors.request(capabilityId, does, actor_id, payload, sending, timeout_ms);
    if (actor_id === undefined) throw new PacketError("validation_failed", "Which actor is meant? Name one as actor_id.");
    const id = this.#id(capabilityId, does, actor_id, sending.viewer);
    try {
      const routed = this.#route(capabilityId, does, actor_id, payload);
      if (routed.reads) {
        const snapshot = await this.#snapshot(does, actor_id, id, sending);
        const result = does.read(routed, snapshot, payload, sending.context ?? {}, sending.viewer);
        return { result: toJson(result), message_count: does.known(snapshot).metadata.message_count };
      }
      const deadline = this.#options.clock.now() + timeout_ms;
      const message: Outgoing = { ...this.#message(id, routed, payload, sending), deadline };
      return await this.#call(does, actor_id, message, sending);
    } catch (error) {
      throw packetErrorOf(error, { actor_id, timeout_ms });
    }
  }

  async getActorState(capabilityId: string, actor_id: string, viewer: Viewer): Promise<ActorState> {
    const does = this.#actorCapability(capabilityId);
    if (does.own !== undefined) throw actorNotFound(actor_id);
    const snapshot = await this.#options.engine.read(this.#id(capabilityId, does, actor_id, viewer));
    if (!isLiveFor(snapshot, does, viewer)) throw actorNotFound(actor_id);
    return actorStateOf(capabilityId, actor_id, does, snapshot);
  }

  /** The viewer's own actors, then shared ones, at most `limit`. Of shared ones at most 2,000 rows are read, stopped actors included. */
  async listActors({ principal }: Viewer, limit = 1_000): Promise<readonly ActorRef[]> {
    const { engine, capabilities } = this.#options;
    const found: ActorRef[] = [];
    const add = (capability_id: string, page: readonly Change[]): void => {
      for (const { id, status } of page)
        if (found.length < limit && status !== "stopped") found.push({ capability_id, actor_id: keyOf(id), id });
    };
    const listed = capabilities.list().flatMap(({ id, does }) => (does.how === "actor" && does.own === undefined ? [{ id, does }] : []));
    if (principal !== undefined)
      for (const { id, does } of listed)
        if (!does.shared)
          add(id, await engine.list({ kind: does.behaviour.kind, owner: principal, live: true, limit: limit - found.length }));
    // Without an owner no index leaves out stopped actors, of which there may be any number.
    let examined = 0;
    for (const { id, does } of listed)
      for (let after: ActorId | undefined; does.shared && found.length < limit && examined < MAX_EXAMINED;) {
        const page = await engine.list({ kind: does.behaviour.kind, limit: PAGE_SIZE, ...omitUndefined({ after }) });
        add(id, page);
        examined += page.length;
        if (page.length < PAGE_SIZE) break;
        after = page.at(-1)?.id;
      }
    return found;
  }

  async terminateActor(capabilityId: string, actor_id: string, reason: string, viewer: Viewer): Promise<void> {
    const does = this.#actorCapability(capabilityId);
    const id =
      does.own === undefined ? this.#id(capabilityId, does, actor_id, viewer) : await this.#kindActors.liveActorId(does, actor_id, viewer);
    if (does.own === undefined) await this.getActorState(capabilityId, actor_id, viewer);
    try {
      await this.#options.engine.stop(id, reason);
    } catch (error) {
      throw packetErrorOf(error, { actor_id, timeout_ms: this.#options.replyMs });
    }
  }

  /** Also validates the payload, if given, against what the capability declares. */
  #actorCapability(capabilityId: string, payload?: JsonObject): Acts {
    const capability = registeredCapability(this.#options.capabilities, capabilityId);
    if (capability.does.how !== "actor")
      throw new PacketError("validation_failed", `${capabilityId} has no actors: send it a capability_request.`);
    if (payload !== undefined) checkPayload(capability, payload);
    return capability.does;
  }

  #id(capabilityId: string, does: Acts, actor_id: string, viewer: Viewer): ActorId {
    if (isReservedForOther(capabilityId, does, viewer, actor_id)) throw actorNotFound(actor_id);
    return checkedActorId(does.behaviour.kind, actor_id);
  }

  #route(capabilityId: string, does: Acts, actor_id: string, payload: JsonObject): Routed {
    const routed = does.route(payload);
    if (routed !== undefined) return routed;
    throw new PacketError("no_handler", `${capabilityId} has no handler for such a payload: see which messages it takes.`, { actor_id });
  }

  /** Holds a copy, since the sender may change its payload afterwards. */
  #message(id: ActorId, routed: Routed, payload: JsonObject, { viewer, context: sent = {} }: Sending): Outgoing {
    const { trace_id, timestamp, ...context } = sent;
    const trace = omitUndefined({ trace_id, timestamp });
    return {
      to: id,
      action: routed.action,
      args: toJson(routed.args ?? { payload, context }),
      viewer,
      // Not part of the arguments: a retry under the same key is the same call, even with another trace, at another time (C4).
      ...(Object.keys(trace).length === 0 ? {} : { trace }),
    };
  }

  /** The common case, a running actor, needs no lookup before the call. */
  async #call(does: Acts, actor_id: string, message: Outgoing, sending: Sending): Promise<Replied> {
    const { engine } = this.#options;
    const { viewer, peer, signal, onProgress, onLog, answers, can, through } = sending;
    const key = sending.key === undefined || viewer.principal !== undefined ? sending.key : peerKey(sending.key, peer);
    // Read the state right after this message: a moment later the actor may have stopped or applied other messages.
    let after: Promise<Snapshot | undefined> | undefined;
    const read = (): Promise<Snapshot | undefined> => engine.read(message.to).catch(() => undefined);
    const options = { ...omitUndefined({ signal, key, onProgress, onLog, answers, can }), onReceipt: () => void (after = read()) };
    const call = (): Promise<Reply> => (through === undefined ? engine.call(message, options) : through(message));
    const result = resultOf(await this.#reply(does, actor_id, message.to, sending, call));
    const snapshot = await (after ?? read());
    return { result, message_count: snapshot === undefined ? 0 : does.known(snapshot).metadata.message_count };
  }

  async #reply(does: Acts, actor_id: string, id: ActorId, sending: Sending, call: () => Promise<Reply>): Promise<Reply> {
    const mayBegin = sending.options?.create_if_missing !== false;
    // C4: replayed work matches recorded results by call index, so it must make exactly one call per request.
    if (mayBegin && sending.through !== undefined) await this.#starter.start({ does, id, actor_id, sending });
    const earlierLookups = this.#lookups.size === 0 ? [] : [...(this.#lookups.get(id) ?? [])];
    const finishLookup = sending.key === undefined ? undefined : this.#lookUp(id);
    const callAndFinish = (): Promise<Reply> => {
      const reply = call();
      finishLookup?.();
      return reply;
    };
    try {
      for (let starts = 0; ; starts += 1)
        try {
          // A message that arrives during a start waits behind earlier ones.
          if (!mayBegin || (starts === 0 && !this.#starter.isStarting(id))) return await call();
          for (const one of earlierLookups) await one;
          return await this.#startAndCall(does, actor_id, id, sending, callAndFinish);
        } catch (error) {
          // An earlier message may have stopped the actor again.
          if (!(error instanceof EngineError) || !isMissing(error) || !mayBegin || starts === MAX_STARTS) throw error;
        }
    } finally {
      finishLookup?.();
    }
  }

  /** Registers a keyed message until the returned function is called. Keyed calls take longer to find out whether their actor exists. */
  #lookUp(id: ActorId): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#lookups.put(id, promise);
    return () => {
      this.#lookups.take(id, promise);
      resolve();
    };
  }

  async #startAndCall(does: Acts, actor_id: string, id: ActorId, sending: Sending, call: () => Promise<Reply>): Promise<Reply> {
    let reply: Promise<Reply> | undefined;
    const firstMessage = (): void => {
      reply = call();
      // If the start fails, its error is reported instead.
      reply.catch(() => undefined);
    };
    await this.#starter.start({ does, id, actor_id, sending, firstMessage });
    return reply ?? call();
  }

  async #snapshot(does: Acts, actor_id: string, id: ActorId, sending: Sending): Promise<Snapshot> {
    const { engine } = this.#options;
    const mayBegin = sending.options?.create_if_missing !== false;
    for (let starts = 0; ; starts += 1) {
      const snapshot = await engine.read(id);
      if (isLiveFor(snapshot, does, sending.viewer)) return snapshot;
      if (!mayBegin || starts === MAX_STARTS) throw actorNotFound(actor_id);
      // An earlier message may stop the actor again before it is read.
      await this.#starter.start({ does, id, actor_id, sending });
    }
  }
}

/** How often one message starts its actor, if others stop it each time. */
const MAX_STARTS = 100;

/** The message found no actor. One that an actor had begun to work on when it was stopped is not sent again: what it did outside stays done. */
const isMissing = (error: EngineError): boolean =>
  (error.code === "NO_ACTOR" || error.code === "ACTOR_STOPPED") && hasBegun(error) !== true;
