// Owns: the four lists: their entries in the shape of each revision, cut into pages that are serialised once. Does not own: which entries
// are listed (mcp/source).
import { type JsonObject, type Catalogue, isJsonObject, isList, type Json, type Log, type Surface } from "../../core/contract/index.ts";
import { memoize, andThen, wellFormed } from "../../core/contract/internal.ts";
import { sha256Base64url, utf8Of } from "../../core/platform/index.ts";
import { type Entry, hidesOffers, listed, type Lists } from "../source/index.ts";
import type { Call, Method, Outcome, SerialisedMembers } from "./call.ts";
import { listModeFor } from "./core.ts";
import { Fault } from "./errors.ts";
import { missingOffersMeta } from "./find-offer.ts";
import type { Settings } from "./options.ts";
import { type Feature, has, type Revision } from "./revision.ts";

/** One page of a list as the members of its result, which are serialised once and written as they are. */
export class Page implements SerialisedMembers {
  /** Undefined: the first page. */
  readonly cursor: string | undefined;
  readonly text: string;
  #ending = "";
  #bytes: Uint8Array | undefined;

  constructor(cursor: string | undefined, text: string) {
    this.cursor = cursor;
    this.text = text;
  }

  /** The page with the end of its reply, which is nearly always the same: one piece less to write. */
  before(ending: string): Uint8Array {
    if (this.#bytes === undefined || this.#ending !== ending) {
      this.#bytes = utf8Of(this.text + wellFormed(ending));
      this.#ending = ending;
    }
    return this.#bytes;
  }
}

// Up to here a list is one page, for clients that read only the first; a longer answer would be too much for many of them.
const MOST_CHARACTERS = 4_194_304;

/** Names an entry in the cursor of the page after it. */
const markOf = ({ uri }: Entry): string => sha256Base64url(JSON.stringify(uri) ?? "").slice(0, 12);

const placesOf = memoize((entries: readonly Entry[]) => new Map(entries.map((entry, at) => [markOf(entry), at])));

/** The pages of lists, cut and serialised once per list and revision. */
export class Pages {
  readonly #size: number;
  readonly #tasks: boolean;
  readonly #first: (list: keyof Lists, entries: readonly Entry[]) => void;
  readonly #pagesOf = memoize((_entries: readonly Entry[]) => new Map<Revision, readonly Page[]>());

  /** `first` is called for each new list, once for each revision. `tasks`: whether calls can become tasks. */
  constructor(size: number, tasks: boolean, first: (list: keyof Lists, entries: readonly Entry[]) => void = () => undefined) {
    this.#size = size;
    this.#tasks = tasks;
    this.#first = first;
  }

  /**
   * Throws `PARAMS` for a cursor of another list, or of this one before it changed. `follows`: the list follows the state, and so may
   * change while it is read; it continues after the last entry of the page, as long as that is in the list.
   */
  page(list: keyof Lists, entries: readonly Entry[], revision: Revision, cursor: string | undefined, follows = false): Page {
    const page =
      this.#pages(list, entries, revision, follows).find((one) => one.cursor === cursor) ??
      (follows && cursor !== undefined ? this.#after(list, entries, revision, cursor) : undefined);
    if (page === undefined) throw new Fault("PARAMS", "This cursor is of no page of the list as it is now; start again without a cursor.");
    return page;
  }

  #after(list: keyof Lists, entries: readonly Entry[], revision: Revision, cursor: string): Page | undefined {
    const at = placesOf(entries).get(cursor.slice(cursor.lastIndexOf(".") + 1));
    if (at === undefined) return undefined;
    const texts = this.#textsOf(list, entries.slice(at + 1, at + 1 + this.#size), revision);
    const here = texts.slice(0, this.#count(texts, 0));
    const last = here.length === 0 ? undefined : entries[at + here.length];
    const next = last === undefined || at + 1 + here.length === entries.length ? undefined : `after.${markOf(last)}`;
    return new Page(cursor, written(list, here, next));
  }

  #pages(list: keyof Lists, entries: readonly Entry[], revision: Revision, follows: boolean): readonly Page[] {
    const made = this.#pagesOf(entries);
    let pages = made.get(revision);
    if (pages === undefined) {
      this.#first(list, entries);
      pages = this.#cut(list, entries, revision, follows);
      made.set(revision, pages);
    }
    return pages;
  }

