import type { Sayings } from "./errors.ts";
import { APPTHEORY_FAULTS, APPTHEORY_V3_FAULTS } from "./profile-faults.ts";
import { has, LEGACY_REVISIONS, type LegacyRevision, MODERN_REVISIONS, type Revision } from "./revision.ts";

/** What becomes of a POST whose session is not here: 404, a new session under a new id, or one under the client's own id. */
export type UnknownSession = "reject" | "reissue" | "adopt";

/** `strict`: as MCP has it. `apptheory`: as AppTheory's document of its first server has it. `apptheory-v3`: as its third version's transcripts do. */
export type ProfileName = "strict" | "apptheory" | "apptheory-v3";

/** What servers of one protocol differ in. */
export interface Profile {
  readonly unknownSession: UnknownSession;
  /** Served with a handshake, oldest first; the last is proposed to who asks for another. */
  readonly revisions: readonly [LegacyRevision, ...LegacyRevision[]];
  /** What is named to who asks which are served. */
  readonly supported: readonly Revision[];
  /** Advertised: every list, since it may change; or `tools` and what there is; or what there is. */
  readonly capabilities: "all" | "tools" | "some";
  /** Which answers carry `Mcp-Session-Id`: of initialize; and event streams; all. */
  readonly sessionOn: "initialize" | "streams" | "all";
  /** initialize may leave its protocolVersion out, and name a session that has no part in it. */
  readonly anyInitialize: boolean;
  /** `Accept` may name one of the two media types only. */
  readonly acceptsEither: boolean;
  /** Where batches are: in the revision that has them, or in all. */
  readonly batches: "revision" | "all";
  /** One bad element is the batch's own fault, and its requests run one after the other. */
  readonly wholeBatches: boolean;
  /** A tool call whose client takes event streams is answered by one, whether or not something comes before its reply. */
  readonly streamsCalls: boolean;
  /** Progress is an `event: progress` too, asked for or not, and events of messages say their name. */
  readonly progressEvents: boolean;
  /** The first step a tool tells makes an event stream of its reply, asked for or not, where the client takes one. */
  readonly streamsSteps: boolean;
  /** A `Last-Event-ID` nobody knows is refused, where otherwise a new stream begins; one that nothing follows gets a stream that ends, otherwise 405. */
  readonly refusesEvents: boolean;
  /** A standalone stream begins with an event to resume from, where the revision has it. */
  readonly primesStandalone: boolean;
  /** What a handler throws or refuses is an error with its message, also of a tool. */
  readonly handlerErrors: boolean;
  /** Of a session that its client ended. */
  readonly endStatus: number;
  /** An unknown revision is refused before anything else, and one of a session's is no envelope. */
  readonly versionsFirst: boolean;
  /** Requests of a session name its own revision or none. */
  readonly sameVersion: boolean;
  /** Methods there are none of, however they are asked for. */
  readonly withholds: readonly string[];
  /** Of 2026-07-28: a name that is missing is the routing's fault and not the method's. */
  readonly namesFirst: boolean;
  /** A header sent twice with one value counts once. */
  readonly joinsHeaders: boolean;
  /** A `requestState` of somebody else is as if it were not there. */
  readonly ignoresStates: boolean;
  /** Nothing may be kept unless `cacheHints` say so. */
  readonly keepsNothing: boolean;
  /** `server/discover` within a session. */
  readonly discoversInSessions: boolean;
  /** A call that asks to run as a task is a method that is not there. */
  readonly refusesTasks: boolean;
  /** A response nobody waits for is refused under its own id. */
  readonly echoesResponses: boolean;
  readonly faults: Sayings;
}

const STRICT: Profile = {
  unknownSession: "reject",
  revisions: LEGACY_REVISIONS,
  supported: MODERN_REVISIONS,
  capabilities: "all",
  sessionOn: "initialize",
  anyInitialize: false,
  acceptsEither: false,
  batches: "revision",
  wholeBatches: false,
  streamsCalls: false,
  progressEvents: false,
  streamsSteps: false,
  refusesEvents: false,
  primesStandalone: true,
  handlerErrors: false,
  endStatus: 204,
  versionsFirst: false,
  sameVersion: false,
  withholds: [],
  namesFirst: false,
  joinsHeaders: false,
  ignoresStates: false,
  keepsNothing: false,
  discoversInSessions: false,
  refusesTasks: false,
  echoesResponses: false,
  faults: {},
};

/** Each profile by what it has otherwise than `strict`. */
export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  strict: STRICT,
  apptheory: {
    ...STRICT,
    unknownSession: "reissue",
    revisions: ["2025-06-18"],
    capabilities: "tools",
    sessionOn: "all",
    anyInitialize: true,
    acceptsEither: true,
    batches: "all",
    wholeBatches: true,
    streamsCalls: true,
    progressEvents: true,
    handlerErrors: true,
    faults: APPTHEORY_FAULTS,
  },
  "apptheory-v3": {
    ...STRICT,
    revisions: ["2025-03-26", "2025-06-18", "2025-11-25"],
    supported: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
    capabilities: "some",
    sessionOn: "streams",
    anyInitialize: true,
    wholeBatches: true,
    streamsSteps: true,
    refusesEvents: true,
    primesStandalone: false,
    handlerErrors: true,
    endStatus: 202,
    versionsFirst: true,
    sameVersion: true,
    withholds: ["completion/complete", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"],
    namesFirst: true,
    joinsHeaders: true,
    ignoresStates: true,
    keepsNothing: true,
    discoversInSessions: true,
    refusesTasks: true,
    echoesResponses: true,
    faults: APPTHEORY_V3_FAULTS,
  },
};

/** Whether a session of that revision may send batches. */
export function batchesIn(profile: Profile, revision: Revision): boolean {
  return profile.batches === "all" || has(revision, "batches");
}
