// Owns: the JSON of what operations take and answer.

import type { ActorId } from "../../../core/contract/index.ts";

/** `POST …/stop`, `POST …/restart` */
export interface Done {
  readonly ok: true;
}

/** `POST …/fork`, `…/revert`, `…/checkpoint`, `…/edit`: the event that was written. */
export interface Written {
  readonly actor: ActorId;
  readonly seq: number;
  readonly head: string;
  /** Of a revert: how many later events sent messages. */
  readonly sent?: number;
  /** Of a checkpoint: how many bodies were erased. */
  readonly erased?: number;
  readonly signed?: boolean;
  /** Of an edit: its state was checked by the schema of its kind. False: it was forced, or no served module has that schema. */
  readonly checked?: boolean;
}

/** `POST /batch`, answered by server-sent events: `progress`, then `done`. */
export interface BatchInput {
  readonly operation: "stop" | "restart" | "replay-letter" | "drop-letter";
  /** Of actors, or of letters; at most 10,000. */
  readonly ids: readonly string[];
  /** Of `stop`. */
  readonly reason?: string;
}

/** What a batch ends with: how many were done, and those that failed with code and sentence. */
export interface BatchOutcome {
  readonly done: number;
  readonly failed: readonly { readonly id: string; readonly code: string; readonly message: string }[];
}
