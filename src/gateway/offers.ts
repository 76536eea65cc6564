import type { Bag, Catalogue, ListName, Offer, OfferRef } from "../contract/index.ts";
import { MAX_URI, memoize, scopesOf } from "../contract/internal.ts";
import { UriPattern } from "./uri-pattern.ts";

/** An offer that was asked for by name or URI. */
export interface Target {
  readonly offer: Offer;
  readonly ref: OfferRef;
  /** The variables of a template. */
  readonly args: Bag;
  /** What its caller must have. */
  readonly scopes: readonly string[];
}

/** A catalogue by name and URI, made once. */
export interface OfferIndex {
  readonly tools: ReadonlyMap<string, Target>;
  readonly prompts: ReadonlyMap<string, Target>;
  resource(uri: string): Target | undefined;
  /** By the template's own text, for completion. */
  template(uriTemplate: string): Target | undefined;
}

const NO_ARGS: Bag = Object.freeze({});

interface Template {
  readonly text: string;
  readonly pattern: UriPattern;
  readonly target: Target;
}

export const indexOf = memoize((catalogue: Catalogue): OfferIndex => {
  const fixed = new Map<string, Target>();
  const templates: Template[] = [];
  for (const offer of catalogue.resources) {
    const target = targetOf("resources", offer);
    const { uri, uriTemplate } = offer.definition;
    if (typeof uri === "string" && !fixed.has(uri)) fixed.set(uri, target);
    if (typeof uriTemplate === "string")
      templates.push({ text: uriTemplate, target, pattern: new UriPattern(uriTemplate, offer.rawVariables === true) });
  }
  templates.sort(closest);
  return {
    tools: byName("tools", catalogue.tools),
    prompts: byName("prompts", catalogue.prompts),
    template: (text) => templates.find((one) => one.text === text)?.target,
    resource(uri) {
      const known = fixed.get(uri);
      if (known !== undefined || uri.length > MAX_URI) return known;
      for (const template of templates) {
        const args = match(template, uri);
        if (args !== undefined) return { ...template.target, args };
      }
      return undefined;
    },
  };
});

/** Of several that a URI fits it is the one's that says most of it: what stands under a prefix is no path of another's. */
const closest = ({ pattern: a }: Template, { pattern: b }: Template): number => b.says - a.says || a.wide - b.wide;

function byName(list: "tools" | "prompts", offers: readonly Offer[]): ReadonlyMap<string, Target> {
  return new Map(offers.map((offer) => [offer.name, targetOf(list, offer)]));
}

const targetOf = (list: ListName, offer: Offer): Target => ({
  offer,
  ref: `${list}/${offer.name}`,
  args: NO_ARGS,
  scopes: scopesOf(offer.definition),
});

function match({ pattern, target }: Template, uri: string): Bag | undefined {
  const found = pattern.match(uri);
  if (found === undefined || target.offer.rawVariables === true) return found && Object.fromEntries(found);
  try {
    return Object.fromEntries(found.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined;
  }
}
