import {
  type Bag,
  type Catalogue,
  isBag,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type OptionRule,
  TEXTS,
} from "../../core/contract/index.ts";
import { ANNOTATIONS, ARGUMENT, HINTS, ICONS, firstInvalidField, OBJECT, SIZE, TEXT } from "../../core/contract/internal.ts";
import { METHOD_NOT_FOUND, RpcError, faultOf } from "./failures.ts";

// Owns: a mounted server's lists: how they are read, checked and retained.
// Does not own: notifying clients of changes (subscriptions.ts).

type Ask = (method: string, params: Bag) => Promise<Bag>;

/** What a server lists, as a catalogue. */
export interface Listed {
  readonly catalogue: Catalogue;
  readonly offers: ReadonlyMap<OfferRef, Offer>;
}

interface ListingOptions {
  readonly ask: Ask;
  /** What the server said it has. */
  readonly capabilities: Bag;
  readonly maxListed: number;
  /** An entry that is left out, and why. */
  readonly fault: (error: unknown) => void;
}

interface Place {
  readonly capability: ListName;
  readonly method: string;
  readonly member: string;
  /** By what an entry is known here: a resource's name may be another's, its URI is not. */
  readonly key: "name" | "uri" | "uriTemplate";
}

const PLACES: readonly Place[] = [
  { capability: "tools", method: "tools/list", member: "tools", key: "name" },
  { capability: "resources", method: "resources/list", member: "resources", key: "uri" },
  { capability: "resources", method: "resources/templates/list", member: "resourceTemplates", key: "uriTemplate" },
  { capability: "prompts", method: "prompts/list", member: "prompts", key: "name" },
];

const isSchema = (one: Json): boolean => isBag(one) || typeof one === "boolean";

const SCHEMA: OptionRule = [
  "a JSON Schema",
  (value) =>
    isBag(value) &&
    firstInvalidField(value, { properties: OBJECT, required: TEXTS }) === undefined &&
    (!isBag(value["properties"]) || Object.values(value["properties"]).every(isSchema)),
];
const ARGUMENTS: OptionRule = ["a list of arguments", (value) => Array.isArray(value) && value.every((one) => ARGUMENT[1](one))];
const EVERY = { title: TEXT, description: TEXT, icons: ICONS, _meta: OBJECT };
const RULES: Readonly<Record<ListName, Readonly<Record<string, OptionRule>>>> = {
  tools: { ...EVERY, inputSchema: SCHEMA, outputSchema: SCHEMA, annotations: HINTS },
  resources: { ...EVERY, name: TEXT, mimeType: TEXT, size: SIZE, annotations: ANNOTATIONS },
  prompts: { ...EVERY, arguments: ARGUMENTS },
};

// What a longer one is called by, no client could ask for.
const MAX_NAME = 256;
const MAX_URI = 4_096;

/** All pages of all lists. What is as before is the same object: what hangs on a catalogue is kept. Rejects where a list cannot be had. */
async function readLists(options: ListingOptions, before: Listed | undefined): Promise<Listed> {
  const lists: Record<ListName, Offer[]> = { tools: [], resources: [], prompts: [] };
  const offers = new Map<OfferRef, Offer>();
  for (const place of PLACES) {
    if (options.capabilities[place.capability] === undefined) continue;
    for (const entry of await entriesOf(place, options)) {
      const offer = offerOf(place, fitting(place, entry, options.fault));
      const ref: OfferRef = `${place.capability}/${offer?.name ?? ""}`;
      if (offer === undefined || offers.has(ref)) {
        options.fault(
          new Error(`${place.method} has an entry ${offer === undefined ? "without a usable name" : "twice"}, which is left out.`),
        );
        continue;
      }
      const known = before?.offers.get(ref);
      const kept = known !== undefined && JSON.stringify(known.definition) === JSON.stringify(offer.definition) ? known : offer;
      offers.set(ref, kept);
      lists[place.capability].push(kept);
    }
  }
  if (before !== undefined && PLACES.every(({ capability }) => sameOffers(before.catalogue[capability], lists[capability]))) return before;
  return { catalogue: Object.freeze(lists), offers };
}

