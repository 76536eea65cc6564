import type { ActorId, Behaviour, Engine, Message } from "../../../core/contract/index.ts";
import type { GuestOptions } from "../guest-options.ts";
import type { GuestState } from "../guest-state.ts";
import type { Company } from "./company.ts";
import type { Library } from "./library.ts";
import type { Ran } from "./ran.ts";

/** What all guests of a process share. */
export interface Room {
  readonly options: GuestOptions;
  readonly library: Library;
  /** The `host` of channel ends held here. */
  readonly process: string;
  readonly ran: Ran;
  readonly company: Company;
  /** Throws while none is attached. */
  readonly engine: () => Engine;
  /** What else that engine runs, as far as it is known: what a guest asks of it may require scopes. */
  readonly kinds: () => readonly Behaviour[];
  /** Settles once one is. Undefined: one is. */
  readonly attached: () => Promise<void> | undefined;
}

/** A message that has come to a guest's actor. */
export interface Entered {
  readonly self: ActorId;
  readonly state: GuestState;
  readonly message: Message;
  readonly life: string;
  /** Of the event its turn leaves. */
  readonly seq: number;
  readonly uid: string;
}
