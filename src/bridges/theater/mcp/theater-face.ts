// Owns: Theater's MCP server as a source: catalogue, dispatch, completion, instructions. Does not own: the tools, resources and prompts
// (their files).
import {
  boundsOf,
  type CallOptions,
  type Catalogue,
  checkOptions,
  type Closable,
  type ContentOf,
  type Dirty,
  isJsonObject,
  type Json,
  type JsonObject,
  type OfferRef,
  type OptionTable,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  type Viewer,
} from "../../../core/contract/index.ts";
import { TEXT } from "../../../core/contract/internal.ts";
import { describeSource } from "../../../mcp/source/index.ts";
import { type Stage, type StageActor, StageError } from "../stage.ts";
import { ActorListing } from "./actor-listing.ts";
import { actorTools, lookTools } from "./actor-tools.ts";
import { ChangeHints, PendingWaits } from "./change-hints.ts";
import { eventTools } from "./event-tools.ts";
import { channelTools, messageTools, receiveTools } from "./messaging-tools.ts";
import { FACE_LIMITS, type FaceOptions } from "./options.ts";
import { PROMPTS } from "./prompts.ts";
import { contentRefusal, toolRefusal } from "./refusals.ts";
import { readResource, RESOURCES } from "./resources.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { ViewerChannels } from "./viewer-channels.ts";
import { ChangePolls, watchResource } from "./watch-resource.ts";

/** Instructions for the client's model. */
const INSTRUCTIONS = `Theater runs actors: each has a state of its own, handles one message at a time, and leaves an event for everything that happened to it.

- See who is there: the resource theater://actors, or list_actors. One actor: theater://actor/{actor_id} and …/state, or get_actor. What happened to it: theater://events/{actor_id}, or get_events. Subscribe to any of these, or call wait_for_event.
- start_actor begins one from a manifest (a path, or the manifest's own text). An actor_id is the id it gives, or the actor's unique name.
- send_message tells an actor something; request_message asks and waits for the response. Data is base64 of the bytes the actor expects, often of JSON text.
- open_channel begins a conversation: send_on_channel speaks, receive_on_channel takes what the actor said since. A channel is yours alone and ends when the actor ends, when it is closed, or after ten minutes without a call.
- An actor whose handling fails is PAUSED with its last state. theater://events/{actor_id} says after which event; restart_actor resumes it. A restarted actor keeps its id and its state.`;

// The most that MCP allows in one answer.
const MAX_VALUES = 100;
// Each name is looked up, since only a unique one can replace an id.
const MAX_LOOKUPS = 20;

/** Ids, given names and unique names that begin with `typed`. An actor whose name may be ambiguous is completed by its id. */
async function completeActor(stage: Pick<Stage, "list" | "actor">, typed: string, limit: number): Promise<readonly string[]> {
  const prefix = typed.toLowerCase();
  const matches = (text: string | undefined): text is string => text?.toLowerCase().startsWith(prefix) === true;
  try {
    const actors = await stage.list(limit);
    const byId = actors.filter(({ id }) => matches(id)).map(({ id }) => id);
    if (prefix === "") return byId.slice(0, MAX_VALUES);
    const given = actors.map((actor) => actor.given).filter(matches);
    const byName = actors.filter((actor) => !matches(actor.given) && matches(actor.name)).slice(0, MAX_VALUES);
    let lookups = 0;
    const names = await Promise.all(
      byName.map(async (actor) => {
        const { id, name } = actor;
        if (isAmbiguous(actors, actor) || (lookups += 1) > MAX_LOOKUPS) return id;
        const found = await stage.actor(name).catch(() => undefined);
        return found?.id === id ? name : id;
      }),
    );
    return [...new Set([...given, ...names, ...byId])].slice(0, MAX_VALUES);
  } catch (error) {
    if (error instanceof StageError) return [];
    throw error;
  }
}

const isAmbiguous = (actors: readonly StageActor[], { id, name }: StageActor): boolean =>
  actors.some((other) => other.id !== id && (other.name === name || other.given === name));

const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [...actorTools, ...messageTools, ...channelTools, ...lookTools, ...eventTools, ...receiveTools].map((tool) => [tool.offer.name, tool]),
);

const CATALOGUE: Catalogue = {
  tools: Array.from(TOOLS.values(), ({ offer }) => offer),
  resources: RESOURCES,
  prompts: Array.from(PROMPTS.values(), ({ offer }) => offer),
};

