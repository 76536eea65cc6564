// Owns: indexes as a source: a resource with the first page of each, and a tool that queries it. Does not own: the rows (core/engine),
// actors (cast.ts).

import {
  type Behaviour,
  type CallOptions,
  type Catalogue,
  type ContentOf,
  type Dirty,
  type Engine,
  type Index,
  type IndexPage,
  type IndexQuery,
  isJsonObject,
  type Json,
  type JsonObject,
  type Offer,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { freezeDeep, INDEX_LIMITS, isVisibleTo, omitUndefined } from "../../core/contract/internal.ts";
import { refused, rootActor, unknownOffer } from "./actor-access.ts";
import { describeSource, refOf } from "./names.ts";

export interface IndexSourceOptions {
  readonly engine: Engine;
  readonly indexes: readonly Index[];
  /** Their kinds: a viewer's own actor of a kind is found by its rules. */
  readonly kinds: readonly Behaviour[];
  readonly onFault: (error: unknown, index: Index) => void;
}

const VALUE: JsonObject = { type: ["string", "number", "boolean", "null"] };
const BOUND: JsonObject = { type: ["string", "number"] };
const CONDITION: JsonObject = {
  description: "A value it equals, or { in: [values] }, { gte, lte } (numbers or texts) or { prefix }.",
  anyOf: [
    VALUE,
    {
      type: "object",
      properties: { in: { type: "array", items: VALUE, maxItems: INDEX_LIMITS.values } },
      required: ["in"],
      additionalProperties: false,
    },
    { type: "object", properties: { gte: BOUND, lte: BOUND }, minProperties: 1, additionalProperties: false },
    { type: "object", properties: { prefix: { type: "string" } }, required: ["prefix"], additionalProperties: false },
  ],
};

const OUTPUT: JsonObject = {
  type: "object",
  properties: {
    items: {
      type: "array",
      items: { type: "object", properties: { id: { type: "string" }, key: { type: "string" } }, required: ["id", "key"] },
    },
    next: { type: "string", description: "The cursor of the next page. Absent: there is none." },
    count: { type: "integer" },
  },
  required: ["items"],
};

/** The indexes that have a `uri` or a `tool`. Throws `ENGINE_MISSING` if the engine has no indexes. */
export function indexSource(options: IndexSourceOptions): Source {
  if (options.engine.query === undefined || options.engine.watchIndex === undefined)
    throw new TroupeError("ENGINE_MISSING", "This engine has no indexes: serve these actors with a LocalEngine, or without `indexes`.");
  const source = new IndexSource(options);
  describeSource(source, `the indexes ${options.indexes.map(({ name }) => name).join(", ")}`);
  return source;
}

class IndexSource implements Source {
  readonly #engine: Engine;
  readonly #byRef = new Map<OfferRef, Index>();
  readonly #kinds: ReadonlyMap<string, Behaviour>;
  readonly #catalogue: Catalogue;
  readonly #onFault: IndexSourceOptions["onFault"];
  /** Surfaces by the names of what they hide: equal ones are one object, so that a list is computed once. */
  readonly #surfaces = new Map<string, Surface>();
  readonly #reported = new Set<Index>();

  constructor({ engine, indexes, kinds, onFault }: IndexSourceOptions) {
    this.#engine = engine;
    this.#kinds = new Map(kinds.map((behaviour) => [behaviour.kind, behaviour]));
    this.#onFault = onFault;
    const tools: Offer[] = [];
    const resources: Offer[] = [];
    for (const index of indexes) {
      if (index.tool !== undefined) tools.push(toolOf(index, index.tool));
      if (index.uri !== undefined) resources.push(resourceOf(index, index.uri));
      for (const ref of refsOf(index)) this.#byRef.set(ref, index);
    }
    this.#catalogue = freezeDeep({ tools, resources, prompts: [], links: {} });
  }

  surface(viewer: Viewer): Surface {
    const hidden = [...this.#byRef].flatMap(([ref, index]): OfferRef[] => (this.#isVisible(index, viewer) ? [] : [ref]));
    const key = hidden.join(" ");
    let surface = this.#surfaces.get(key);
    if (surface === undefined)
      this.#surfaces.set(key, (surface = { catalogue: this.#catalogue, off: Object.fromEntries(hidden.map((ref) => [ref, true])) }));
    return surface;
  }

  catalogue(): Catalogue {
    return this.#catalogue;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, _options: CallOptions): Promise<Reply> {
    const index = this.#byRef.get(ref);
    if (index === undefined || !this.#isVisible(index, viewer)) return unknownOffer;
    const query = isJsonObject(args) && ref.startsWith("tools/") ? args : {};
    try {
      const page: unknown = await this.#query(index, viewer, query);
      return { ok: isJsonObject(page) ? page : { items: [] } };
    } catch (error) {
      if (error instanceof TroupeError && error.code === "BAD_QUERY") return refused("INVALID", error.message);
      throw error;
    }
  }

  async #query(
    index: Index,
    viewer: Viewer,
    { where, text, order, limit, cursor, count }: JsonObject,
  ): Promise<IndexPage<object> | undefined> {
    // The engine checks the values, whose types are those of the client.
    const query: IndexQuery<object> = JSON.parse(JSON.stringify({ where, text, order, limit, cursor, count }));
    return this.#engine.query?.(index, { ...query, viewer: this.#asOwner(index, viewer) });
  }

  /** The viewer as the actor of the index's kind that stands for it, if any. */
  #asOwner(index: Index, viewer: Viewer): Viewer {
    const behaviour = this.#kinds.get(index.kind);
    const self = behaviour?.per === "user" ? rootActor(behaviour, viewer) : undefined;
    return self === undefined ? viewer : { ...viewer, self };
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    if (only === undefined && !contents) return () => undefined;
    const undos = [...this.#byRef].flatMap(([ref, index]) =>
      (only === undefined ? ref.startsWith("resources/") : ref === only.ref) ? [this.#watchOne(index, ref, viewer, dirty)] : [],
    );
    return () => {
      for (const undo of undos) undo?.();
    };
  }

  #watchOne(index: Index, ref: OfferRef, viewer: Viewer, dirty: Dirty): (() => void) | undefined {
    const { principal, self } = this.#asOwner(index, viewer);
    const { visible } = index;
    return this.#engine.watchIndex?.(index, ({ id, owner, principals = [] }) => {
      // C8: a viewer is notified only of what its own page may show.
      const isOwn =
        typeof visible === "object"
          ? principal !== undefined && principals.includes(principal)
          : visible !== "owner" || (owner !== undefined && owner === principal) || id === self;
      if (isOwn && this.#isVisible(index, viewer)) dirty(ref);
    });
  }

  #isVisible(index: Index, viewer: Viewer): boolean {
    try {
      return isVisibleTo(index, viewer);
    } catch (error) {
      // It is called for each list and change: one report is enough.
      if (!this.#reported.has(index)) this.#onFault(error, index);
      this.#reported.add(index);
      return false;
    }
  }
}

