/**
 * What has left an actor's own key: older events, and older replies. An object of its own, since all keys of
 * an object travel with each of its turns; only what is asked for leaves this one.
 */
import { StoreError, type ActorId } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import type { DurableReader } from "./durable-context.ts";
import { addExpiries, sweepExpiries } from "./expiries.ts";
import { isObject } from "./is-object.ts";
import { isReply, type KeptReply } from "./kept.ts";
import { putEvents, type SlotWriter } from "./slots.ts";

/** Names are UTF-8, in which all halves of a pair of surrogates would be the same. */
const replyKey = (key: string): string => (key.isWellFormed() ? `reply/${key}` : `reply-escaped/${JSON.stringify(key)}`);

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
  for (const reply of replies) context.set(replyKey(reply.key), JSON.stringify(reply));
  await addExpiries(
    context,
    replies.map(({ key, until }) => [key, until]),
  );
  await sweepExpiries(context, now, async (key) => {
    const reply = await replyTo(context, key);
    // The key may have been used again since.
    if (reply === undefined || reply.until <= now) context.clear(replyKey(key));
  });
}

/** Shared. */
export async function replyTo(context: DurableReader, key: string): Promise<KeptReply | undefined> {
  const reply = tryParseJson(await context.get(replyKey(key)));
  return isReply(reply) ? reply : undefined;
}

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
