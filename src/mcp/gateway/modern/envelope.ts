import { type Bag, type Exchange, isBag, type LogLevel } from "../../../core/contract/index.ts";
import { isLogLevel } from "../aside.ts";
import { canOf } from "../envelope.ts";
import { Fault } from "../errors.ts";
import { isLegacyRevision, isModernRevision, MODERN_REVISIONS, type ModernRevision, type Revision } from "../revision.ts";

export const VERSION_META = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_META = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL_META = "io.modelcontextprotocol/logLevel";
export const SUBSCRIPTION_META = "io.modelcontextprotocol/subscriptionId";
export const SERVER_META = "io.modelcontextprotocol/serverInfo";

/** What a modern request says about itself: nothing else is known of its client. */
export interface Envelope {
  readonly revision: ModernRevision;
  readonly can: readonly string[];
  /** Absent: the request wants no log messages. */
  readonly logLevel: LogLevel | undefined;
  readonly meta: Bag;
}

/** Whether params are of a modern request. */
export function isModernParams(params: Bag): boolean {
  const meta = params["_meta"];
  return isBag(meta) && (meta[VERSION_META] ?? undefined) !== undefined;
}

/** The version a request claims, before it is judged. */
export function claimedVersion(params: Bag): string | undefined {
  const meta = params["_meta"];
  const version = isBag(meta) ? meta[VERSION_META] : undefined;
  return typeof version === "string" && version.length <= 64 ? version : undefined;
}

/** Throws `ENVELOPE` where a required field is missing, `VERSION` where the revision is not served. */
export function openEnvelope(params: Bag, supported: readonly Revision[]): Envelope {
  const meta = params["_meta"];
  const requested = claimedVersion(params);
  if (!isBag(meta) || requested === undefined)
    throw new Fault("ENVELOPE", `A request carries _meta["${VERSION_META}"]: one of ${MODERN_REVISIONS.join(", ")}.`, {
      about: VERSION_META,
    });
  if (!isModernRevision(requested)) throw unsupported(requested, supported);
  const capabilities = meta[CAPABILITIES_META];
  if (!isBag(capabilities))
    throw new Fault("ENVELOPE", `A request carries _meta["${CAPABILITIES_META}"]: an object, empty if there are none.`, {
      about: CAPABILITIES_META,
    });
  const client = meta[CLIENT_META] ?? undefined;
  if (client !== undefined && !isBag(client)) throw new Fault("ENVELOPE", `_meta["${CLIENT_META}"] is an object.`, { about: CLIENT_META });
  const logLevel = meta[LOG_LEVEL_META] ?? undefined;
  if (logLevel !== undefined && !isLogLevel(logLevel))
    throw new Fault("ENVELOPE", `_meta["${LOG_LEVEL_META}"] is a log level.`, { about: LOG_LEVEL_META });
  const can = canOf(capabilities, { elicitation: true, modes: true, samplingTools: true, extensions: true });
  return { revision: requested, can, meta, logLevel };
}

/** Throws `VERSION` where the header alone says of what revision the request is, and there is none such. */
export function checkServed(header: Exchange["header"], supported: readonly Revision[]): void {
  const version = header("mcp-protocol-version")?.trim();
  if (version === undefined || version.length > 64 || isModernRevision(version) || isLegacyRevision(version)) return;
  throw unsupported(version, supported);
}

export function unsupported(requested: string, supported: readonly Revision[]): Fault {
  return new Fault("VERSION", "Unsupported protocol version", { data: { supported, requested } });
}
