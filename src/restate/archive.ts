/**
 * What has left an actor's own key: older events, and older replies. An object of its own, since all keys of
 * an object travel with each of its turns; only what is asked for leaves this one.
 */
import { StoreError, type ActorId } from "../contract/index.ts";
import type { DurableReader } from "./durable-context.ts";
import { isObject } from "./is-object.ts";
import { isReply, type KeptReply } from "./kept.ts";
import { parsed } from "./parsed.ts";
import { putEvents, type SlotWriter } from "./slots.ts";

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

interface ArchiveWriter extends SlotWriter {
  clear(name: string): void;
}

/** Exclusive. The same again changes nothing. Throws where it cannot be kept: what an actor has handed over is nowhere else. */
export async function put(context: ArchiveWriter, id: ActorId, sealed: unknown): Promise<void> {
  if (!isSealed(sealed)) throw new StoreError("STORE_CORRUPT", "This is nothing an actor puts into its archive.");
  await putEvents(context, id, sealed);
  if (sealed.replies.length > 0) await putReplies(context, sealed);
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
