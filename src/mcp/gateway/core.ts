// Owns: what all requests share (Core), and one request as dispatch sees it (Call). Does not own: the order of its steps (dispatch.ts),
// and the shape of its reply (legacy/session-request.ts, modern/modern-request.ts).
import type { JsonObject, Caller, CallOptions, Json, Offer, Source, Surface, Viewer } from "../../core/contract/index.ts";
import type { InFlightMemoryBudget } from "../../core/contract/internal.ts";
import type { Lists, Posture } from "../source/index.ts";
import type { PendingReplies, WorkCounter } from "./active-requests.ts";
import { Fault } from "./errors.ts";
import type { RequestId } from "./json-rpc.ts";
import type { SentEvents } from "./legacy/resumable-stream.ts";
import type { Settings } from "./options.ts";
import type { Page } from "./lists.ts";
import type { SilentCalls } from "./out-of-band.ts";
import type { Revision } from "./revision.ts";
import type { Tasks } from "./tasks.ts";

/** A stream that stays open until its client, or a drain, ends it. */
export interface OpenEnded {
  /** Ends it by the server's own decision. */
  finish(): void;
}

/** What the requests of one gateway share. */
export interface Core {
  readonly settings: Settings;
  /** The `_meta` of every result of 2026-07-28. */
  readonly serverMeta: JsonObject;
  readonly work: WorkCounter;
  /** Replies that are still being worked on; those left when a drain's grace is over are answered then. */
  readonly pending: PendingReplies;
  /** Listen requests and standalone streams. */
  readonly openStreams: Set<OpenEnded>;
  /** Absent: every caller waits for its call. */
  readonly tasks: Tasks | undefined;
  readonly sentEvents: SentEvents;
  /** Calls over HTTP whose response has not begun yet. */
  readonly silentCalls: SilentCalls;
  /** Bounds what the messages take that are being worked on. */
  readonly memory: InFlightMemoryBudget;
  /** What abandons each open connection: nothing that waits for its client waits any longer. */
  readonly connections: Set<() => void>;
  readonly methods: ReadonlyMap<string, Method>;
  /** Takes a token of the caller's rate limit. Throws `RATE`. */
  readonly limit: (caller: Caller, viewer?: Viewer) => void;
  /** Throws `DRAINING` once no new work is taken. */
  readonly admit: () => void;
}

/** One request as both eras hand it to a method. */
export interface Call {
  readonly method: string;
  readonly params: JsonObject;
  readonly id: RequestId;
  readonly revision: Revision;
  readonly viewer: Viewer;
  readonly source: Source;
  readonly posture: Posture;
  /**
   * What the source also gets: `can` is what the client can be asked (`elicitation`, `elicitation.url`, `sampling`, `sampling.tools`,
   * `roots`), `answers` are those it gave before, by key, and `key` is its own name for this call (C4).
   */
  readonly options: CallOptions & { readonly can: readonly string[] };
  /** What else must hold of a tool's arguments; throws a `Fault`. */
  readonly checkArguments: ((offer: Offer, args: JsonObject) => void) | undefined;
  /** Runs when the client is given a list (C8). */
  readonly onListed: ((lists: Lists, list: keyof Lists) => void) | undefined;
}

/** A method that both eras have. */
export type Method = (call: Call) => Outcome | Promise<Outcome>;

/** The members of a result (JSON without the braces), or what the client has to be asked first. */
export type Outcome = Members | { readonly needs: JsonObject };

export interface Members {
  readonly members: string | Page;
  readonly meta?: JsonObject;
  /** A list that does not follow the state: it may be cached for a while. */
  readonly lasting?: boolean;
  /** They describe a task, and are not its result. */
  readonly task?: true;
}

/** The same call once more, with what its client has answered so far. */
export const withAnswers = (call: Call, answers: JsonObject): Call => ({ ...call, options: { ...call.options, answers } });

/** A domain refusal. */
export type Refusal = { readonly code: string; readonly message: string; readonly data?: Json };

/** In the `_meta` of a result: the code of a domain refusal, for clients that read more than its sentence. */
export const REFUSED_META = "troupe/refused";

/** The posture of lists taken from a surface: where the catalogue is not known in advance, a gated list would promise too much. */
export function postureFor(surface: Surface, wanted: Posture): Posture {
  return wanted === "gated" && surface.links !== undefined && surface.catalogue.links === undefined ? "dynamic" : wanted;
}

/** Who is behind a request. Era, connection and posture end here: an actor sees the viewer only. */
export function viewerOf(caller: Caller, standIn: string | undefined): Viewer {
  const principal = caller.principal ?? standIn;
  return principal === undefined ? { scopes: caller.scopes } : { principal, scopes: caller.scopes };
}

export const methodNotFound = (method: string): Fault => new Fault("METHOD", `Method not found: ${method}`);

export const draining = (): Fault =>
  new Fault("DRAINING", "The server is shutting down; connect again in a moment.", { headers: { "retry-after": "1" } });
