import { type Bag, isBag } from "../../core/contract/index.ts";
import { EXTENSION } from "../../core/contract/internal.ts";
import { CALL_ID_META } from "./call.ts";
import { Fault } from "./errors.ts";
import { shortText } from "./json.ts";

const MAX_EXTENSIONS = 64;

/** The `_meta` of a request; throws `PARAMS` where it is no object. */
export function metaOf(params: Bag): Bag | undefined {
  const meta = params["_meta"] ?? undefined;
  if (meta === undefined || isBag(meta)) return meta;
  throw new Fault("PARAMS", "_meta is an object.");
}

/** The client's own name for the call, from `_meta` or the header (C4): 1 to 256 characters. */
export function callKey(meta: Bag | undefined, header: string | undefined): string | undefined {
  const given = meta?.[CALL_ID_META] ?? header;
  if (given === undefined) return undefined;
  if (typeof given === "string" && given !== "" && given.length <= 256) return given;
  throw new Fault("PARAMS", `${CALL_ID_META} and Idempotency-Key are text of 1 to 256 characters.`);
}

const TRACE_KEYS = ["traceparent", "tracestate", "baggage"] as const;

/** W3C trace context of a request, bounded. */
export function traceOf(meta: Bag | undefined): Bag | undefined {
  if (meta === undefined) return undefined;
  let found: Record<string, string> | undefined;
  for (const key of TRACE_KEYS) {
    const value = shortText(meta[key], 8_192);
    if (value !== undefined) (found ??= {})[key] = value;
  }
  return found;
}

/** What a client declared it can be asked, as `can` names it. */
export function canOf(
  capabilities: Bag,
  allows: { readonly elicitation: boolean; readonly modes: boolean; readonly samplingTools: boolean; readonly extensions?: boolean },
): readonly string[] {
  const can: string[] = [];
  const { elicitation, sampling, roots, extensions } = capabilities;
  if (allows.elicitation && isBag(elicitation)) {
    // An empty object means forms: modes were added later.
    if (!allows.modes || isBag(elicitation["form"]) || !isBag(elicitation["url"])) can.push("elicitation");
    if (allows.modes && isBag(elicitation["url"])) can.push("elicitation.url");
  }
  if (isBag(sampling)) {
    can.push("sampling");
    if (allows.samplingTools && isBag(sampling["tools"])) can.push("sampling.tools");
  }
  if (isBag(roots)) can.push("roots");
  if (allows.extensions === true && isBag(extensions))
    for (const name of Object.keys(extensions).slice(0, MAX_EXTENSIONS)) if (isBag(extensions[name])) can.push(EXTENSION + name);
  return can;
}
