import {
  type Closable,
  type JsonObject,
  type CallOptions,
  type Catalogue,
  type ContentOf,
  type Dirty,
  isJsonObject,
  type Json,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  type Viewer,
} from "../../../core/contract/index.ts";
import { describeSource } from "../../../mcp/source/index.ts";
import { actorTools } from "./actor-tools.ts";
import { PendingWaits } from "./bell.ts";
import { channelTools, receiveTools } from "./channel-tools.ts";
import { ViewerChannels } from "./channels.ts";
import { completeActor } from "./completion.ts";
import { eventTools } from "./event-tools.ts";
import { ChangeHints } from "./hints.ts";
import { INSTRUCTIONS } from "./instructions.ts";
import { ActorListing } from "./listing.ts";
import { lookTools } from "./look-tools.ts";
import { messageTools } from "./message-tools.ts";
import { FACE_LIMITS, type FaceOptions } from "./options.ts";
import { ChangePolls } from "./probes.ts";
import { PROMPTS } from "./prompts.ts";
import { readResource } from "./read-resource.ts";
import { promptRefusal, resourceRefusal, toolRefusal } from "./refusal.ts";
import { RESOURCES } from "./resource-offers.ts";
import type { ToolContext, Tool } from "./tool.ts";
import { watchResource } from "./watch-resource.ts";

const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [...actorTools, ...messageTools, ...channelTools, ...lookTools, ...eventTools, ...receiveTools].map((tool) => [tool.offer.name, tool]),
);

const CATALOGUE: Catalogue = {
  tools: Array.from(TOOLS.values(), ({ offer }) => offer),
  resources: RESOURCES,
  prompts: Array.from(PROMPTS.values(), ({ promptOffer: offer }) => offer),
};

const NOTHING: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {} };
const UNKNOWN: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };

/**
 * Theater's MCP server, as a source over any stage. Errors of the stage become tool errors with Theater's codes. Disposing it ends its
 * viewers' channels and waits, but not the stage.
 */
export function theaterFace(options: FaceOptions): Source & Closable {
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

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, _others: JsonObject): Promise<readonly string[]> {
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
      return resourceRefusal(error);
    }
  }

  async #prompt(name: string, args: JsonObject): Promise<Reply> {
    const prompt = PROMPTS.get(name);
    if (prompt === undefined) return UNKNOWN;
    try {
      return { ok: await prompt.get(this.#context, args) };
    } catch (error) {
      return promptRefusal(error);
    }
  }
}

function splitRef(ref: OfferRef): readonly [list: string, name: string] {
  const slash = ref.indexOf("/");
  return [ref.slice(0, slash), ref.slice(slash + 1)];
}
