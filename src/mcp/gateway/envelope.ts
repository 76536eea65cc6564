// Owns: what a request says about itself in `_meta` and headers: revision, capabilities, key, trace. Does not own: the revisions
// (revision.ts).
import { type Answer, type JsonObject, type Exchange, isJsonObject, type Json, type LogLevel } from "../../core/contract/index.ts";
import { EXTENSION } from "../../core/contract/internal.ts";
import type { Dialect } from "./dialects.ts";
import { Fault, faultAnswer } from "./errors.ts";
import { type Batch, type Incoming, shortText } from "./json-rpc.ts";
import { isLogLevel } from "./active-requests.ts";
import { isLegacyRevision, isModernRevision, MODERN_REVISIONS, type ModernRevision, type Revision } from "./revision.ts";

const MAX_EXTENSIONS = 64;
const CALL_ID_META = "troupe/callId";

/** The `_meta` of a request. Throws `PARAMS` if it is not an object. */
export function metaOf(params: JsonObject): JsonObject | undefined {
  const meta = params["_meta"] ?? undefined;
  if (meta === undefined || isJsonObject(meta)) return meta;
  throw new Fault("PARAMS", "_meta is an object.");
}

/** The client's own name for the call, from `_meta` or the header (C4): 1 to 256 characters. */
export function callKey(meta: JsonObject | undefined, header: string | undefined): string | undefined {
  const given = meta?.[CALL_ID_META] ?? header;
  if (given === undefined) return undefined;
  if (typeof given === "string" && given !== "" && given.length <= 256) return given;
  throw new Fault("PARAMS", `${CALL_ID_META} and Idempotency-Key are text of 1 to 256 characters.`);
}

const TRACE_KEYS = ["traceparent", "tracestate", "baggage"] as const;

/** W3C trace context of a request, bounded. */
export function traceOf(meta: JsonObject | undefined): JsonObject | undefined {
  if (meta === undefined) return undefined;
  let found: Record<string, string> | undefined;
  for (const key of TRACE_KEYS) {
    const value = shortText(meta[key], 8_192);
    if (value !== undefined) (found ??= {})[key] = value;
  }
  return found;
}

/** The requests that a client declared it can answer, by the names of `Call.options.can`. */
export function canOf(
  capabilities: JsonObject,
  allows: { readonly elicitation: boolean; readonly modes: boolean; readonly samplingTools: boolean; readonly extensions?: boolean },
): readonly string[] {
  const can: string[] = [];
  const { elicitation, sampling, roots, extensions } = capabilities;
  if (allows.elicitation && isJsonObject(elicitation)) {
    // An empty object means forms: modes were added later.
    if (!allows.modes || isJsonObject(elicitation["form"]) || !isJsonObject(elicitation["url"])) can.push("elicitation");
    if (allows.modes && isJsonObject(elicitation["url"])) can.push("elicitation.url");
  }
  if (isJsonObject(sampling)) {
    can.push("sampling");
    if (allows.samplingTools && isJsonObject(sampling["tools"])) can.push("sampling.tools");
  }
  if (isJsonObject(roots)) can.push("roots");
  if (allows.extensions === true && isJsonObject(extensions))
    for (const name of Object.keys(extensions).slice(0, MAX_EXTENSIONS)) if (isJsonObject(extensions[name])) can.push(EXTENSION + name);
  return can;
}

const VERSION_META = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_META = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL_META = "io.modelcontextprotocol/logLevel";
export const SUBSCRIPTION_META = "io.modelcontextprotocol/subscriptionId";
export const SERVER_META = "io.modelcontextprotocol/serverInfo";

/** What a modern request contains about its client, of which nothing else is known. */
export interface Envelope {
  readonly revision: ModernRevision;
  readonly can: readonly string[];
  /** Undefined: the client wants no log messages. */
  readonly logLevel: LogLevel | undefined;
  readonly meta: JsonObject;
}

