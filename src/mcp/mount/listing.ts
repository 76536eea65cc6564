// Owns: a mounted server's lists: how they are read, checked and retained.
// Does not own: notifying clients of changes (subscriptions.ts).
import {
  type JsonObject,
  type Catalogue,
  isJsonObject,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type OptionRule,
  TEXTS,
} from "../../core/contract/index.ts";
import { counted, ANNOTATIONS, ARGUMENT, HINTS, ICONS, firstInvalidField, OBJECT, SIZE, TEXT } from "../../core/contract/internal.ts";
import { METHOD_NOT_FOUND, RpcError, faultOf } from "./failures.ts";

type Ask = (method: string, params: JsonObject) => Promise<JsonObject>;

/** The lists of a server as a catalogue. */
export interface Listed {
  readonly catalogue: Catalogue;
  readonly offers: ReadonlyMap<OfferRef, Offer>;
}

interface ListingOptions {
  readonly ask: Ask;
  /** The server's capabilities. */
  readonly capabilities: JsonObject;
  readonly maxListed: number;
  /** Called for each entry that is omitted, with the reason. */
  readonly fault: (error: unknown) => void;
}

interface ListMethod {
  readonly capability: ListName;
  readonly method: string;
  readonly member: string;
  /** The member that identifies an entry: names of resources are not unique, their URIs are. */
  readonly key: "name" | "uri" | "uriTemplate";
}

const LIST_METHODS: readonly ListMethod[] = [
  { capability: "tools", method: "tools/list", member: "tools", key: "name" },
  { capability: "resources", method: "resources/list", member: "resources", key: "uri" },
  { capability: "resources", method: "resources/templates/list", member: "resourceTemplates", key: "uriTemplate" },
  { capability: "prompts", method: "prompts/list", member: "prompts", key: "name" },
];

const isSchema = (one: Json): boolean => isJsonObject(one) || typeof one === "boolean";

const SCHEMA: OptionRule = [
  "a JSON Schema",
  (value) =>
    isJsonObject(value) &&
    firstInvalidField(value, { properties: OBJECT, required: TEXTS }) === undefined &&
    (!isJsonObject(value["properties"]) || Object.values(value["properties"]).every(isSchema)),
];
const ARGUMENTS: OptionRule = ["a list of arguments", (value) => Array.isArray(value) && value.every((one) => ARGUMENT[1](one))];
const EVERY = { title: TEXT, description: TEXT, icons: ICONS, _meta: OBJECT };
const RULES: Readonly<Record<ListName, Readonly<Record<string, OptionRule>>>> = {
  tools: { ...EVERY, inputSchema: SCHEMA, outputSchema: SCHEMA, annotations: HINTS },
  resources: { ...EVERY, name: TEXT, mimeType: TEXT, size: SIZE, annotations: ANNOTATIONS },
  prompts: { ...EVERY, arguments: ARGUMENTS },
};

// Longer names could not be requested by clients.
const MAX_NAME = 256;
const MAX_URI = 4_096;

/** Reads all pages of all lists. Unchanged offers are the same objects, so that caches by catalogue stay valid. Rejects if a list cannot be read. */
async function readLists(options: ListingOptions, before: Listed | undefined): Promise<Listed> {
  const lists: Record<ListName, Offer[]> = { tools: [], resources: [], prompts: [] };
  const offers = new Map<OfferRef, Offer>();
  for (const method of LIST_METHODS) {
    if (options.capabilities[method.capability] === undefined) continue;
    for (const entry of await entriesOf(method, options)) {
      const offer = offerOf(method, validMembers(method, entry, options.fault));
      const ref: OfferRef = `${method.capability}/${offer?.name ?? ""}`;
      if (offer === undefined || offers.has(ref)) {
        options.fault(
          new Error(`${method.method} has an entry ${offer === undefined ? "without a usable name" : "twice"}, which is left out.`),
        );
        continue;
      }
      const known = before?.offers.get(ref);
      const result = known !== undefined && JSON.stringify(known.definition) === JSON.stringify(offer.definition) ? known : offer;
      offers.set(ref, result);
      lists[method.capability].push(result);
    }
  }
  if (before !== undefined && LIST_METHODS.every(({ capability }) => sameOffers(before.catalogue[capability], lists[capability])))
    return before;
  return { catalogue: Object.freeze(lists), offers };
}

