/**
 * What an actor is on Restate: one state key written once per turn; older events and replies are in its archive.
 *
 * C6: the server runs one turn per key at a time and drops the writes of an attempt
 * that was superseded, so a head is never extended twice.
 * C7: nothing is kept beside the chain but what follows from it: `state` is what its
 * events tell.
 */
import type { SinceFull } from "../../core/chain/internal.ts";
import { StoreError, type ChainEvent, type Json, type Remembered, type Row } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import type { DurableReader } from "./durable-context.ts";
import { isObject } from "./is-object.ts";

/** Name of the state key. All of an actor's keys travel with each of its turns, so it has few and they are short. */
export const ACTOR_KEY = "actor";
/** Set while work runs: the invocation to cancel. */
export const WORK_KEY = "work";
/** Why an actor that has not begun, or has stopped, has failed: its first state could not be made. */
export const HEALTH_KEY = "health";
/** Of an actor that expires: when a message came that left no event. */
export const SEEN_KEY = "seen";

export interface Kept {
  readonly row: Row;
  readonly state: Json;
  /** An upper bound of the state's bytes. */
  readonly bytes: number;
  readonly seq: number;
  readonly head: string;
  /** What decides when the next whole state is written. */
  readonly since: SinceFull;
  /** How many of the newest events are here. */
  readonly own: number;
  /** Those before them (`blocks.ts`); all that are older are in the archive. */
  readonly held: Held;
  /** These (`lines.ts`): turns add to them and do not look at them. All are of this life. */
  readonly lines: string;
  /** The newest replies to keyed calls, and to calls that were told "later" (C4). */
  readonly replies: readonly KeptReply[];
  /** The archive has replies too. */
  readonly archived?: true;
  /** Of this life, where its kind bounds crashes. */
  readonly health?: Health;
}

export interface Held {
  readonly blocks: number;
  readonly events: number;
  readonly characters: number;
}

/** A reply that is given again, and the event it came with. */
export interface KeptReply extends Remembered {
  readonly seq: number;
  readonly head: string;
}

export interface Health {
  /** Of crashes, in milliseconds since 1970. */
  readonly times: readonly number[];
  /** Why the actor has failed. */
  readonly why?: string;
}

/** Throws `STORE_CORRUPT` where something else wrote under the name. */
export function readKept(text: string | undefined): Kept | undefined {
  if (text === undefined) return undefined;
  const end = text.indexOf("\n");
  const first = tryParseJson(text.slice(0, end));
  const kept: unknown = isObject(first) && end > 0 ? { ...first, lines: text.slice(end + 1) } : undefined;
  if (isKept(kept)) return kept;
  throw new StoreError("STORE_CORRUPT", `The state key "${ACTOR_KEY}" holds no actor: let nothing else write to these virtual objects.`);
}

/** Throws where there is no JSON of it. */
export const keptText = ({ lines, ...first }: Kept): string => `${JSON.stringify(first)}\n${lines}`;

export function readHealth(text: string | undefined): Health {
  const value = tryParseJson(text);
  if (!isObject(value)) return { times: [] };
  const { times, why } = value;
  return {
    times: Array.isArray(times) ? times.filter((time) => typeof time === "number") : [],
    ...(typeof why === "string" ? { why } : {}),
  };
}

export const isBegun = (kept: Kept | undefined): boolean => kept !== undefined && kept.row.status !== "stopped";

/** Of the life that it is in, or that its next message would begin. */
export async function healthOf(context: DurableReader, kept: Kept | undefined): Promise<Health> {
  return isBegun(kept) ? (kept?.health ?? { times: [] }) : readHealth(await context.get(HEALTH_KEY));
}

const isEvent = (value: unknown): value is ChainEvent =>
  isObject(value) && typeof value["id"] === "string" && typeof value["header"] === "string";

export const isEvents = (value: unknown): value is readonly ChainEvent[] => Array.isArray(value) && value.every(isEvent);

export function isReply(value: unknown): value is KeptReply {
  if (!isObject(value)) return false;
  const { key, call, until, reply, seq, head } = value;
  return (
    typeof key === "string" &&
    typeof call === "string" &&
    typeof until === "number" &&
    isObject(reply) &&
    typeof seq === "number" &&
    typeof head === "string"
  );
}

/** What an archive or an actor answers when it is asked for a reply, where it has one. */
export const isReplyOf = (answer: unknown): answer is { readonly value: KeptReply } => isObject(answer) && isReply(answer["value"]);

const isHeld = (value: unknown): value is Held =>
  isObject(value) && typeof value["blocks"] === "number" && typeof value["events"] === "number" && typeof value["characters"] === "number";

function isKept(value: unknown): value is Kept {
  if (!isObject(value)) return false;
  const { row, state, bytes, seq, head, since, own, held, lines, replies } = value;
  return (
    isObject(row) &&
    typeof row["life"] === "string" &&
    typeof row["version"] === "number" &&
    isObject(row["wakes"]) &&
    isObject(row["pending"]) &&
    state !== undefined &&
    typeof bytes === "number" &&
    typeof seq === "number" &&
    typeof head === "string" &&
    isObject(since) &&
    typeof own === "number" &&
    isHeld(held) &&
    typeof lines === "string" &&
    Array.isArray(replies) &&
    replies.every(isReply)
  );
}
