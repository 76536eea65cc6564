import type { Bag, Caller, Json, SessionRow } from "../../contract/index.ts";
import type { Core } from "../core.ts";
import { Fault } from "../errors.ts";
import { bagIn, EMPTY } from "../json.ts";
import type { Request } from "../json-rpc.ts";
import type { ServerInfo } from "../options.ts";
import { has, isLegacyRevision, LATEST_LEGACY, type LegacyRevision, type Revision } from "../revision.ts";

// What is kept of a client's own words, in characters of JSON.
const MAX_KEPT = 16_384;

/** The row of a new session. Throws `PARAMS`. */
export function newSession(core: Core, request: Request, caller: Caller, posture: "meta" | undefined): SessionRow {
  const { protocolVersion } = request.params;
  if (typeof protocolVersion !== "string" || protocolVersion.length > 64) throw new Fault("PARAMS", "initialize needs a protocolVersion.");
  const now = core.settings.clock.now();
  return {
    id: core.settings.entropy.hex(16),
    ...(caller.principal === undefined ? undefined : { principal: caller.principal }),
    protocol: negotiate(protocolVersion),
    client: bounded(bagIn(request.params, "clientInfo")),
    capabilities: bounded(bagIn(request.params, "capabilities")),
    subscriptions: [],
    ...(posture === undefined ? undefined : { posture }),
    createdAt: now,
    seenAt: now,
  };
}

/** The revision asked for where it is known, else the newest with a handshake. */
function negotiate(wanted: string): LegacyRevision {
  return isLegacyRevision(wanted) ? wanted : LATEST_LEGACY;
}

function bounded(bag: Bag | undefined): Bag {
  return bag === undefined || JSON.stringify(bag).length > MAX_KEPT ? EMPTY : bag;
}

/** The members of the initialize result. */
export function initializeMembers(core: Core, revision: LegacyRevision): string {
  const { info, instructions } = core.settings;
  const result = {
    protocolVersion: revision,
    capabilities: capabilitiesOf(revision),
    serverInfo: shapeInfo(info, revision),
    ...(instructions === undefined ? undefined : { instructions }),
  };
  return JSON.stringify(result).slice(1, -1);
}

/** What the server offers in that revision. Lists may change and be empty, so none is left out. */
export function capabilitiesOf(revision: Revision): Bag {
  return {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    ...(has(revision, "completionsCapability") ? { completions: {} } : undefined),
  };
}

export function shapeInfo(info: ServerInfo, revision: Revision): Bag {
  const shaped: Record<string, Json> = { name: info.name, version: info.version };
  if (info.title !== undefined && has(revision, "titles")) shaped["title"] = info.title;
  if (has(revision, "icons")) {
    if (info.description !== undefined) shaped["description"] = info.description;
    if (info.websiteUrl !== undefined) shaped["websiteUrl"] = info.websiteUrl;
    if (info.icons !== undefined) shaped["icons"] = info.icons;
  }
  return shaped;
}
