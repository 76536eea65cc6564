// Owns: the JSON of dead letters, timers and the outbox.

import type { ActorId, Json } from "../../../core/contract/index.ts";
import type { PageOf } from "./answers.ts";
import type { EventRow } from "./events.ts";

/** `GET /letters` */
export interface LetterPage extends PageOf<LetterRow> {
  /** How many letters, up to this page's end, cannot be read. Where an engine runs, its log names them. */
  readonly damaged?: number;
}

/** One row of `GET /letters` */
export interface LetterRow {
  readonly id: string;
  readonly to: ActorId;
  readonly action: string;
  readonly args: Json;
  readonly from?: ActorId;
  readonly principal?: string;
  /** The event that sent it. */
  readonly cause?: string;
  /** The request that started it all. */
  readonly root?: EventRow;
  readonly why: string;
  readonly at: number;
  readonly replays: number;
}

/** `GET /timers?kind=&after=&limit=`, soonest first. */
export interface TimerRow {
  readonly actor: ActorId;
  /** Empty: the actor's expiry. */
  readonly name: string;
  readonly at: number;
  readonly action?: string;
  /** Absent: there are none, or they are too long for a list. */
  readonly args?: Json;
  readonly everyMs?: number;
  readonly cron?: string;
  readonly timeZone?: string;
  /** The event that set it. */
  readonly cause?: string;
  /** The same, in short, in lists of timers, if its actor's state has not been stored whole since. */
  readonly setBy?: EventRow;
}

/** `GET /outbox` */
export interface OutboxRow {
  readonly id: string;
  readonly to: ActorId;
  readonly action: string;
  readonly from?: ActorId;
  readonly at: number;
  readonly failures: number;
}
