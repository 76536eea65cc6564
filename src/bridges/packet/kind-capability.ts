// Owns: actors defined with `actor()` as capabilities, reached through the same source and access rule as over MCP.
//   Does not own: actors defined as capabilities (define-actor.ts).
import { keyOf } from "../../core/actor/index.ts";
import {
  type ActorId,
  type Behaviour,
  type CallOptions,
  type Json,
  type JsonObject,
  type Outgoing,
  type Reply,
  type Snapshot,
  type Source,
  type Viewer,
  isJsonObject,
} from "../../core/contract/index.ts";
import { BEGIN_ACTION, getOwn, hasOwn, omitUndefined, setOwn } from "../../core/contract/internal.ts";
import { type Address, addressOf, cast, isByHandle } from "../../mcp/source/index.ts";
import { actorNotFound, isLive, toJson } from "./visible-actors.ts";
import type { ActorsOptions, Replied, Sending } from "./actors.ts";
import type { Acts, Capability, Effect } from "./capability.ts";
import { checkedDescription } from "./define-capability.ts";
import { packetErrorOf, resultOf } from "./error-mapping.ts";
import { PacketError } from "./packet.ts";

/** Options of `capabilityOf`. */
export interface OfActorOptions {
  /** Default: the name of the kind. */
  readonly id?: string;
  readonly requires?: readonly string[];
  readonly provides?: readonly string[];
  readonly effects?: readonly Effect[];
}

type DescribedKind = Behaviour & { readonly description?: string };

/**
 * Makes a kind of actor a capability. `{ "tool": "add", … }` calls its tool, or one of an actor that it links to; the other fields are
 * the arguments. Packets reach the same actors and mailboxes as MCP, by the same access rule. Throws `BAD_NAME`.
 */
export function capabilityOf(kind: DescribedKind, options: OfActorOptions = {}): Capability {
  const { id = kind.kind } = options;
  const description = kind.description?.trim() ?? "";
  const described = checkedDescription(id, {
    ...options,
    intent: description === "" ? `Actors of the kind ${kind.kind}.` : description,
    parameters: parametersOf(kind),
  });
  const does: Acts = {
    how: "actor",
    behaviour: kind,
    persistence: kind.policy.persistence,
    shared: kind.policy.owner !== "starter",
    idle: false,
    own(payload) {
      const { tool, ...args } = payload;
      return typeof tool === "string" && tool !== "" ? { ref: `tools/${tool}`, args } : undefined;
    },
    search: [],
    route: () => undefined,
    known: ({ state, createdAt, lastMessageAt, messageCount }: Snapshot) => ({
      state,
      metadata: { created_at: createdAt, last_message_at: lastMessageAt, message_count: messageCount },
    }),
    read: () => undefined,
    policyFor: () => ({}),
    defaultKey(viewer) {
      const address = addressOf(kind, viewer, undefined);
      return address && keyOf(address.id);
    },
  };
  return Object.freeze({ ...described, does });
}

/** One schema for all tools: the tool's name, and the parameters of any of them. */
function parametersOf(kind: Behaviour): JsonObject {
  const tools = kind.catalogue?.tools ?? [];
  const names = tools.map(({ name }) => name);
  const properties: Record<string, Json> = { tool: { type: "string", ...(names.length > 0 && { enum: names }) } };
  for (const { definition } of tools) {
    const schema = isJsonObject(definition) ? definition["inputSchema"] : undefined;
    const taken = isJsonObject(schema) ? schema["properties"] : undefined;
    if (isJsonObject(taken))
      for (const [name, field] of Object.entries(taken)) if (!Object.hasOwn(properties, name)) setOwn(properties, name, field);
  }
  return { type: "object", properties, required: ["tool"] };
}

/** Sends packets to actors of such kinds. */
export class KindActors {
  readonly #options: ActorsOptions;
  #sources: { readonly kinds: readonly Behaviour[]; readonly byKind: Map<string, Source> } = { kinds: [], byKind: new Map() };

  constructor(options: ActorsOptions) {
    this.#options = options;
  }

