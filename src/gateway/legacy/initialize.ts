import type { Bag, Caller, SessionRow } from "../../contract/index.ts";
import type { Core } from "../core.ts";
import { Fault } from "../errors.ts";
import { bagIn, EMPTY } from "../json.ts";
import type { Request } from "../json-rpc.ts";
import { capabilitiesOf, type Offered } from "../offered.ts";
import type { Profile } from "../profile.ts";
import type { LegacyRevision } from "../revision.ts";
import { shapeInfo } from "../server-info.ts";

// What is kept of a client's own words, in characters of JSON.
const MAX_KEPT = 16_384;
// Most sessions have none, and there may be very many of them: they share what is empty.
const NONE: readonly string[] = Object.freeze([]);

/** The row of a new session. Throws `PARAMS`. */
export function newSession(core: Core, request: Request, caller: Caller, posture: "meta" | undefined): SessionRow {
  const { protocolVersion } = request.params;
  const { profile } = core.settings;
  const readable = typeof protocolVersion === "string" && protocolVersion.length <= 64;
  if (!readable && !profile.anyInitialize) throw new Fault("PARAMS", "initialize needs a protocolVersion.");
  return {
    ...uninitialized(core, caller, posture, readable ? protocolVersion : undefined),
    client: bounded(bagIn(request.params, "clientInfo")),
    capabilities: bounded(bagIn(request.params, "capabilities")),
  };
}

/** The row of a session whose client has said no more than, perhaps, its revision. */
export function uninitialized({ settings }: Core, caller: Caller, posture: "meta" | undefined, wanted: string | undefined): SessionRow {
  const now = settings.clock.now();
  return {
    id: settings.entropy.hex(16),
    ...(caller.principal === undefined ? undefined : { principal: caller.principal }),
    protocol: negotiate(settings.profile, wanted),
    client: EMPTY,
    capabilities: EMPTY,
    subscriptions: NONE,
    ...(posture === undefined ? undefined : { posture }),
    createdAt: now,
    seenAt: now,
  };
}

/** The revision asked for where it is served, else the newest that is, with a handshake. */
function negotiate({ revisions }: Profile, wanted: string | undefined): LegacyRevision {
  return revisions.find((one) => one === wanted) ?? revisions.at(-1) ?? revisions[0];
}

function bounded(bag: Bag | undefined): Bag {
  return bag === undefined || Object.keys(bag).length === 0 || JSON.stringify(bag).length > MAX_KEPT ? EMPTY : bag;
}

/** The members of the initialize result. */
export function initializeMembers({ settings }: Core, revision: LegacyRevision, offered: Offered): string {
  const { info } = settings;
  const instructions = settings.instructions();
  const result = {
    protocolVersion: revision,
    capabilities: capabilitiesOf(settings, revision, offered),
    serverInfo: shapeInfo(info, revision),
    ...(instructions === undefined ? undefined : { instructions }),
  };
  return JSON.stringify(result).slice(1, -1);
}
