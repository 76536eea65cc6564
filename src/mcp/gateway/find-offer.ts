// Owns: finding the offer that a name or URI stands for, and whether its viewer has the scopes for it. Does not own: whether it is off
// now, which the surface and the turn decide.
import {
  type JsonObject,
  type Catalogue,
  isJsonObject,
  type Json,
  type ListName,
  type Log,
  type Offer,
  type OfferRef,
  type Source,
  type Surface,
  type TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import {
  hasOwn,
  isScope,
  MAX_URI,
  memoize,
  missingScopes,
  missingScopesMessage,
  scopesOf,
  type Template,
  templatesOf,
} from "../../core/contract/internal.ts";
import type { Refusal } from "./call.ts";
import { Fault, faultOf, inLog } from "./errors.ts";

/** The offer that a name or URI stands for. */
export interface Target {
  readonly offer: Offer;
  readonly ref: OfferRef;
  /** The variables of a template. */
  readonly args: JsonObject;
  /** The scopes that its caller needs. */
  readonly scopes: readonly string[];
}

/** A catalogue by name and URI, built once. */
export interface OfferIndex {
  readonly tools: ReadonlyMap<string, Target>;
  readonly prompts: ReadonlyMap<string, Target>;
  resource(uri: string): Target | undefined;
  /** Finds a template by its own text, for completion. */
  template(uriTemplate: string): Target | undefined;
}

const NO_ARGS: JsonObject = Object.freeze({});

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

function match({ pattern, offer }: Template, uri: string): JsonObject | undefined {
  const found = pattern.match(uri);
  if (found === undefined || offer.rawVariables === true) return found && Object.fromEntries(found);
  try {
    return Object.fromEntries(found.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined;
  }
}

const MAX_SCOPES = 1_024;

/** Throws `SCOPE`, with a challenge that names the missing scopes. */
export function requireScopes(wanted: readonly string[], held: readonly string[]): void {
  const missing = missingScopes(wanted, held);
  if (missing.length > 0) throw scopeFault(missing, held);
}

/** The missing scopes in the refusal of a source that checks them itself. Undefined: it is about something else. */
export function missingIn({ code, data }: Refusal): readonly string[] | undefined {
  const scopes: Json | undefined = code === "SCOPE" && isJsonObject(data) ? data["scopes"] : undefined;
  return Array.isArray(scopes) && scopes.length > 0 && scopes.every((one) => typeof one === "string") ? scopes : undefined;
}

export function scopeFault(missing: readonly string[], held: readonly string[]): Fault {
  const wanted = scopesToRequest(held, missing);
  return new Fault("SCOPE", missingScopesMessage(missing), {
    data: { scope: missing.join(" ") },
    headers: { "www-authenticate": `Bearer error="insufficient_scope"${wanted === "" ? "" : `, scope="${wanted}"`}` },
  });
}

const spelled = (list: readonly string[]): string => [...new Set(list)].filter(isScope).join(" ");

/** Includes what the token has already: a client that requests exactly these would lose the others (MCP 2025-11-25, step-up). */
function scopesToRequest(held: readonly string[], missing: readonly string[]): string {
  const all = spelled([...held, ...missing]);
  return all.length > MAX_SCOPES ? spelled(missing) : all;
}

/** In the `_meta` of a list: a sentence for each part that is missing from it. */
const MISSING_META = "troupe/missing";

const logged = new WeakMap<Log, WeakSet<TroupeError>>();

// An offer with an invalid name, which no client could use, concerns its author alone.
const isFault = ({ code }: TroupeError): boolean => code !== "BAD_NAME";

/** The `_meta` of a list that is incomplete, which is also logged once. Undefined: it is complete. */
export function missingOffersMeta({ missing }: Catalogue, log: Log): JsonObject | undefined {
  if (missing === undefined) return undefined;
  const known = logged.get(log) ?? new WeakSet();
  logged.set(log, known);
  for (const fault of missing) {
    if (known.has(fault)) continue;
    known.add(fault);
    log("error", { event: "offers-missing", ...inLog(fault) });
  }
  const sentences = missing.filter(isFault).map((fault) => faultOf(fault).message);
  return sentences.length === 0 ? undefined : { [MISSING_META]: sentences };
}

/** What is not found may belong to a source that cannot be reached: that error is thrown then, not that the offer is unknown. */
export function explainMissing<T>({ missing }: Catalogue, find: () => T): T {
  try {
    return find();
  } catch (error) {
    const isUnknown = error instanceof Fault && (error.kind === "UNKNOWN_OFFER" || error.kind === "RESOURCE_NOT_FOUND");
    throw isUnknown ? (missing?.find(isFault) ?? error) : error;
  }
}

/**
 * The offer that a URI to subscribe to stands for. Undefined: this viewer cannot read it. It may not exist, be off without a reason
 * (law 3), need a scope that the token lacks, or belong to someone else behind a template (C8).
 */
export async function subscribable(source: Source, viewer: Viewer, surface: Surface, uri: string): Promise<Target | undefined> {
  const target = indexOf(surface.catalogue).resource(uri);
  if (target === undefined || surface.off[target.ref] === true || missingScopes(target.scopes, viewer.scopes).length > 0) return undefined;
  // The surface has templates; only a read shows whether these variables name something.
  if (Object.keys(target.args).length === 0) return target;
  const reply = await source.act(viewer, target.ref, target.args, {});
  return hasOwn(reply, "refused") && (reply.refused.code === "UNKNOWN" || reply.refused.code === "SCOPE") ? undefined : target;
}
