// Owns: the JSON of events: chains, what is made of them, and causes.

import type { ActorId, Json, JsonObject } from "../../../core/contract/index.ts";

/** One row of a chain. `GET /actors/:kind/:key/events?after=&before=&limit=&type=&principal=&search=&order=desc` */
export interface EventRow {
  readonly id: string;
  readonly actor: ActorId;
  readonly seq: number;
  readonly at: number;
  /** The action, or `start`, `stop`, `checkpoint`, `fork`, `revert`, `import`. */
  readonly type: string;
  readonly life: string;
  readonly cause?: string;
  /** The principal that it was done for. */
  readonly principal?: string;
  /** The actor that sent the message. */
  readonly from?: ActorId;
  readonly args?: Json;
  readonly reply?: Json;
  readonly sent: number;
  /** Paths of the state that it changed; at most 20. */
  readonly changed: readonly string[];
  /** From acceptance to commit, where it is known. */
  readonly ms?: number;
  /** The body was erased: what it held is unknown. */
  readonly erased?: true;
  /** Arguments or reply are too long for a list, and left out: `GET /events/:id` has them, up to 4 MiB. */
  readonly cut?: true;
  /** The request of a client that caused it. Absent: another actor, a timer or an operator did, or it is not known any more. */
  readonly request?: CausingRequest;
}

/** The request of a client, in short. */
export interface CausingRequest {
  /** `GET /traffic/:n` has all of it. Absent: it is not among the recorded messages any more. */
  readonly n?: number;
  readonly at: number;
  readonly method: string;
  readonly name?: string;
  readonly client?: string;
  readonly session?: string;
  readonly principal?: string;
}

/** An event that a request caused. */
export interface CausedEvent {
  readonly actor: ActorId;
  readonly seq: number;
}

/** `GET /events/:id` */
export interface EventDetail extends EventRow {
  /** The text that was hashed, so that the page can check it. */
  readonly header: string;
  readonly body?: string;
  readonly sentIds: readonly string[];
  readonly record?: Json;
  readonly version?: number;
}

/** `GET /actors/:kind/:key/texts?after=&limit=`, oldest first: what is hashed, so that a client can verify a chain by itself. */
export interface EventTexts {
  readonly seq: number;
  /** The SHA-256 of `header`. */
  readonly id: string;
  /** It names the event before, and the SHA-256 of `body`. */
  readonly header: string;
  /** Absent: it was erased. */
  readonly body?: string;
}

/** `GET /actors/:kind/:key/state?at=` */
export interface StateAt {
  readonly actor: ActorId;
  readonly seq: number;
  readonly version: number;
  readonly state: Json;
}

/** `GET /actors/:kind/:key/diff?from=&to=` */
export interface StateDiff {
  readonly actor: ActorId;
  readonly from: number;
  readonly to: number;
  readonly differences: readonly { readonly path: string; readonly before?: Json; readonly after?: Json }[];
}

/** Events of `POST /actors/:kind/:key/verify` (server-sent: `progress`, then `done`). */
export interface Verified {
  readonly actor: ActorId;
  readonly events: number;
  readonly ok: boolean;
  readonly flaws: readonly { readonly seq: number; readonly code: string; readonly message: string }[];
  readonly erasedBodies: number;
  readonly head: string;
}

/** `POST /receipts/check`: whether the chain has the event of a receipt. */
export interface ReceiptCheck {
  readonly ok: boolean;
  readonly what: string;
  readonly event?: EventRow;
}

/** Events of `POST /actors/:kind/:key/replay` (server-sent: `progress`, then `done`): re-run with the code that is served now. */
export interface Replayed {
  readonly actor: ActorId;
  readonly seq: number;
  readonly run: number;
  readonly differ: number;
  readonly taken: JsonObject;
  readonly mismatches: readonly { readonly seq: number; readonly what: string; readonly recorded: Json; readonly now: Json }[];
}

/** `GET /events/:id/causes`: the whole tree that the event is part of. */
export interface CauseGraph {
  /** The event in the request. */
  readonly of: string;
  readonly root: string;
  readonly nodes: readonly CauseNode[];
  /** From an event to one it caused. `message`: what was sent. */
  readonly edges: readonly { readonly from: string; readonly to: string; readonly message?: string; readonly waitedMs: number }[];
  /** There are more than are listed. */
  readonly cut: boolean;
}

/** An event of the tree, or a dead letter. */
export interface CauseNode extends EventRow {
  readonly depth: number;
  /** How often its message failed before, where that is known. */
  readonly attempts?: number;
  /** A dead letter: it has no event. Its id takes the place of an event's. */
  readonly letter?: { readonly why: string; readonly action: string; readonly to: ActorId };
}