  /** Throws `PacketError`, as do the methods below. */
  async request(
    capabilityId: string,
    does: Acts,
    namedId: string | undefined,
    payload: JsonObject,
    sending: Sending,
    timeout_ms: number,
  ): Promise<Replied> {
    const { engine, clock } = this.#options;
    const actor_id = namedId ?? handleIn(does, payload, sending);
    const { peer, signal, key, onProgress, onLog, answers, can, through, context: { trace_id } = {} } = sending;
    const deadline = clock.now() + timeout_ms;
    const errorContext = { actor_id: actor_id ?? "", timeout_ms };
    try {
      const address = await this.#resolveAddress(does, actor_id, sending);
      // Read the state right after the commit: a moment later the actor may have stopped or applied other messages.
      let after: Promise<Snapshot | undefined> | undefined;
      const read = (): Promise<Snapshot | undefined> | undefined => address && engine.read(address.id).catch(() => undefined);
      const deliver = (message: Outgoing, how: CallOptions): Promise<Reply> => {
        const timed = { ...message, deadline };
        return through === undefined ? engine.call(timed, how) : through(timed);
      };
      const reply = await this.#call(capabilityId, does, actor_id, address, payload, sending.viewer, {
        ...omitUndefined({ peer, signal, key, onProgress, onLog, answers, can }),
        ...(trace_id === undefined ? {} : { trace: { trace_id } }),
        deliver,
        onReceipt: () => void (after ??= read()),
      });
      const result = toJson(resultOf(reply));
      const snapshot = await (after ?? read());
      return { result, message_count: snapshot === undefined ? 0 : does.known(snapshot).metadata.message_count };
    } catch (error) {
      throw packetErrorOf(error, errorContext);
    }
  }

  async send(capabilityId: string, does: Acts, actor_id: string, payload: JsonObject, sending: Sending): Promise<void> {
    const { engine, replyMs } = this.#options;
    try {
      let accepted = false;
      const deliver = async (message: Outgoing): Promise<Reply> => {
        accepted = true;
        await engine.send(message);
        return { ok: null };
      };
      const address = await this.#resolveAddress(does, actor_id, sending);
      resultOf(await this.#call(capabilityId, does, actor_id, address, payload, sending.viewer, { deliver }));
      if (!accepted)
        throw new PacketError("validation_failed", `${capabilityId} sends no message for such a payload: request it instead.`, {
          actor_id,
        });
    } catch (error) {
      throw packetErrorOf(error, { actor_id, timeout_ms: replyMs });
    }
  }

  /** Starts the actor if it does not run. An actor addressed by a handle starts with its first call instead. */
  async ensureStarted(does: Acts, actor_id: string, sending: Sending): Promise<ActorId> {
    const { engine, replyMs } = this.#options;
    try {
      const address = await this.#resolveAddress(does, actor_id, sending);
      if (address === undefined || address.handle !== undefined) throw actorNotFound(actor_id);
      const { id } = address;
      const { viewer } = sending;
      if (!isLive(await engine.read(id))) resultOf(await engine.call({ to: id, action: BEGIN_ACTION, args: null, start: null, viewer }));
      return id;
    } catch (error) {
      throw packetErrorOf(error, { actor_id, timeout_ms: replyMs });
    }
  }

  async liveActorId({ behaviour }: Acts, actor_id: string, viewer: Viewer): Promise<ActorId> {
    const address = addressOf(behaviour, viewer, actor_id);
    const snapshot = address === undefined ? undefined : await this.#options.engine.read(address.id);
    if (address === undefined || !isLive(snapshot) || !isVisible(snapshot, viewer)) throw actorNotFound(actor_id);
    return address.id;
  }

  async #resolveAddress(
    { behaviour }: Acts,
    actor_id: string | undefined,
    { viewer, options = {} }: Sending,
  ): Promise<Address | undefined> {
    const { create_if_missing = true, state_timeout, persistence = behaviour.policy.persistence } = options;
    const address = addressOf(behaviour, viewer, actor_id);
    if (address === undefined && (actor_id !== undefined || !isByHandle(behaviour, viewer))) throw actorNotFound(actor_id ?? "");
    if (state_timeout !== undefined || persistence !== behaviour.policy.persistence)
      throw new PacketError("validation_failed", "How long this actor is kept, and where, is decided by its kind: leave it out.", {
        ...omitUndefined({ actor_id }),
      });
    if (address !== undefined && !create_if_missing && !isLive(await this.#options.engine.read(address.id)))
      throw actorNotFound(actor_id ?? "");
    return address;
  }

  async #call(
    capabilityId: string,
    does: Acts,
    actor_id: string | undefined,
    address: Address | undefined,
    payload: JsonObject,
    viewer: Viewer,
    options: CallOptions,
  ): Promise<Reply> {
    const copy = toJson(payload);
    const offered = isJsonObject(copy) ? does.own?.(copy) : undefined;
    if (offered === undefined)
      throw new PacketError("no_handler", `${capabilityId} has no handler for such a payload: name a tool of it as "tool".`, {
        ...omitUndefined({ actor_id }),
      });
    const { ref, args } = offered;
    const callArgs = address?.handle === undefined ? args : { ...args, handle: address.handle };
    const reply = await this.#sourceFor(does.behaviour).act(viewer, ref, callArgs, options);
    if (hasOwn(reply, "refused") && reply.refused.code === "HANDLE") throw actorNotFound(actor_id ?? "");
    return reply;
  }

  /** Cached until the registered kinds change. */
  #sourceFor({ kind }: Behaviour): Source {
    const { engine, clock, entropy, capabilities, handles } = this.#options;
    const { kinds } = capabilities;
    const { kinds: previous } = this.#sources;
    if (kinds.length !== previous.length || kinds.some((one, at) => one !== previous[at])) this.#sources = { kinds, byKind: new Map() };
    const { byKind } = this.#sources;
    let source = byKind.get(kind);
    if (source === undefined)
      byKind.set(kind, (source = cast({ engine, clock, entropy, kinds, only: kind, names: "dots", ...omitUndefined({ handles }) })));
    return source;
  }
}

/** A tool also accepts the handle as an argument, as over MCP. */
function handleIn({ behaviour }: Acts, payload: JsonObject, { viewer }: Sending): string | undefined {
  const handle = isByHandle(behaviour, viewer) ? getOwn(payload, "handle") : undefined;
  return typeof handle === "string" ? handle : undefined;
}

const isVisible = ({ owner }: Snapshot, { principal }: Viewer): boolean => owner === undefined || owner === principal;