  /** The number of entries from `from` on that make one page. */
  #count(texts: readonly string[], from: number): number {
    let characters = 0;
    let count = 0;
    for (let at = from; at < texts.length && count < this.#size; at += 1) {
      characters += texts[at]?.length ?? 0;
      if (count > 0 && characters > MOST_CHARACTERS) break;
      count += 1;
    }
    return count;
  }

  #cut(list: keyof Lists, entries: readonly Entry[], revision: Revision, follows: boolean): readonly Page[] {
    const texts = this.#textsOf(list, entries, revision);
    const starts = [0];
    for (let at = this.#count(texts, 0); at < texts.length; at += this.#count(texts, at)) starts.push(at);
    // The same list has the same cursors in every process; a changed list has different ones.
    const digest = sha256Base64url(list + texts.join("\n")).slice(0, 16);
    const cursorOf = (at: number): string | undefined => {
      const last = entries[(starts[at] ?? 0) - 1];
      if (last === undefined) return undefined;
      return follows ? `${digest}.${at}.${markOf(last)}` : `${digest}.${at}`;
    };
    return starts.map((start, at) => new Page(cursorOf(at), written(list, texts.slice(start, starts[at + 1]), cursorOf(at + 1))));
  }

  #textsOf(list: keyof Lists, entries: readonly Entry[], revision: Revision): readonly string[] {
    return entries.map((entry) => {
      const shaped = shapeEntry(list, entry, revision);
      // A client would refuse to call a tool that must be a task on a server without tasks.
      return wellFormed(JSON.stringify(this.#tasks ? shaped : without(shaped, "execution")));
    });
  }
}

const written = (list: keyof Lists, texts: readonly string[], nextCursor: string | undefined): string =>
  `"${list}":[${texts.join(",")}]${nextCursor === undefined ? "" : `,"nextCursor":"${nextCursor}"`}`;

// Member → the feature that introduced it; null: every revision has it. Members that are not here are not sent.
const MEMBERS: Readonly<Record<keyof Lists, Readonly<Record<string, Feature | null>>>> = {
  tools: {
    name: null,
    title: "titles",
    description: null,
    inputSchema: null,
    outputSchema: "outputSchema",
    annotations: "toolAnnotations",
    icons: "icons",
    execution: "tasks",
    _meta: "definitionMeta",
  },
  resources: {
    name: null,
    title: "titles",
    uri: null,
    description: null,
    mimeType: null,
    annotations: null,
    size: null,
    icons: "icons",
    _meta: "definitionMeta",
  },
  resourceTemplates: {
    name: null,
    title: "titles",
    uriTemplate: null,
    description: null,
    mimeType: null,
    annotations: null,
    icons: "icons",
    _meta: "definitionMeta",
  },
  prompts: { name: null, title: "titles", description: null, arguments: null, icons: "icons", _meta: "definitionMeta" },
};

/** A list's entry, given in its newest shape, in the shape of that revision. */
export function shapeEntry(list: keyof Lists, entry: JsonObject, revision: Revision): JsonObject {
  const shaped: Record<string, Json> = {};
  for (const [member, feature] of Object.entries(MEMBERS[list])) {
    const value = entry[member];
    if (value !== undefined && (feature === null || has(revision, feature))) shaped[member] = value;
  }
  if (list === "tools") shapeTool(shaped, entry, revision);
  if (list === "prompts" && isList(shaped["arguments"]) && !has(revision, "titles"))
    shaped["arguments"] = shaped["arguments"].map((argument) => without(argument, "title"));
  if (isJsonObject(shaped["annotations"]) && list !== "tools" && !has(revision, "titles"))
    shaped["annotations"] = without(shaped["annotations"], "lastModified");
  return shaped;
}

