// Owns: reads of one actor, concurrent with its turns (law 2: all of it is durable). Does not own: queries over actors (queries.ts).
import { type Kind, policyWith, upcast } from "../../core/chain/internal.ts";
import type { ActorId, ChainEvent, Snapshot } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { DurableReader } from "./durable-context.ts";
import { blockLines, ACTOR_KEY, healthOf, readStoredActor, WORK_KEY, type StoredReply } from "./stored-actor.ts";
import { eventsIn } from "./event-lines.ts";
import type { OwnedHead } from "./outcome.ts";

/** As the current version of the behaviour reads it. */
export async function readSnapshot(context: DurableReader, kind: Kind, id: ActorId): Promise<Snapshot | undefined> {
  const stored = readStoredActor(await context.get(ACTOR_KEY));
  if (stored === undefined) return undefined;
  const { row, seq, head } = stored;
  const { state, failure: why } = upcast(kind, id, { state: stored.state, version: row.version });
  const health = await healthOf(context, stored);
  return {
    id,
    uid: row.uid,
    seq,
    head,
    status: why === undefined && health.why === undefined ? row.status : "failed",
    state,
    version: why === undefined ? kind.behaviour.version : row.version,
    createdAt: row.createdAt,
    lastMessageAt: row.lastMessageAt,
    messageCount: row.messageCount,
    persistence: policyWith(kind, row.policy).persistence,
    ...omitUndefined({ owner: row.owner }),
  };
}

/** The invocation that runs the actor's work. Null if `parent`, which is stopping, is not its parent any more. */
export async function readWork(context: DurableReader, parent: unknown): Promise<string | null> {
  const work = (await context.get(WORK_KEY)) ?? null;
  if (work === null || typeof parent !== "string") return work;
  const row = readStoredActor(await context.get(ACTOR_KEY))?.row;
  return row?.status === "live" && row.parent !== parent ? null : work;
}

/** The snapshot without its state. */
export async function readHead(context: DurableReader, kind: Kind, id: ActorId): Promise<OwnedHead | undefined> {
  const snapshot = await readSnapshot(context, kind, id);
  if (snapshot === undefined) return undefined;
  const { seq, head, status, owner } = snapshot;
  return { seq, head, status, ...omitUndefined({ owner }) };
}

/** Events that are still with the actor, after a given seq. */
export interface RecentEvents {
  readonly events: readonly ChainEvent[];
  /** Seq of the last event that is in the archive, or on its way there. */
  readonly archived: number;
}

export async function readEvents(context: DurableReader, id: ActorId, afterSeq: number): Promise<RecentEvents> {
  const stored = readStoredActor(await context.get(ACTOR_KEY));
  if (stored === undefined) return { events: [], archived: 0 };
  const { seq, own, held, lines } = stored;
  const archived = seq - own - held.events;
  // A reader that follows an actor needs only the newest events.
  const all = afterSeq < seq - own && held.events > 0;
  const [text, before] = all ? [`${await blockLines(context, id, stored)}\n${lines}`, archived] : [lines, seq - own];
  return { events: eventsIn(id, text, before + 1).slice(Math.max(0, afterSeq - before)), archived };
}

/** The stored reply to a keyed call. `archived`: the archive may have it. */
export async function readReply(
  context: DurableReader,
  key: string,
): Promise<{ readonly reply: StoredReply | undefined; readonly archived: boolean; readonly pending: boolean }> {
  const stored = readStoredActor(await context.get(ACTOR_KEY));
  return {
    reply: stored?.replies.findLast((one) => one.key === key),
    archived: stored?.archived === true,
    pending: stored !== undefined && Object.keys(stored.row.pending).some((id) => `later ${id}` === key),
  };
}

/** True if the actor is still in the life in which it sent this message. */
export async function isInLife(context: DurableReader, messageId: string): Promise<boolean> {
  const stored = readStoredActor(await context.get(ACTOR_KEY));
  return stored !== undefined && stored.row.status !== "stopped" && messageId.startsWith(`${stored.row.life}.`);
}
