// Owns: refs of offers, and the refusals of calls to them. Does not own: who may call (access.ts).

import type { Catalogue, ListName, Offer, OfferRef, Reply } from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";

export const LISTS: readonly ListName[] = ["tools", "resources", "prompts"];

export function refOf(list: ListName, name: string): OfferRef {
  return `${list}/${name}`;
}

/** The list and the name of a ref; undefined where it is none. */
export function splitRef(ref: string): { readonly list: ListName; readonly name: string } | undefined {
  const slash = ref.indexOf("/");
  const list = LISTS.find((one) => one === ref.slice(0, slash));
  return list === undefined || slash === ref.length - 1 ? undefined : { list, name: ref.slice(slash + 1) };
}

/** The offers of a catalogue by ref, indexed once. */
export const offersOf = memoize(
  (catalogue: Catalogue): ReadonlyMap<OfferRef, Offer> =>
    new Map(LISTS.flatMap((list) => catalogue[list].map((offer): [OfferRef, Offer] => [refOf(list, offer.name), offer]))),
);

export type Refused = Extract<Reply, { refused: unknown }>;

/** No such offer for this viewer: what is hidden and what never was answer alike (law 3). */
export const unknownOffer: Refused = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };

export function refused(code: string, message: string): Refused {
  return { refused: { code, message } };
}
