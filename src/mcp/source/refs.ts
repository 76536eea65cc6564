import type { Catalogue, ListName, Offer, OfferRef } from "../../core/contract/index.ts";
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
