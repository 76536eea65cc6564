// Owns: capabilities as an MCP source: tools, calls of them, and resources of capabilities and actors.
//   Does not own: the schemas of tools (mcp-tools.ts), notification of actors' changes (actor-watch.ts).
import {
  checkOptions,
  type OptionTable,
  FUNCTION,
  CONTENT,
  type CallOptions,
  type Catalogue,
  type ContentOf,
  type Dirty,
  type Engine,
  type Json,
  type JsonObject,
  type Log,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  TroupeError,
  type Viewer,
  isJsonObject,
} from "../../core/contract/index.ts";
import { closestMatch, getOwn, invalidInBlock, isContent, omitUndefined, wellFormed } from "../../core/contract/internal.ts";
import { describeSource } from "../../mcp/source/index.ts";
import { ActorWatch, type WatchedKind } from "./actor-watch.ts";
import type { Actors } from "./actors.ts";
import type { Capabilities } from "./capabilities.ts";
import { requiredFields } from "./capability-contract.ts";
import type { Capability, OfferedTool, RunCapability, RunOptions } from "./capability.ts";
import { AnswersNeeded } from "./error-mapping.ts";
import { ACTOR_ID, type IndexedTool, type Expose, type ToolIndex, actorUri, buildToolIndex } from "./mcp-tools.ts";
import { PacketError } from "./packet.ts";

/** Options of `capabilitySource`. */
export interface CapabilitySourceOptions extends ToolCallOptions {
  readonly actors: Pick<Actors, "listActors" | "getActorState">;
  /** The engine of the actors, for notification of their changes. */
  readonly engine: Pick<Engine, "read" | "watch">;
  /** Default all. Capabilities that are not exposed are not listed, called, read or notified. */
  readonly expose?: Expose;
  /** False: only tools that capabilities define themselves. Default true. */
  readonly generate?: boolean;
  readonly instructions?: string;
  readonly log?: Log;
}

const OPTIONS: OptionTable<CapabilitySourceOptions> = {
  capabilities: true,
  actors: true,
  run: true,
  engine: true,
  expose: true,
  generate: true,
  instructions: true,
  log: FUNCTION,
  toolTimeoutMs: true,
};

/**
 * Capabilities as an MCP source: tools, and resources that list capabilities and running actors. A call runs its capability as the viewer.
 * Throws `NAME_COLLISION` if two tools have one name. If that happens later, the earlier tool keeps the name.
 */
export function capabilitySource(options: CapabilitySourceOptions): Source & Disposable & { close(): void } {
  checkOptions("capabilitySource", options, OPTIONS);
  const source = new CapabilitySource(options);
  describeSource(source, "the capabilities");
  return source;
}

// Actors of one viewer in a list.
const MAX_LISTED = 1_000;

class CapabilitySource implements Source, Disposable {
  readonly instructions?: string;
  readonly #options: CapabilitySourceOptions;
  readonly #watch: ActorWatch;
  readonly #listeners = new Set<Dirty>();
  readonly #unsubscribe: () => void;
  #index: ToolIndex;
  #surface: Surface;

  constructor(options: CapabilitySourceOptions) {
    this.#options = options;
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#index = this.#buildIndex();
    const [first] = this.#index.collisions;
    if (first !== undefined) throw new TroupeError("NAME_COLLISION", `${first}.`);
    this.#surface = { catalogue: this.#index.catalogue, off: {} };
    this.#warnOfUnknown();
    this.#watch = new ActorWatch(options.engine, kindsOf(this.#index), this.#log);
    this.#unsubscribe = options.capabilities.onChange(() => this.#onCapabilitiesChanged());
  }

  surface(): Surface {
    return this.#surface;
  }

