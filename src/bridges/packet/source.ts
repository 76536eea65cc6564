import {
  type CallOptions,
  type Catalogue,
  type ContentOf,
  type Dirty,
  type Engine,
  isJsonObject,
  type Json,
  type Log,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { describeSource } from "../../mcp/source/index.ts";
import { ActorWatch, type WatchedKind } from "./actor-watch.ts";
import type { Actors } from "./actors.ts";
import type { Capability } from "./capability.ts";
import { closestMatch, omitUndefined } from "../../core/contract/internal.ts";
import { PacketError } from "./packet-error.ts";
import { actorUri, type Expose, makeToolBook, type ToolBook } from "./tool-book.ts";
import { type Calling, callTool } from "./tool-call.ts";
import { NOTHING_THERE } from "./tool-reply.ts";

/** What a source takes that offers capabilities as MCP tools. */
export interface CapabilitySourceOptions extends Calling {
  readonly actors: Pick<Actors, "listActors" | "getActorState">;
  /** Where the actors are: whose changes are told. */
  readonly engine: Pick<Engine, "read" | "watch">;
  /** Default all. Of what is not exposed nothing is listed, called, read or told. */
  readonly expose?: Expose;
  /** False: only tools that capabilities define themselves. Default true. */
  readonly generate?: boolean;
  readonly instructions?: string;
  readonly log?: Log;
}

/**
 * Capabilities as MCP has them: tools, and what there is and who is at work as resources. A call runs its capability as the
 * viewer. Throws `NAME_COLLISION` where two tools have one name; where that comes about later, the tool that was there stays.
 */
export function capabilitySource(options: CapabilitySourceOptions): Source & Disposable & { close(): void } {
  const source = new CapabilitySource(options);
  describeSource(source, "the capabilities");
  return source;
}

// The most of one viewer's actors that are listed.
const MOST_LISTED = 1_000;

class CapabilitySource implements Source, Disposable {
  readonly instructions?: string;
  readonly #options: CapabilitySourceOptions;
  readonly #watch: ActorWatch;
  readonly #lists = new Set<Dirty>();
  readonly #undo: () => void;
  #book: ToolBook;
  #surface: Surface;

  constructor(options: CapabilitySourceOptions) {
    this.#options = options;
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#book = this.#made();
    const [first] = this.#book.taken;
    if (first !== undefined) throw new TroupeError("NAME_COLLISION", `${first}.`);
    this.#surface = { catalogue: this.#book.catalogue, off: {} };
    this.#warnOfUnknown();
    this.#watch = new ActorWatch(options.engine, kindsOf(this.#book), this.#log);
    this.#undo = options.capabilities.onChange(() => this.#changed());
  }

  surface(): Surface {
    return this.#surface;
  }

  catalogue(): Catalogue {
    return this.#book.catalogue;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    if (ref.startsWith("tools/")) {
      const booked = this.#book.tools.get(ref.slice("tools/".length));
      return booked === undefined ? NOTHING_THERE : callTool(this.#options, booked, viewer, isJsonObject(args) ? args : {}, options);
    }
    if (ref === "resources/capabilities") return { ok: this.#book.listing };
    if (ref === "resources/capability_actors") return { ok: await this.#actors(viewer) };
    return ref === "resources/capability_actor" ? this.#actor(viewer, args) : NOTHING_THERE;
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    if (only?.ref === "resources/capability_actors") return this.#watch.list(viewer, () => dirty("resources/capability_actors"));
    if (only?.ref === "resources/capability_actor") {
      const named = this.#named(only.args);
      if (named === undefined) return () => undefined;
      const { capability, actor_id } = named;
      const { behaviour, shared } = capability.does;
      return this.#watch.one(`${behaviour.kind}/${encodeURIComponent(actor_id)}`, shared, viewer, () =>
        dirty("resources/capability_actor"),
      );
    }
    if (only !== undefined && only.ref !== "resources/capabilities") return () => undefined;
    const own = (ref?: OfferRef): void => {
      if (only === undefined ? contents || ref === undefined : ref === only.ref) dirty(ref);
    };
    this.#lists.add(own);
    return () => void this.#lists.delete(own);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    this.#undo();
    this.#watch[Symbol.dispose]();
    this.#lists.clear();
  }

  // ── resources ─────────────────────────────────────────────────────────────

  async #actors(viewer: Viewer): Promise<Json> {
    const all = await this.#options.actors.listActors(viewer, MOST_LISTED);
    const own = all.filter(({ capability_id }) => this.#book.exposed.has(capability_id));
    return {
      actors: own.map(({ capability_id, actor_id }) => ({ capability_id, actor_id, uri: actorUri(capability_id, actor_id) })),
      ...(all.length < MOST_LISTED ? {} : { more: true }),
    };
  }

  async #actor(viewer: Viewer, args: Json): Promise<Reply> {
    const named = this.#named(args);
    if (named === undefined || (viewer.principal === undefined && !named.capability.does.shared)) return NOTHING_THERE;
    try {
      const { actor_id, capability_id, state, metadata } = await this.#options.actors.getActorState(
        named.capability.id,
        named.actor_id,
        viewer,
      );
      return { ok: { actor_id, capability_id, state, metadata: { ...metadata } } };
    } catch (error) {
      if (error instanceof PacketError && ABSENT.has(error.type)) return NOTHING_THERE;
      throw error;
    }
  }

  #named(args: Json) {
    if (!isJsonObject(args)) return undefined;
    const { capability: id, id: actor_id } = args;
    if (typeof id !== "string" || typeof actor_id !== "string") return undefined;
    const capability = this.#book.exposed.get(id);
    return capability !== undefined && isActor(capability) ? { capability, actor_id } : undefined;
  }

  // ── changes ───────────────────────────────────────────────────────────────

  #made(): ToolBook {
    const { capabilities, expose = "all", generate = true } = this.#options;
    return makeToolBook(capabilities.list(), expose, generate);
  }

  /** They may come later; who misspelt one waits for ever. */
  #warnOfUnknown(): void {
    const { expose = "all", capabilities } = this.#options;
    if (expose === "all") return;
    const ids = capabilities.list().map(({ id }) => id);
    for (const id of expose) {
      if (capabilities.get(id) !== undefined) continue;
      const meant = closestMatch(id, ids);
      this.#log("warning", { event: "exposed-unknown", capability_id: id, ...omitUndefined({ meant }) });
    }
  }

  #changed(): void {
    const known = new Set(this.#book.taken);
    this.#book = this.#made();
    this.#surface = { catalogue: this.#book.catalogue, off: {} };
    for (const why of this.#book.taken) if (!known.has(why)) this.#log("warning", { event: "tool-name-taken", why });
    this.#watch.see(kindsOf(this.#book));
    for (const dirty of Array.from(this.#lists)) {
      dirty();
      dirty("resources/capabilities");
    }
  }

  readonly #log: Log = (level, data, logger) => this.#options.log?.(level, data, logger);
}

const ABSENT: ReadonlySet<string> = new Set(["actor_not_found", "capability_not_found", "validation_failed"]);

type ActorsOf = Capability & { readonly does: { readonly how: "actor" } };

/** Whose actors publish their states. */
const isActor = (capability: Capability): capability is ActorsOf => capability.does.how === "actor" && capability.does.own === undefined;

const kindsOf = ({ exposed }: ToolBook): readonly WatchedKind[] =>
  [...exposed.values()].filter(isActor).map(({ does: { behaviour, shared } }) => ({ kind: behaviour.kind, shared }));
