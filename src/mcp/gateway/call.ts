// Owns: one request as both eras hand it to a method, and its outcome. Does not own: the order of its steps (dispatch.ts), and the shape of
// its reply (legacy/session-request.ts, modern/modern-request.ts).
import type { JsonObject, CallOptions, Json, Offer, Reply, Source, Viewer } from "../../core/contract/index.ts";
import type { Lists, ListMode } from "../source/index.ts";
import { Fault } from "./errors.ts";
import type { RequestId } from "./json-rpc.ts";
import type { Revision } from "./revision.ts";

/** One request as both eras hand it to a method. */
export interface Call {
  readonly method: string;
  readonly params: JsonObject;
  readonly id: RequestId;
  readonly revision: Revision;
  readonly viewer: Viewer;
  readonly source: Source;
  readonly listMode: ListMode;
  /**
   * What the source also gets: `can` lists the requests that the client can answer (`elicitation`, `elicitation.url`, `sampling`, `sampling.tools`,
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

/** The members of a result (JSON without the braces), or the questions that the client has to answer first. */
export type Outcome = Members | Needs;

/** The questions of a call, and whether it waits for their answers. */
export type Needs = Extract<Reply, { readonly needs: JsonObject }>;

/** Members that are serialised once and sent in many replies. */
export interface SerialisedMembers {
  readonly text: string;
  /** The text with the end of its reply. */
  before(ending: string): Uint8Array;
}

export interface Members {
  readonly members: string | SerialisedMembers;
  readonly meta?: JsonObject;
  /** A list that does not follow the state: it may be cached for a while. */
  readonly lasting?: boolean;
  /** They describe a task, and are not its result. */
  readonly task?: true;
}

/** The same call once more, with what its client has answered so far, and the errors in place of answers. */
export const withAnswers = (call: Call, answers: JsonObject, unanswered?: JsonObject): Call => ({
  ...call,
  options: { ...call.options, answers, unanswered },
});

/** A domain refusal. */
export type Refusal = { readonly code: string; readonly message: string; readonly data?: Json };

/** In the `_meta` of a result: the code of a domain refusal, for clients that read more than its sentence. */
export const REFUSED_META = "troupe/refused";

export const methodNotFound = (method: string): Fault => new Fault("METHOD", `Method not found: ${method}`);