  catalogue(): Catalogue {
    return this.#index.catalogue;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    if (ref.startsWith("tools/")) {
      const found = this.#index.tools.get(ref.slice("tools/".length));
      return found === undefined ? UNKNOWN_REPLY : callTool(this.#options, found, viewer, isJsonObject(args) ? args : {}, options);
    }
    if (ref === "resources/capabilities") return { ok: this.#index.listing };
    if (ref === "resources/capability_actors") return { ok: await this.#actors(viewer) };
    return ref === "resources/capability_actor" ? this.#actor(viewer, args) : UNKNOWN_REPLY;
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    if (only?.ref === "resources/capability_actors") return this.#watch.watchList(viewer, () => dirty("resources/capability_actors"));
    if (only?.ref === "resources/capability_actor") {
      const named = this.#actorNamed(only.args);
      if (named === undefined) return () => undefined;
      const { capability, actor_id } = named;
      const { behaviour, shared } = capability.does;
      return this.#watch.watchActor(`${behaviour.kind}/${encodeURIComponent(actor_id)}`, shared, viewer, () =>
        dirty("resources/capability_actor"),
      );
    }
    if (only !== undefined && only.ref !== "resources/capabilities") return () => undefined;
    const listener = (ref?: OfferRef): void => {
      if (only === undefined ? contents || ref === undefined : ref === only.ref) dirty(ref);
    };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    this.#unsubscribe();
    this.#watch[Symbol.dispose]();
    this.#listeners.clear();
  }

  async #actors(viewer: Viewer): Promise<Json> {
    const all = await this.#options.actors.listActors(viewer, MAX_LISTED);
    const visible = all.filter(({ capability_id }) => this.#index.exposed.has(capability_id));
    return {
      actors: visible.map(({ capability_id, actor_id }) => ({ capability_id, actor_id, uri: actorUri(capability_id, actor_id) })),
      ...(all.length < MAX_LISTED ? {} : { more: true }),
    };
  }

  async #actor(viewer: Viewer, args: Json): Promise<Reply> {
    const named = this.#actorNamed(args);
    if (named === undefined || (viewer.principal === undefined && !named.capability.does.shared)) return UNKNOWN_REPLY;
    try {
      const { actor_id, capability_id, state, metadata } = await this.#options.actors.getActorState(
        named.capability.id,
        named.actor_id,
        viewer,
      );
      return { ok: { actor_id, capability_id, state, metadata: { ...metadata } } };
    } catch (error) {
      if (error instanceof PacketError && NOT_FOUND_TYPES.has(error.type)) return UNKNOWN_REPLY;
      throw error;
    }
  }

  #actorNamed(args: Json) {
    if (!isJsonObject(args)) return undefined;
    const { capability: id, id: actor_id } = args;
    if (typeof id !== "string" || typeof actor_id !== "string") return undefined;
    const capability = this.#index.exposed.get(id);
    return capability !== undefined && isActorCapability(capability) ? { capability, actor_id } : undefined;
  }

  #buildIndex(): ToolIndex {
    const { capabilities, expose = "all", generate = true } = this.#options;
    return buildToolIndex(capabilities.list(), expose, generate);
  }

  /** An exposed id may be registered later, so an unknown one is only a warning. */
  #warnOfUnknown(): void {
    const { expose = "all", capabilities } = this.#options;
    if (expose === "all") return;
    const ids = capabilities.list().map(({ id }) => id);
    for (const id of expose) {
      if (capabilities.get(id) !== undefined) continue;
      this.#log("warning", { event: "exposed-unknown", capability_id: id, ...omitUndefined({ meant: closestMatch(id, ids) }) });
    }
  }

  #onCapabilitiesChanged(): void {
    const known = new Set(this.#index.collisions);
    this.#index = this.#buildIndex();
    this.#surface = { catalogue: this.#index.catalogue, off: {} };
    for (const why of this.#index.collisions) if (!known.has(why)) this.#log("warning", { event: "tool-name-taken", why });
    this.#watch.setKinds(kindsOf(this.#index));
    for (const dirty of Array.from(this.#listeners)) {
      dirty();
      dirty("resources/capabilities");
    }
  }

  readonly #log: Log = (level, data, logger) => this.#options.log?.(level, data, logger);
}

const NOT_FOUND_TYPES: ReadonlySet<string> = new Set(["actor_not_found", "capability_not_found", "validation_failed"]);

type ActorCapability = Capability & { readonly does: { readonly how: "actor" } };

/** Capabilities whose actors have readable states. */
const isActorCapability = (capability: Capability): capability is ActorCapability =>
  capability.does.how === "actor" && capability.does.own === undefined;

const kindsOf = ({ exposed }: ToolIndex): readonly WatchedKind[] =>
  [...exposed.values()].filter(isActorCapability).map(({ does: { behaviour, shared } }) => ({ kind: behaviour.kind, shared }));

/** What tool calls need. */
interface ToolCallOptions {
  readonly capabilities: Capabilities;
  readonly run: RunCapability;
  /** Limit on a tool call in milliseconds. Default 30,000. */
  readonly toolTimeoutMs?: number;
}

/** Runs the capability as the viewer. A `PacketError` becomes a reply. */
async function callTool(
  { capabilities, run, toolTimeoutMs = 30_000 }: ToolCallOptions,
  { capability, tool }: IndexedTool,
  viewer: Viewer,
  args: JsonObject,
  options: CallOptions,
): Promise<Reply> {
  try {
    const { payload, actor_id } = payloadOf(capability, tool, args);
    const { peer, signal, key, onProgress, onLog, answers, can } = options;
    const { result } = await run(capability.id, payload, {
      viewer,
      context: contextOf(viewer, options),
      timeoutMs: toolTimeoutMs,
      ...omitUndefined({ actor_id, peer, signal, key, onProgress, onLog, answers, can }),
    });
    return toolReply(result);
  } catch (error) {
    if (error instanceof AnswersNeeded) return { needs: error.needs };
    if (!(error instanceof PacketError)) throw error;
    // Unregistered during the call: reply as to any later call.
    const isUnregistered = error.type === "capability_not_found" && capabilities.get(capability.id) === undefined;
    return isUnregistered ? UNKNOWN_REPLY : toolFailure(error);
  }
}

/** The payload and actor of a tool call. `actor_id` is part of the payload only if the capability requires it. */
function payloadOf(
  capability: Capability,
  tool: OfferedTool,
  args: JsonObject,
): { readonly payload: JsonObject; readonly actor_id?: string } {
  const { does, requires, parameters } = capability;
  if (does.how === "tools") return { payload: { tool: tool.name, parameters: args } };
  const actor_id = getOwn(args, ACTOR_ID);
  if (does.how !== "actor" || actor_id === undefined) return { payload: args };
  if (typeof actor_id !== "string")
    throw new PacketError("validation_failed", `${ACTOR_ID} must be text.`, {
      issues: [{ path: `/${ACTOR_ID}`, message: "must be text" }],
    });
  if (requires.includes(ACTOR_ID) || requiredFields(parameters).includes(ACTOR_ID)) return { payload: args, actor_id };
  const { [ACTOR_ID]: _named, ...payload } = args;
  return { payload, actor_id };
}

const TRACE_ID = /^[0-9a-f]{2}-([0-9a-f]{32})-/;

function contextOf({ principal }: Viewer, { trace }: CallOptions): RunOptions["context"] {
  const parent = trace?.["traceparent"];
  const trace_id = typeof parent === "string" ? TRACE_ID.exec(parent)?.[1] : undefined;
  return omitUndefined({ user_id: principal, trace_id });
}

/** A result as a reply to a tool call: text as it is, anything else as JSON, objects also as structured content. */
function toolReply(result: Json): Reply {
  // The result already has the form of content blocks. With one that clients cannot read, which they would refuse, it is data.
  if (isContent(result) && result[CONTENT].every((block) => !isJsonObject(block) || invalidInBlock(block) === undefined))
    return { ok: { isError: false, ...result } };
  const text = typeof result === "string" ? result : wellFormed(JSON.stringify(result));
  return { ok: { [CONTENT]: [{ type: "text", text }], ...(isJsonObject(result) ? { structured: result } : {}), isError: false } };
}

/** An error as a reply to a tool call: invalid arguments are a request error, all else an error result for the model. */
function toolFailure({ type, message, details }: PacketError): Reply {
  if (type === "validation_failed")
    return { refused: { code: "INVALID_PARAMS", message: "Invalid params", data: { capability_error: message } } };
  const structured = { error: { type, message, details } };
  return { ok: { [CONTENT]: [{ type: "text", text: `${type}: ${message}` }], structured, isError: true } };
}

const UNKNOWN_REPLY: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };
