// Owns: a source whose offers are reached through two tools, one that lists and one that calls. Does not own: the offers.
import {
  type CallOptions,
  type Catalogue,
  type ContentOf,
  type Dirty,
  isJsonObject,
  type Json,
  type Offer,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  type Viewer,
} from "../../core/contract/index.ts";
import { andThen, hasOwn, memoize, missingScopes, missingScopesMessage, omitUndefined, scopesOf } from "../../core/contract/internal.ts";
import { judgesMisfits } from "../../core/schema/index.ts";
import { lacksScope, refused, scopeRefusal, unknownOffer } from "./actor-access.ts";
import { checkJson } from "./json.ts";
import { type Entry, listed } from "./lists.ts";
import { describeSource, offersOf, refOf, sourceWords, splitRef } from "./names.ts";

/**
 * For clients that never refresh a list: two tools that never change. `actions` lists what is possible now and why other actions are not;
 * `act` does one of them. Resources and prompts stay as they are.
 */
export function meta(source: Source): Source {
  const made = new MetaSource(source);
  describeSource(made, `the meta tools of ${sourceWords(source, 0)}`);
  return made;
}

const ACTIONS: Offer = {
  name: "actions",
  action: "actions",
  readOnly: true,
  definition: {
    title: "What is possible now",
    description:
      "Lists the actions that are possible now, each with its arguments, and why others are not. Ask again after each act: it changes.",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
};

const ACT: Offer = {
  name: "act",
  action: "act",
  readOnly: false,
  definition: {
    title: "Act",
    description: "Does one of the actions that the tool `actions` lists.",
    inputSchema: {
      type: "object",
      properties: {
        action: { type: "string", description: "Its name, as `actions` lists it." },
        arguments: { type: "object", description: "Its arguments, by name." },
      },
      required: ["action"],
      additionalProperties: false,
    },
  },
};

class MetaSource implements Source {
  readonly #source: Source;
  readonly complete?: NonNullable<Source["complete"]>;

  constructor(source: Source) {
    this.#source = source;
    if (source.complete !== undefined) this.complete = (...given) => source.complete?.(...given) ?? Promise.resolve([]);
  }

  get instructions(): string | undefined {
    return this.#source.instructions;
  }

  surface(viewer: Viewer): Surface | Promise<Surface> {
    return andThen(this.#source.surface(viewer), surfaceIn);
  }

  catalogue(viewer: Viewer): Catalogue | undefined {
    const inner = this.#source.catalogue?.(viewer);
    return inner && catalogueIn(inner);
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    if (ref === "tools/actions") return this.#actions(viewer, await this.#source.surface(viewer));
    if (ref === "tools/act") return this.#act(viewer, args, options);
    return splitRef(ref)?.list === "tools" ? unknownOffer : this.#source.act(viewer, ref, args, options);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void {
    return this.#source.watch(viewer, (ref) => dirty(ref), only, contents);
  }

  #actions(viewer: Viewer, surface: Surface): Reply {
    const possible = listed(surface, "dynamic").tools.map(describeAction);
    const impossible = surface.catalogue.tools.flatMap(({ name, definition }) => {
      const why = surface.off[refOf("tools", name)];
      if (typeof why !== "string") return [];
      // A reason may reveal the state, so it is for callers with the scopes: the others learn which scopes they lack, as from a call.
      const lacks = missingScopes(scopesOf(definition), viewer.scopes);
      return [{ action: name, why: lacks.length > 0 ? missingScopesMessage(lacks) : why }];
    });
    return { ok: { possible, impossible } };
  }

  async #act(viewer: Viewer, args: Json, options: CallOptions): Promise<Reply> {
    const { action, arguments: given = {} } = isJsonObject(args) ? args : {};
    if (typeof action !== "string") return refused("INVALID", "Give `action`: one that the tool `actions` lists.");
    const ref = refOf("tools", action);
    const known = this.#source.catalogue?.(viewer);
    let offer = known && offersOf(known).get(ref);
    const surface = await this.#source.surface(viewer);
    offer ??= offersOf(surface.catalogue).get(ref);
    // It may be an action of a source that is unavailable now. Law 3: a hidden action is answered alike.
    const fault = surface.catalogue.missing?.find(({ code }) => code !== "BAD_NAME");
    const none = (): Reply => {
      if (fault !== undefined) throw fault;
      return noAction(action);
    };
    if (offer === undefined) return none();
    const { definition } = offer;
    const scopes = scopesOf(definition);
    const isHidden = surface.off[ref] === true;
    // Checked before the arguments. Law 3: a hidden action is unknown, whatever scopes it needs.
    if (lacksScope(scopes, viewer)) return isHidden ? none() : scopeRefusal(scopes, viewer);
    // By the definition, without the current choices: the turn decides those.
    const schema = definition["inputSchema"];
    const checked = isJsonObject(schema) && surface.off[ref] === undefined ? checkJson(schema, given) : { value: given };
    if ("wrong" in checked && !judgesMisfits(offer, given)) return refused("INVALID", `arguments of ${action}: ${checked.wrong}`);
    const reply = await this.#source.act(viewer, ref, given, options);
    if (!hasOwn(reply, "refused") || reply.refused.code !== "UNKNOWN") return reply;
    return isHidden ? none() : noAction(action);
  }
}

/** An `INVALID` argument of the model, since the client's request names an existing tool. */
const noAction = (action: string): Reply =>
  refused("INVALID", `There is no action ${JSON.stringify(action.slice(0, 128))} now. The tool \`actions\` lists those there are.`);

const TOOLS: readonly Offer[] = Object.freeze([ACTIONS, ACT]);

const catalogueIn = memoize((catalogue: Catalogue): Catalogue => {
  const { links: _, ...rest } = catalogue;
  return { ...rest, tools: TOOLS };
});

const surfaceIn = memoize(({ catalogue, off, choices = {} }: Surface): Surface => ({
  catalogue: catalogueIn(catalogue),
  off: withoutTools(off),
  choices: withoutTools(choices),
}));

const describeAction = ({ name, description, inputSchema }: Entry): Json =>
  omitUndefined({ action: name, description, arguments: inputSchema });

function withoutTools<T>(record: Readonly<Record<OfferRef, T>>): Record<OfferRef, T> {
  const result: Record<OfferRef, T> = {};
  for (const [ref, value] of Object.entries(record)) {
    const parts = splitRef(ref);
    if (parts !== undefined && parts.list !== "tools") result[refOf(parts.list, parts.name)] = value;
  }
  return result;
}
