/** What is asked of an actor beside its turns (law 2: all of it is durable). */
import { type Kind, policyWith, upcast } from "../../core/chain/internal.ts";
import type { ActorId, ChainEvent, Snapshot } from "../../core/contract/index.ts";
import type { DurableReader } from "./durable-context.ts";
import { heldLines } from "./blocks.ts";
import { ACTOR_KEY, healthOf, readKept, WORK_KEY, type KeptReply } from "./kept.ts";
import { eventsIn } from "./lines.ts";
import type { Told } from "./outcome.ts";

/** As this version of the behaviour understands it. */
export async function read(context: DurableReader, kind: Kind, id: ActorId): Promise<Snapshot | undefined> {
  const kept = readKept(await context.get(ACTOR_KEY));
  if (kept === undefined) return undefined;
  const { row, seq, head: last } = kept;
  const { state, failure: why } = upcast(kind, id, { state: kept.state, version: row.version });
  const health = await healthOf(context, kept);
  return {
    id,
    uid: row.uid,
    seq,
    head: last,
    status: why === undefined && health.why === undefined ? row.status : "failed",
    state,
    version: why === undefined ? kind.behaviour.version : row.version,
    createdAt: row.createdAt,
    lastMessageAt: row.lastMessageAt,
    messageCount: row.messageCount,
    persistence: policyWith(kind, row.policy).persistence,
    ...(row.owner === undefined ? {} : { owner: row.owner }),
  };
}

/** What work it is at. `parent`: who stops, and whose child it may be no more. */
export async function working(context: DurableReader, parent: unknown): Promise<string | null> {
  const work = (await context.get(WORK_KEY)) ?? null;
  if (work === null || typeof parent !== "string") return work;
  const row = readKept(await context.get(ACTOR_KEY))?.row;
  return row?.status === "live" && row.parent !== parent ? null : work;
}

/** Without its state. */
export async function head(context: DurableReader, kind: Kind, id: ActorId): Promise<(Told & { readonly owner?: string }) | undefined> {
  const snapshot = await read(context, kind, id);
  if (snapshot === undefined) return undefined;
  const { seq, head: last, status, owner } = snapshot;
  return { seq, head: last, status, ...(owner === undefined ? {} : { owner }) };
}

/** Of the actor's own key: those after a seq. */
export interface Newest {
  readonly events: readonly ChainEvent[];
  /** Of the last event that is in the archive, or on its way there. */
  readonly archived: number;
}

export async function events(context: DurableReader, id: ActorId, afterSeq: number): Promise<Newest> {
  const kept = readKept(await context.get(ACTOR_KEY));
  if (kept === undefined) return { events: [], archived: 0 };
  const { seq, own, held, lines } = kept;
  const archived = seq - own - held.events;
  // Whoever follows an actor asks for the newest alone.
  const all = afterSeq < seq - own && held.events > 0;
  const [text, before] = all ? [`${await heldLines(context, id, kept)}\n${lines}`, archived] : [lines, seq - own];
  return { events: eventsIn(id, text, before + 1).slice(Math.max(0, afterSeq - before)), archived };
}

/** The reply kept under that key. `archived`: the archive may have it. */
export async function reply(
  context: DurableReader,
  key: string,
): Promise<{ readonly reply: KeptReply | undefined; readonly archived: boolean; readonly pending: boolean }> {
  const kept = readKept(await context.get(ACTOR_KEY));
  return {
    reply: kept?.replies.findLast((one) => one.key === key),
    archived: kept?.archived === true,
    pending: kept !== undefined && Object.keys(kept.row.pending).some((id) => `later ${id}` === key),
  };
}

/** Whether the actor is in the life it sent this message in. */
export async function lives(context: DurableReader, messageId: string): Promise<boolean> {
  const kept = readKept(await context.get(ACTOR_KEY));
  return kept !== undefined && kept.row.status !== "stopped" && messageId.startsWith(`${kept.row.life}.`);
}