function shapeTool(shaped: Record<string, Json>, entry: JsonObject, revision: Revision): void {
  const { inputSchema, outputSchema } = shaped;
  if (!isJsonObject(inputSchema)) shaped["inputSchema"] = { type: "object" };
  else if (inputSchema["type"] !== "object") shaped["inputSchema"] = { ...objectsIn(inputSchema), type: "object" };
  else shaped["inputSchema"] = objectsIn(inputSchema);
  if (isJsonObject(outputSchema)) shaped["outputSchema"] = objectsIn(outputSchema);
  // Before 2026-07-28 structured content is an object, and so its schema is, too.
  if (isJsonObject(outputSchema) && outputSchema["type"] !== "object" && !has(revision, "anyStructured")) delete shaped["outputSchema"];
  // In 2025-03-26 the title is one of the annotations.
  if (entry["title"] !== undefined && !has(revision, "titles") && has(revision, "toolAnnotations"))
    shaped["annotations"] = { title: entry["title"], ...(isJsonObject(shaped["annotations"]) ? shaped["annotations"] : undefined) };
}

// `true` and `false` are schemas, but a client of the revisions up to 2025-11-25 refuses the whole list because of one.
function objectsIn(schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isJsonObject(properties) || !Object.values(properties).some((one) => typeof one === "boolean")) return schema;
  const objects = Object.entries(properties).map(([name, one]) => [name, one === true ? {} : one === false ? { not: {} } : one]);
  return { ...schema, properties: Object.fromEntries(objects) };
}

function without(value: Json, member: string): Json {
  if (!isJsonObject(value) || !(member in value)) return value;
  const { [member]: _, ...rest } = value;
  return rest;
}

function listing(list: keyof Lists, pages: Pages, log: Log): Method {
  const outcome = (surface: Surface, call: Call): Outcome => {
    const { cursor } = call.params;
    if (cursor !== undefined && cursor !== null && (typeof cursor !== "string" || cursor.length > 256))
      throw new Fault("PARAMS", "A cursor is text this server gave.");
    const listMode = listModeFor(surface, call.listMode);
    const lists = listed(surface, listMode);
    const follows = list === "resources" && followsState(surface.catalogue);
    const page = pages.page(list, lists[list], call.revision, typeof cursor === "string" ? cursor : undefined, follows);
    call.onListed?.(lists, list);
    const meta = missingOffersMeta(surface.catalogue, log);
    return {
      members: page,
      lasting: listMode === "static" && meta === undefined && !follows && !hidesOffers(surface),
      ...(meta === undefined ? undefined : { meta }),
    };
  };
  return (call) => andThen(call.source.surface(call.viewer), outcome, call);
}

const followsState = memoize((catalogue: Catalogue): boolean => catalogue.resources.some((offer) => offer.listed));

export function listMethods({ pageSize, log, tasks }: Settings): Readonly<Record<string, Method>> {
  const pages = new Pages(pageSize, tasks, warnOfUnionInputs(log));
  return {
    "tools/list": listing("tools", pages, log),
    "resources/list": listing("resources", pages, log),
    "resources/templates/list": listing("resourceTemplates", pages, log),
    "prompts/list": listing("prompts", pages, log),
  };
}

const UNIONS = ["oneOf", "anyOf", "allOf"];
const MOST_KNOWN = 1_000;

const isUnion = ({ inputSchema }: Entry): boolean => isJsonObject(inputSchema) && UNIONS.some((keyword) => keyword in inputSchema);

/** Logs, once for each tool, that models may never see it. MCP allows such a schema, so its author would not learn it otherwise. */
function warnOfUnionInputs(log: Log): (list: keyof Lists, entries: readonly Entry[]) => void {
  const known = new Set<string>();
  return (list, entries) => {
    if (list !== "tools" || known.size > MOST_KNOWN) return;
    const tools = entries.filter((entry) => !known.has(entry.name) && isUnion(entry)).map(({ name }) => name);
    if (tools.length === 0) return;
    for (const name of tools) known.add(name);
    log("warning", {
      event: "union-inputs",
      tools,
      text: "At its root the input of these is a union. OpenAI and Anthropic refuse a request with such a tool, and some clients leave it out: put the union into a property.",
    });
  };
}
