/**
 * What has left an actor's own key: older events, and older replies. An object of its own, since all keys of
 * an object travel with each of its turns; only what is asked for leaves this one.
 */
import { exportLine } from "../chain/index.ts";
import { StoreError, type ActorId, type ChainEvent } from "../contract/index.ts";
import type { DurableReader } from "./durable-context.ts";
import { isObject } from "./is-object.ts";
import { isReply, type KeptReply } from "./kept.ts";
import { eventsIn } from "./lines.ts";
import { parsed } from "./parsed.ts";

/** Events under one name. */
const SLOT_EVENTS = 32;

const slotKey = (index: number): string => `events/${index}`;

/** After which seq the events under that name are. Undefined: there are none under it. */
export function seqBefore(name: string): number | undefined {
  const [, slot] = /^events\/(\d+)$/.exec(name) ?? [];
  return slot === undefined ? undefined : Number(slot) * SLOT_EVENTS;
}
const replyKey = (key: string): string => `reply/${key}`;
/** Keys of replies and when they are over, oldest first. */
export const OVER_KEY = "over";
/** Replies that are over are thrown away once there are this many. */
const SWEEP_OVER = 256;

/** What a turn hands to the archive. */
export interface Sealed {
  /** Of the first event. */
  readonly seq: number;
  /** How many events there are. */
  readonly count: number;
  /** `lines.ts`. */
  readonly lines: string;
  readonly replies: readonly KeptReply[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

interface ArchiveWriter extends DurableReader {
  set(name: string, text: string): void;
  clear(name: string): void;
}

/** Exclusive. The same again changes nothing. Throws where it cannot be kept: what an actor has handed over is nowhere else. */
export async function put(context: ArchiveWriter, id: ActorId, sealed: unknown): Promise<void> {
  if (!isSealed(sealed)) throw new StoreError("STORE_CORRUPT", "This is nothing an actor puts into its archive.");
  const { seq, count, lines, replies } = sealed;
  const within = (seq - 1) % SLOT_EVENTS;
  // As they come, mostly: what lies across names is put there event by event.
  if (count > 0 && within === 0 && count <= SLOT_EVENTS) context.set(slotKey((seq - 1) / SLOT_EVENTS), lines);
  else if (count > 0) await putEvents(context, id, eventsIn(id, lines, seq), seq);
  if (replies.length > 0) await putReplies(context, sealed);
}

async function putEvents(context: ArchiveWriter, id: ActorId, events: readonly ChainEvent[], seq: number): Promise<void> {
  for (let at = 0; at < events.length;) {
    const place = seq - 1 + at;
    const index = Math.floor(place / SLOT_EVENTS);
    const within = place % SLOT_EVENTS;
    const some = events.slice(at, at + SLOT_EVENTS - within);
    const before = within === 0 ? [] : (await slotAt(context, id, index)).slice(0, within);
    if (before.length < within) throw new StoreError("STORE_CORRUPT", "Events are missing before those that come into the archive.");
    context.set(slotKey(index), [...before, ...some].map(exportLine).join("\n"));
    at += some.length;
  }
}

async function putReplies(context: ArchiveWriter, { replies, now }: Sealed): Promise<void> {
  const over = readOver(parsed(await context.get(OVER_KEY)));
  for (const reply of replies) {
    context.set(replyKey(reply.key), JSON.stringify(reply));
    over.push([reply.key, reply.until]);
  }
  const stay = over.length < SWEEP_OVER ? over : over.filter(([, until]) => until > now);
  const staying = new Set(stay.map(([key]) => key));
  for (const [key] of over) if (!staying.has(key)) context.clear(replyKey(key));
  context.set(OVER_KEY, JSON.stringify(stay));
}

/** Shared. In order, at least the one after `afterSeq`; none where it is not here (yet). */
export async function eventsAfter(context: DurableReader, id: ActorId, afterSeq: number): Promise<readonly ChainEvent[]> {
  return (await slotAt(context, id, Math.floor(afterSeq / SLOT_EVENTS))).slice(afterSeq % SLOT_EVENTS);
}

async function slotAt(context: DurableReader, id: ActorId, index: number): Promise<readonly ChainEvent[]> {
  const lines = await context.get(slotKey(index));
  return lines === undefined ? [] : eventsIn(id, lines, index * SLOT_EVENTS + 1);
}

/** Shared. */
export async function replyTo(context: DurableReader, key: string): Promise<KeptReply | undefined> {
  const reply = parsed(await context.get(replyKey(key)));
  return isReply(reply) ? reply : undefined;
}

const readOver = (value: unknown): [key: string, until: number][] =>
  Array.isArray(value)
    ? value.flatMap((pair: unknown): [string, number][] =>
        Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "number" ? [[pair[0], pair[1]]] : [],
      )
    : [];

function isSealed(value: unknown): value is Sealed {
  if (!isObject(value)) return false;
  const { seq, count, lines, replies, now } = value;
  return (
    typeof now === "number" &&
    typeof seq === "number" &&
    typeof count === "number" &&
    typeof lines === "string" &&
    Array.isArray(replies) &&
    replies.every(isReply)
  );
}
