import type { Bag, Catalogue, Offer, OfferRef } from "../contract/index.ts";

/** An offer that was asked for by name or URI. */
export interface Target {
  readonly offer: Offer;
  readonly ref: OfferRef;
  /** The variables of a template. */
  readonly args: Bag;
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
// A longer URI is nobody's: matching stays cheap whatever a client sends.
export const MAX_URI = 4_096;

const indexes = new WeakMap<Catalogue, OfferIndex>();

export function indexOf(catalogue: Catalogue): OfferIndex {
  let index = indexes.get(catalogue);
  if (index === undefined) {
    index = build(catalogue);
    indexes.set(catalogue, index);
  }
  return index;
}

interface Template {
  readonly text: string;
  readonly pattern: RegExp;
  readonly names: readonly string[];
  readonly target: Target;
}

function build(catalogue: Catalogue): OfferIndex {
  const fixed = new Map<string, Target>();
  const templates: Template[] = [];
  for (const offer of catalogue.resources) {
    const target: Target = { offer, ref: `resources/${offer.name}`, args: NO_ARGS };
    const { uri, uriTemplate } = offer.definition;
    if (typeof uri === "string" && !fixed.has(uri)) fixed.set(uri, target);
    if (typeof uriTemplate === "string")
      templates.push({ text: uriTemplate, target, ...patternOf(uriTemplate, offer.rawVariables === true) });
  }
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
}

function byName(list: "tools" | "prompts", offers: readonly Offer[]): ReadonlyMap<string, Target> {
  return new Map(offers.map((offer) => [offer.name, { offer, ref: `${list}/${offer.name}`, args: NO_ARGS }]));
}

// RFC 6570 §3.2: what an expression may stand for, by its operator. All of a query is optional.
const RAW: Readonly<Record<string, string>> = {
  "+": "(.+)",
  "#": "(#.*)",
  ".": "(\\.[^/?#]+)",
  "/": "((?:/[^/?#]*)+)",
  ";": "(;[^/?#]+)",
  "?": "(\\?[^#]*|)",
  "&": "(&[^#]*|)",
};

// RFC 6570 level 1: `{name}` stands for percent-encoded text, so never for a slash.
function patternOf(uriTemplate: string, raw: boolean): { readonly pattern: RegExp; readonly names: readonly string[] } {
  const names: string[] = [];
  const source = uriTemplate
    .split(/(\{[^{}]+\})/)
    .map((part) => {
      if (!/^\{[^{}]+\}$/.test(part)) return part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
      names.push(part.slice(1, -1));
      return raw ? (RAW[part[1] ?? ""] ?? "([^/?#]+)") : "([^/?#]+)";
    })
    .join("");
  return { pattern: new RegExp(`^${source}$`, "u"), names };
}

function match(template: Template, uri: string): Bag | undefined {
  const found = template.pattern.exec(uri);
  if (found === null) return undefined;
  if (template.target.offer.rawVariables === true) return Object.fromEntries(template.names.map((name, at) => [name, found[at + 1] ?? ""]));
  try {
    return Object.fromEntries(template.names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? "")]));
  } catch {
    return undefined;
  }
}