/** Whether these are the params of a modern request. */
export function isModernParams(params: JsonObject): boolean {
  const meta = params["_meta"];
  return isJsonObject(meta) && (meta[VERSION_META] ?? undefined) !== undefined;
}

/** The version that a request claims, before it is checked. */
export function claimedVersion(params: JsonObject): string | undefined {
  const meta = params["_meta"];
  const version = isJsonObject(meta) ? meta[VERSION_META] : undefined;
  return typeof version === "string" && version.length <= 64 ? version : undefined;
}

/** Throws `ENVELOPE` if a required field is missing, and `VERSION` if the revision is not served. */
export function openEnvelope(params: JsonObject, supported: readonly Revision[]): Envelope {
  const meta = params["_meta"];
  const requested = claimedVersion(params);
  if (!isJsonObject(meta) || requested === undefined)
    throw new Fault("ENVELOPE", `A request carries _meta["${VERSION_META}"]: one of ${MODERN_REVISIONS.join(", ")}.`, {
      about: VERSION_META,
    });
  if (!isModernRevision(requested)) throw unsupported(requested, supported);
  const capabilities = meta[CAPABILITIES_META];
  if (!isJsonObject(capabilities))
    throw new Fault("ENVELOPE", `A request carries _meta["${CAPABILITIES_META}"]: an object, empty if there are none.`, {
      about: CAPABILITIES_META,
    });
  const client = meta[CLIENT_META] ?? undefined;
  if (client !== undefined && !isJsonObject(client))
    throw new Fault("ENVELOPE", `_meta["${CLIENT_META}"] is an object.`, { about: CLIENT_META });
  const logLevel = meta[LOG_LEVEL_META] ?? undefined;
  if (logLevel !== undefined && !isLogLevel(logLevel))
    throw new Fault("ENVELOPE", `_meta["${LOG_LEVEL_META}"] is a log level.`, { about: LOG_LEVEL_META });
  const can = canOf(capabilities, { elicitation: true, modes: true, samplingTools: true, extensions: true });
  return { revision: requested, can, meta, logLevel };
}

/** Throws `VERSION` if only the header names a revision, and it is an unknown one. */
export function checkServed(header: Exchange["header"], supported: readonly Revision[]): void {
  const version = header("mcp-protocol-version")?.trim();
  if (version === undefined || version.length > 64 || isModernRevision(version) || isLegacyRevision(version)) return;
  throw unsupported(version, supported);
}

function unsupported(requested: string, supported: readonly Revision[]): Fault {
  return new Fault("VERSION", "Unsupported protocol version", { data: { supported, requested } });
}

/** The revision that a message claims in its header, or else in its `_meta`. Undefined: it claims none. */
export function claimedRevision(header: string | undefined, params: Json | undefined): Revision | "unknown" | undefined {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  const claim = header ?? (isJsonObject(meta) ? meta[VERSION_META] : undefined);
  if (claim === undefined) return undefined;
  if (typeof claim !== "string") return "unknown";
  return isModernRevision(claim) || isLegacyRevision(claim) ? claim : "unknown";
}

/** The refusal of a message outside of a session that claims an unknown revision. Undefined: it does not. */
export function unknownRevision(dialect: Dialect, request: Exchange, incoming: Incoming | Batch): Answer | undefined {
  if (incoming.kind === "batch" || incoming.kind === "malformed") return undefined;
  if (request.header("mcp-session-id") !== undefined || (incoming.kind === "request" && incoming.method === "initialize")) return undefined;
  const params = incoming.kind === "response" ? undefined : incoming.params;
  const version = request.header("mcp-protocol-version")?.trim();
  const named = version ?? (params === undefined ? undefined : claimedVersion(params));
  // A header that was sent twice is ambiguous; the comparison of headers refuses it.
  if (named === undefined || named.includes(",") || claimedRevision(version, params) !== "unknown") return undefined;
  return faultAnswer(
    unsupported(named, dialect.supported),
    "modern",
    incoming.kind === "notification" ? null : incoming.id,
    dialect.faults,
  );
}
