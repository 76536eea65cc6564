import type { Bag, Caller, Json, SessionRow } from "../../../core/contract/index.ts";
import type { Core } from "../core.ts";
import { Fault } from "../errors.ts";
import { bagIn, EMPTY, shortText } from "../json.ts";
import type { Request } from "../json-rpc.ts";
import { capabilitiesOf, type Offered } from "../offered.ts";
import type { Profile } from "../profile.ts";
import type { LegacyRevision } from "../revision.ts";
import { shapeInfo } from "../server-info.ts";

// Who a client says it is, each in so many characters. What else it says is kept by nobody: there may be very many sessions.
const NAMES = ["name", "version", "title"] as const;
const MAX_NAME = 256;
// What it can do, as far as anybody asks for it (`canOf`).
const CAPABILITIES = { elicitation: ["form", "url"], sampling: ["tools"], roots: [] } as const;
// Most sessions have none, and there may be very many of them: they share what is empty.
const NONE: readonly string[] = Object.freeze([]);

/** The row of a new session. Throws `PARAMS`. */
export function newSession(core: Core, request: Request, caller: Caller, posture: "meta" | undefined): SessionRow {
  const { protocolVersion } = request.params;
  const { profile } = core.settings;
  const readable = typeof protocolVersion === "string" && protocolVersion.length <= 64;
  if (!readable && !profile.anyInitialize)
    throw new Fault("PARAMS", `initialize needs a protocolVersion: one of ${profile.revisions.join(", ")}.`);
  return {
    ...uninitialized(core, caller, posture, readable ? protocolVersion : undefined),
    client: clientIn(request.params),
    capabilities: capabilitiesIn(request.params),
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

function clientIn(params: Bag): Bag {
  const info = bagIn(params, "clientInfo");
  return some(NAMES.flatMap((name) => entry(name, shortText(info?.[name], MAX_NAME))));
}

function capabilitiesIn(params: Bag): Bag {
  const said = bagIn(params, "capabilities");
  if (said === undefined) return EMPTY;
  return some(
    Object.entries(CAPABILITIES).flatMap(([name, parts]) => {
      const capability = bagIn(said, name);
      return capability === undefined ? [] : entry(name, some(parts.flatMap((part) => entry(part, bagIn(capability, part) && EMPTY))));
    }),
  );
}

const entry = (name: string, value: Json | undefined): readonly (readonly [string, Json])[] => (value === undefined ? [] : [[name, value]]);

const some = (entries: readonly (readonly [string, Json])[]): Bag => (entries.length === 0 ? EMPTY : Object.fromEntries(entries));

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
