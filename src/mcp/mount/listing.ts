import { type Bag, type Catalogue, isBag, type Json, type ListName, type Offer, type OfferRef } from "../../core/contract/index.ts";
import { METHOD_NOT_FOUND } from "./codes.ts";
import { RpcError } from "./rpc-error.ts";

type Ask = (method: string, params: Bag) => Promise<Bag>;

/** What a server lists, as a catalogue. */
export interface Listed {
  readonly catalogue: Catalogue;
  readonly offers: ReadonlyMap<OfferRef, Offer>;
}

export interface ListingOptions {
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

// What a longer one is called by, no client could ask for.
const MAX_NAME = 256;
const MAX_URI = 4_096;

/** All pages of all lists. What is as before is the same object: what hangs on a catalogue is kept. Rejects where a list cannot be had. */
export async function readLists(options: ListingOptions, before: Listed | undefined): Promise<Listed> {
  const lists: Record<ListName, Offer[]> = { tools: [], resources: [], prompts: [] };
  const offers = new Map<OfferRef, Offer>();
  for (const place of PLACES) {
    if (options.capabilities[place.capability] === undefined) continue;
    for (const entry of await entriesOf(place, options)) {
      const offer = offerOf(place, entry);
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