const sameOffers = (a: readonly Offer[], b: readonly Offer[]): boolean => a.length === b.length && a.every((one, at) => one === b[at]);

async function entriesOf({ method, member }: Place, { ask, maxListed, fault }: ListingOptions): Promise<readonly Bag[]> {
  const entries: Bag[] = [];
  let cursor: string | undefined;
  // A cursor that comes again leads nowhere, and one of many pages without entries neither.
  for (const seen = new Set<string>(); ; seen.add(cursor)) {
    let page: Bag;
    try {
      page = await ask(method, cursor === undefined ? {} : { cursor });
    } catch (error) {
      if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) return entries;
      throw error;
    }
    const found: Json = page[member] ?? [];
    entries.push(...(Array.isArray(found) ? found.filter(isBag) : []).slice(0, maxListed - entries.length));
    const next = page["nextCursor"];
    if (typeof next !== "string") return entries;
    if (seen.has(next) || seen.size >= 1_000 || entries.length >= maxListed) {
      fault(new Error(`${method} does not end: what comes after ${entries.length} entries is left out.`));
      return entries;
    }
    cursor = next;
  }
}

/** Clients refuse a whole list, what others serve in it too, over one member of one entry: such a member is left out. */
function fitting({ capability, method, key }: Place, entry: Bag, fault: (error: unknown) => void): Bag {
  const kept: Record<string, Json> = { ...entry };
  for (const [member, rule] of Object.entries(RULES[capability])) {
    const why = firstInvalidField(entry, { [member]: rule });
    if (why === undefined) continue;
    delete kept[member];
    fault(new Error(`${method}, ${JSON.stringify(entry[key])?.slice(0, 100)}: ${why}, and is left out.`));
  }
  return kept;
}

function offerOf({ capability, key }: Place, entry: Bag): Offer | undefined {
  const name = entry[key];
  if (typeof name !== "string" || name === "" || name.length > (key === "name" ? MAX_NAME : MAX_URI)) return undefined;
  const { name: shown, ...rest } = entry;
  const { annotations } = entry;
  return Object.freeze({
    name,
    action: name,
    readOnly: capability !== "tools" || (isBag(annotations) && annotations["readOnlyHint"] === true),
    definition: Object.freeze(key === "name" || shown === undefined ? rest : { ...rest, name: shown }),
    ...(capability === "tools" ? { checksArguments: true } : undefined),
    ...(key === "uriTemplate" ? { rawVariables: true } : undefined),
  });
}

export interface ListsOptions extends Omit<ListingOptions, "capabilities"> {
  /** What the server said of itself, once it has. */
  readonly said: () => Promise<Bag>;
}

/** A server's lists as they were read last. */
export class Lists {
  readonly #own: ListsOptions;
  #listed: Listed | undefined;
  #stale = true;
  #reading: Promise<Listed> | undefined;

  constructor(own: ListsOptions) {
    this.#own = own;
  }

  /** Undefined: they have to be read first. */
  get known(): Listed | undefined {
    return this.#stale ? undefined : this.#listed;
  }

  /** The server told that they are others now. */
  changed(): void {
    this.#stale = true;
  }

  /** Read once for all who ask meanwhile. Rejects where they were never read. */
  async get(): Promise<Listed> {
    if (this.known !== undefined) return this.known;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  // What changes while it is read is read again, but not for ever.
  async #read(): Promise<Listed> {
    const said = await this.#own.said().catch((error: unknown) => {
      throw faultOf(error, "initialize");
    });
    const capabilities = isBag(said["capabilities"]) ? said["capabilities"] : {};
    for (let round = 0; ; round += 1) {
      this.#stale = false;
      try {
        this.#listed = await readLists({ ...this.#own, capabilities }, this.#listed);
      } catch (error) {
        this.#stale = true;
        if (this.#listed === undefined) throw faultOf(error, "Reading its lists");
        // What is served beside it must not go with it.
        this.#own.fault(error);
        return this.#listed;
      }
      if (!this.#stale || round === 2) return this.#listed;
    }
  }
}