const NOTHING: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {} };
const UNKNOWN: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };

const OPTIONS: OptionTable<FaceOptions> = {
  stage: true,
  clock: true,
  requireScope: TEXT,
  instructions: TEXT,
  limits: boundsOf(FACE_LIMITS),
};

/**
 * Theater's MCP server, as a source over any stage. Errors of the stage become tool errors with Theater's codes. Disposing it ends its
 * viewers' channels and waits, but not the stage.
 */
export function theaterFace(options: FaceOptions): Source & Closable {
  checkOptions("theaterFace", options, OPTIONS);
  const face = new TheaterFace(options);
  describeSource(face, "Theater's face");
  return face;
}

class TheaterFace implements Source, Closable {
  readonly instructions: string;
  readonly #scope: string | undefined;
  readonly #listing: ActorListing;
  readonly #context: ToolContext & { readonly polls: ChangePolls };

  constructor({ stage, clock = systemClock, requireScope, instructions = INSTRUCTIONS, limits: overrides }: FaceOptions) {
    const limits = { ...FACE_LIMITS, ...overrides };
    const hints = new ChangeHints(stage);
    this.instructions = instructions;
    this.#scope = requireScope;
    this.#listing = new ActorListing(stage, hints, CATALOGUE, { limit: limits.listed, clock });
    const channels = new ViewerChannels(stage, clock, limits);
    const polls = new ChangePolls(hints, clock);
    this.#context = { stage, clock, limits, hints, listing: this.#listing, channels, waits: new PendingWaits(), polls };
  }

  surface(viewer: Viewer): Surface | Promise<Surface> {
    return this.#admits(viewer) ? this.#listing.surface() : NOTHING;
  }

  // Without the resources of single actors: their URIs match a template, so a call does not depend on which actors exist.
  catalogue(viewer: Viewer): Catalogue {
    return this.#admits(viewer) ? CATALOGUE : NOTHING.catalogue;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    if (!this.#admits(viewer)) return UNKNOWN;
    const input = isJsonObject(args) ? args : {};
    const [list, name] = splitRef(ref);
    if (list === "tools") return this.#call(viewer, name, input, options);
    return list === "resources" ? this.#read(viewer, name, input) : this.#prompt(name, input);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf): () => void {
    if (!this.#admits(viewer)) return () => undefined;
    if (only === undefined) return this.#listing.watch(() => dirty());
    const [list, name] = splitRef(only.ref);
    if (list !== "resources") return () => undefined;
    return watchResource(this.#context, name, isJsonObject(only.args) ? only.args : {}, viewer, () => dirty(only.ref));
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string): Promise<readonly string[]> {
    const { stage, limits } = this.#context;
    const [list] = splitRef(ref);
    return this.#admits(viewer) && list !== "tools" && argument === "actor_id" ? completeActor(stage, value, limits.listed) : [];
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { waits, hints, channels } = this.#context;
    waits.close();
    hints.close();
    await channels.close();
  }

  #admits({ scopes }: Viewer): boolean {
    return this.#scope === undefined || scopes.includes(this.#scope);
  }

  async #call(viewer: Viewer, name: string, args: JsonObject, { signal }: CallOptions): Promise<Reply> {
    const tool = TOOLS.get(name);
    if (tool === undefined) return UNKNOWN;
    try {
      return { ok: await tool.run(this.#context, args, { viewer, signal }) };
    } catch (error) {
      return toolRefusal(this.#context.stage, error, args["actor_id"]);
    }
  }

  async #read(viewer: Viewer, name: string, args: JsonObject): Promise<Reply> {
    try {
      const text = await readResource(this.#context, name, args, viewer);
      return text === undefined ? UNKNOWN : { ok: text };
    } catch (error) {
      return contentRefusal(error, "UNKNOWN");
    }
  }

  async #prompt(name: string, args: JsonObject): Promise<Reply> {
    const prompt = PROMPTS.get(name);
    if (prompt === undefined) return UNKNOWN;
    try {
      return { ok: await prompt.get(this.#context, args) };
    } catch (error) {
      return contentRefusal(error, "INVALID");
    }
  }
}

function splitRef(ref: OfferRef): readonly [list: string, name: string] {
  const slash = ref.indexOf("/");
  return [ref.slice(0, slash), ref.slice(slash + 1)];
}
