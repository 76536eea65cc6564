import type { Bag, Catalogue, ListName, Offer, OfferRef } from "../../core/contract/index.ts";
import { MAX_URI, memoize, scopesOf, type Template, templatesOf } from "../../core/contract/internal.ts";

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

export const indexOf = memoize((catalogue: Catalogue): OfferIndex => {
  const fixed = new Map<string, Target>();
  for (const offer of catalogue.resources) {
    const { uri } = offer.definition;
    if (typeof uri === "string" && !fixed.has(uri)) fixed.set(uri, targetOf("resources", offer));
  }
  const templates = templatesOf(catalogue).map((template) => ({ ...template, target: targetOf("resources", template.offer) }));
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

function byName(list: "tools" | "prompts", offers: readonly Offer[]): ReadonlyMap<string, Target> {
  return new Map(offers.map((offer) => [offer.name, targetOf(list, offer)]));
}

const targetOf = (list: ListName, offer: Offer): Target => ({
  offer,
  ref: `${list}/${offer.name}`,
  args: NO_ARGS,
  scopes: scopesOf(offer.definition),
});

function match({ pattern, offer }: Template, uri: string): Bag | undefined {
  const found = pattern.match(uri);
  if (found === undefined || offer.rawVariables === true) return found && Object.fromEntries(found);
  try {
    return Object.fromEntries(found.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined;
  }
}
