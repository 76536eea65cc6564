// Owns: the JSON of actors, their states and mailboxes.

import type { ActorId, IndexValue, Json, Policy, Status } from "../../../core/contract/index.ts";
import type { PageOf } from "./answers.ts";
import type { AppResource } from "./apps.ts";
import type { TimerRow } from "./queues.ts";

/** One row of `GET /actors`: `kind`, `status`, `search` (in ids), `index` with `where` (JSON), `text`, `order`, `after`, `limit`. */
export interface ActorRow {
  readonly id: ActorId;
  readonly kind: string;
  /** Decoded. */
  readonly key: string;
  readonly status: Status;
  readonly seq: number;
  /** Of its last message; in a list without an index, of its last event. Absent in pages of more than 100, and on a cluster. */
  readonly lastAt?: number;
  /** Of the index in the request. */
  readonly fields?: Readonly<Record<string, Json>>;
}

/** Conditions on fields of an index, all of which must hold: a value, one of several, a range, or the beginning of a text. */
export type IndexWhere = Readonly<
  Record<
    string,
    | IndexValue
    | { readonly in: readonly IndexValue[] }
    | { readonly gte?: IndexValue; readonly lte?: IndexValue }
    | { readonly prefix: string }
  >
>;

/** A page of actors, in the order of kinds and keys or of an index. */
export interface ActorPage extends PageOf<ActorRow> {
  /** Counted only where that is cheap. */
  readonly total?: number;
  /** The key came from an id search that ended early: it looked at so many actors. */
  readonly examined?: number;
}

/** `GET /actors/:kind/:key` */
export interface ActorDetail extends ActorRow {
  readonly uid: string;
  readonly head: string;
  /** Of the state. */
  readonly version: number;
  readonly createdAt: number;
  readonly lastMessageAt: number;
  /** Of its last event, which need not be a message. Absent: events of an actor in memory may not be stored. */
  readonly lastEventAt?: number;
  readonly messageCount: number;
  readonly persistence: Policy["persistence"];
  readonly owner?: string;
  readonly parent?: ActorId;
  /** The first 1,000 that have not stopped. */
  readonly children: readonly ActorId[];
  /** How many have not stopped. */
  readonly childCount: number;
  /** A fork: what it sends by itself is recorded, not delivered; its replies are. */
  readonly muted?: true;
  readonly state: Json;
  /** It has more than 4 MiB, so it is left out: `state` is null. */
  readonly stateTooLarge?: true;
  readonly stateBytes: number;
  /** Messages that wait in its mailbox. Absent: unknown. */
  readonly queued?: number;
  readonly timers: readonly TimerRow[];
  /** Replies it owes. */
  readonly pending: number;
  /** Why it failed. */
  readonly failure?: { readonly code: string; readonly message: string; readonly at?: number; readonly seq?: number };
  /** The last fault of its code or its store that the server logged since it started, also if it has recovered. */
  readonly lastFault?: { readonly at: number; readonly why: string; readonly count: number; readonly action?: string };
  /** Prefix → the actor that a surface of `viewer` links to. */
  readonly links: Readonly<Record<string, ActorId>>;
  /** The MCP Apps among its own resources: each is a tab of its page. */
  readonly apps: readonly AppResource[];
}

/** `GET /actors/:kind/:key/mailbox` */
export interface MailboxShape {
  /** Why the first message waits. `ready`: it does not, or a turn runs now. `awaiting-commits`: turns before it are not on disk yet. */
  readonly phase: "ready" | "loading" | "working" | "awaiting-commits" | "starting" | "stopping-children";
  /** How many wait. */
  readonly queued: number;
  /** The first 100 of them. */
  readonly waiting: readonly MailboxRow[];
  /** The message whose work runs. */
  readonly working?: MailboxRow;
}

/** A message that waits, or is worked on. */
export interface MailboxRow {
  readonly id: string;
  readonly action: string;
  /** Without what is secret. */
  readonly args: Json;
  /** When it was accepted. */
  readonly at: number;
  readonly from?: ActorId;
  readonly principal?: string;
  /** The event that sent it. */
  readonly cause?: string;
}

/** The event `change` of `GET /stream`: which actors changed since the last, each once, at most 500. */
export interface Changes {
  readonly items: readonly { readonly id: ActorId; readonly seq: number; readonly status: Status }[];
  /** Others that changed, too. */
  readonly more: number;
}
