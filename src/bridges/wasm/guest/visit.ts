/** A message that makes its guest run: which export is called with what, and what comes of it. */
import { type Reply, StoreError, type Turn } from "../../../core/contract/index.ts";
import type { Gathered } from "../host/gathered.ts";
import type { GuestState } from "../guest-state.ts";
import type { WitValue } from "../wit.ts";
import type { ExportName } from "../world/interfaces.ts";

export interface Answer {
  readonly reply: Reply | "later";
  /** Whatever else of the actor's state the answer changes. */
  readonly change?: (state: GuestState) => GuestState;
}

export interface Visit {
  readonly export: ExportName;
  readonly params: readonly WitValue[];
  /** The state as the message alone leaves it, whatever becomes of the call. */
  readonly state: GuestState;
  /** Where the guest has no such export. */
  readonly absent: Turn<GuestState>;
  /** It begins with this call: where that fails, it ends. */
  readonly begins?: true;
  /** A request may be answered by its own id. */
  readonly request?: string;
  readonly answer: (back: WitValue, gathered: Gathered) => Answer;
}

export const refused = (code: string, message: string): Turn<GuestState> => ({ reply: { refused: { code, message } } });
/** What it is made of is not there, or wrong. */
export const unfounded = (error: unknown): Turn<GuestState> =>
  refused(error instanceof StoreError ? error.code : "INVALID", error instanceof Error ? error.message : String(error));
export const failedReply = (code: string, message: string): Reply => ({ ok: { failed: { code, message } } });
export const NULL: Answer = { reply: { ok: null } };