const sameOffers = (a: readonly Offer[], b: readonly Offer[]): boolean => a.length === b.length && a.every((one, at) => one === b[at]);

async function entriesOf({ method, member }: ListMethod, { ask, maxListed, fault }: ListingOptions): Promise<readonly JsonObject[]> {
  const entries: JsonObject[] = [];
  let cursor: string | undefined;
  // Stop at a repeated cursor, and after many pages.
  for (const seen = new Set<string>(); ; seen.add(cursor)) {
    let page: JsonObject;
    try {
      page = await ask(method, cursor === undefined ? {} : { cursor });
    } catch (error) {
      if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) return entries;
      throw error;
    }
    const found: Json = page[member] ?? [];
    entries.push(...(Array.isArray(found) ? found.filter(isJsonObject) : []).slice(0, maxListed - entries.length));
    const next = page["nextCursor"];
    if (typeof next !== "string") return entries;
    if (seen.has(next) || seen.size >= 1_000 || entries.length >= maxListed) {
      fault(new Error(`${method} does not end: what comes after ${counted(entries.length, "entry", "entries")} is left out.`));
      return entries;
    }
    cursor = next;
  }
}

/** Omits invalid members: clients would refuse the whole list, with the entries of other sources in it, because of one. */
function validMembers({ capability, method, key }: ListMethod, entry: JsonObject, fault: (error: unknown) => void): JsonObject {
  const result: Record<string, Json> = { ...entry };
  for (const [member, rule] of Object.entries(RULES[capability])) {
    const why = firstInvalidField(entry, { [member]: rule });
    if (why === undefined) continue;
    delete result[member];
    fault(new Error(`${method}, ${JSON.stringify(entry[key])?.slice(0, 100)}: ${why}, and is left out.`));
  }
  return result;
}

function offerOf({ capability, key }: ListMethod, entry: JsonObject): Offer | undefined {
  const name = entry[key];
  if (typeof name !== "string" || name === "" || name.length > (key === "name" ? MAX_NAME : MAX_URI)) return undefined;
  const { name: title, ...rest } = entry;
  const { annotations } = entry;
  return Object.freeze({
    name,
    action: name,
    readOnly: capability !== "tools" || (isJsonObject(annotations) && annotations["readOnlyHint"] === true),
    definition: Object.freeze(key === "name" || title === undefined ? rest : { ...rest, name: title }),
    ...(capability === "tools" ? { checksArguments: true } : undefined),
    ...(key === "uriTemplate" ? { rawVariables: true } : undefined),
  });
}

export interface ListsOptions extends Omit<ListingOptions, "capabilities"> {
  /** The result of the handshake. */
  readonly connected: () => Promise<JsonObject>;
}

/** A server's lists as they were last read. */
export class Lists {
  readonly #own: ListsOptions;
  #listed: Listed | undefined;
  #stale = true;
  #reading: Promise<Listed> | undefined;

  constructor(own: ListsOptions) {
    this.#own = own;
  }

  /** Undefined if they have to be read first. */
  get known(): Listed | undefined {
    return this.#stale ? undefined : this.#listed;
  }

  /** The server has notified of changes. */
  changed(): void {
    this.#stale = true;
  }

  /** Concurrent callers share one read. Rejects only if the lists were never read. */
  async get(): Promise<Listed> {
    if (this.known !== undefined) return this.known;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  // Lists that change while they are read are read again, at most twice.
  async #read(): Promise<Listed> {
    const initialized = await this.#own.connected().catch((error: unknown) => {
      throw faultOf(error, "initialize");
    });
    const capabilities = isJsonObject(initialized["capabilities"]) ? initialized["capabilities"] : {};
    for (let round = 0; ; round += 1) {
      this.#stale = false;
      try {
        this.#listed = await readLists({ ...this.#own, capabilities }, this.#listed);
      } catch (error) {
        this.#stale = true;
        if (this.#listed === undefined) throw faultOf(error, "Reading its lists");
        // An outdated list is better than none, which would fail the other sources too.
        this.#own.fault(error);
        return this.#listed;
      }
      if (!this.#stale || round === 2) return this.#listed;
    }
  }
}
