import { memoize } from "./memoize.ts";
import type { Catalogue, Offer } from "./surface.ts";
import { UriPattern } from "./uri-pattern.ts";

export interface Template {
  readonly text: string;
  readonly pattern: UriPattern;
  readonly offer: Offer;
}

/** The templates of a catalogue, in the order in which a URI is held against them. */
export const templatesOf = memoize((catalogue: Catalogue): readonly Template[] =>
  catalogue.resources
    .flatMap((offer) => {
      const { uriTemplate: text } = offer.definition;
      return typeof text === "string" ? [{ text, pattern: new UriPattern(text, offer.rawVariables === true), offer }] : [];
    })
    .toSorted(closest),
);

/** Of several that a URI fits it is the one's that says most of it: what stands under a prefix is no path of another's. */
const closest = ({ pattern: a }: Template, { pattern: b }: Template): number => b.says - a.says || a.wide - b.wide;
