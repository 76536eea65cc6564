import type { Bag, CallOptions, Json, Offer, Source, Surface, Viewer } from "../../core/contract/index.ts";
import type { Lists, Posture } from "../source/index.ts";
import type { RequestId } from "./json-rpc.ts";
import type { Page } from "./pages.ts";
import type { Revision } from "./revision.ts";

/** One request as both eras hand it to a method: who asks, in which revision, and what may be said meanwhile. */
export interface Call {
  readonly method: string;
  readonly params: Bag;
  readonly id: RequestId;
  readonly revision: Revision;
  readonly viewer: Viewer;
  readonly source: Source;
  readonly posture: Posture;
  /**
   * What the source is told beside: `can` is what the client could be asked (`elicitation`, `elicitation.url`, `sampling`,
   * `sampling.tools`, `roots`), `answers` what it was asked before, by key, and `key` its own name for this call (C4).
   */
  readonly options: CallOptions & { readonly can: readonly string[] };
  /** What else must hold of a tool's arguments; throws a `Fault`. */
  readonly checkArguments: ((offer: Offer, args: Bag) => void) | undefined;
  /** What the client has been shown from now on (C8). */
  readonly onListed: ((lists: Lists, list: keyof Lists) => void) | undefined;
}

/** The members of a result (JSON without the braces), or what the client has to be asked first. */
export type Outcome = Members | { readonly needs: Bag };

export interface Members {
  readonly members: string | Page;
  readonly meta?: Bag;
  /** A list that does not follow the state: it may be kept a while. */
  readonly lasting?: boolean;
  /** They are a task, and no result yet. */
  readonly task?: true;
}

/** The same call once more, with what its client has answered so far. */
export const withAnswers = (call: Call, answers: Bag): Call => ({ ...call, options: { ...call.options, answers } });

/** A method both eras have. */
export type Method = (call: Call) => Outcome | Promise<Outcome>;

const LISTS: ReadonlySet<string> = new Set(["tools/list", "resources/list", "resources/templates/list", "prompts/list"]);

/** Whether a method lists what a viewer may do now. */
export const isListMethod = (method: string): boolean => LISTS.has(method);

/** A surface lists are taken from: where the catalogue is not known ahead, a gated list would show what nobody can promise. */
export function postureFor(surface: Surface, wanted: Posture): Posture {
  return wanted === "gated" && surface.links !== undefined && surface.catalogue.links === undefined ? "dynamic" : wanted;
}

/** What a domain refusal was, for clients that read more than its sentence. */
export const REFUSED_META = "troupe/refused";
export const RECEIPT_META = "troupe/receipt";
export const CALL_ID_META = "troupe/callId";

export type Refusal = { readonly code: string; readonly message: string; readonly data?: Json };