const refsOf = ({ name, uri, tool }: Index): readonly OfferRef[] => [
  ...(uri === undefined ? [] : [refOf("resources", name)]),
  ...(tool === undefined ? [] : [refOf("tools", tool)]),
];

const describe = ({ kind, description }: Index): string => description ?? `Actors of the kind ${kind}, by their contents.`;

function resourceOf(index: Index, uri: string): Offer {
  const { name, title } = index;
  const definition = { uri, name, ...omitUndefined({ title }), description: describe(index), mimeType: "application/json" };
  return { name, action: refOf("resources", name), readOnly: true, definition };
}

function toolOf(index: Index, name: string): Offer {
  const { fields, order, title, text } = index;
  const inputSchema: JsonObject = {
    type: "object",
    properties: {
      where: {
        type: "object",
        description: "Conditions by field, all of which must hold.",
        properties: Object.fromEntries(fields.map((field) => [field, CONDITION])),
        maxProperties: INDEX_LIMITS.filters,
        additionalProperties: false,
      },
      ...(text === undefined
        ? {}
        : { text: { type: "string", description: `Words, "phrases" and prefixes* that ${text.join(", ")} must have, all of them.` } }),
      order: { enum: ["asc", "desc"], description: `Of ${order ?? "the key"}. Default asc.` },
      limit: { type: "integer", minimum: 1, maximum: INDEX_LIMITS.page, description: `Default ${INDEX_LIMITS.defaultPage}.` },
      cursor: { type: "string", description: "`next` of the previous page." },
      count: { type: "boolean", description: "Count all that match." },
    },
    additionalProperties: false,
  };
  return {
    name,
    action: refOf("tools", name),
    readOnly: true,
    definition: {
      ...omitUndefined({ title }),
      description: describe(index),
      inputSchema,
      outputSchema: OUTPUT,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
  };
}
