// Owns: what a turn starts from and what it writes, as text within the size limits. Does not own: setting and sending it (commit.ts).
import {
  atMostBytes,
  begin,
  extraOf,
  faults,
  mayStart,
  upcast,
  type Base,
  type Kind,
  entryOf,
  NOTHING_SINCE,
  sinceAfter,
  needsSnapshot,
  type Plan,
  wakeNameIn,
} from "../../core/chain/internal.ts";
import type { ActorId, Message, SetWake } from "../../core/contract/index.ts";
import { getOwn } from "../../core/contract/internal.ts";
import {
  type StoredActor,
  blocksAfter,
  NO_BLOCKS,
  type Block,
  type BlockPlan,
  storedActorText,
  type Health,
  type StoredReply,
} from "./stored-actor.ts";
import type { ArchiveInput, EventRun } from "./archive.ts";
import type { ActorHead } from "./outcome.ts";
import { startLines, appendEvent } from "./event-lines.ts";
import { EVENT_BYTES, isLarger, isLonger, PIECE_BYTES, tooLarge } from "./sizes.ts";

/** What a turn starts from, and its position in the chain. */
export interface TurnStart {
  readonly base: Base;
  readonly born: boolean;
  /** Absent before the first life. */
  readonly stored: StoredActor | undefined;
  /** Written by another version of the behaviour: the next event contains the whole state. */
  readonly stale: boolean;
}

/** Throws an `EngineError` if the actor does not accept the message, or what `initial` throws. */
export function turnStart(kind: Kind, message: Message, stored: StoredActor | undefined, why: string | undefined): TurnStart {
  const { to } = message;
  const ended = stored?.row.status === "stopped";
  if (why !== undefined) throw faults.failed(to, why);
  if (stored !== undefined && !ended) {
    const { owner } = stored.row;
    if (owner !== undefined && message.viewer !== undefined && message.viewer.principal !== owner) throw faults.noActor(to);
    return startFrom(kind, to, stored, true);
  }
  if (!mayStart(kind, message)) throw stored === undefined ? faults.noActor(to) : faults.stopped(to);
  const before = stored === undefined ? undefined : { uid: stored.row.uid, ...(stored.row.muted && { muted: true as const }) };
  return { base: begin(kind, to, message, before), born: true, stored, stale: false };
}

/** For the engine's own turns. `strict` throws if the state cannot be migrated. */
export function startFrom(kind: Kind, id: ActorId, stored: StoredActor, strict: boolean): TurnStart {
  const { row, state, bytes } = stored;
  const migrated = upcast(kind, id, { state, version: row.version });
  if (strict && migrated.failure) throw migrated.failure;
  const { stale } = migrated;
  const base: Base = {
    state: migrated.state,
    bytes: stale ? atMostBytes(migrated.state) : bytes,
    life: row.life,
    createdAt: row.createdAt,
    extra: extraOf(kind, row),
  };
  return { base, born: false, stored, stale };
}

/** What a turn writes, ready to be set and sent: from here on nothing throws. */
export interface TurnWrites {
  /** Text of the actor's own key. */
  readonly text: string;
  readonly life: string;
  /** Messages. Those of a stopped actor are sent once its children have stopped. */
  readonly out: readonly Message[];
  /** To set. */
  readonly timers: readonly (readonly [name: string, wake: SetWake])[];
  /** For the archive, in this order. */
  readonly archived: readonly ArchiveInput[];
  readonly blocks: readonly Block[];
  readonly change: ActorHead;
}

/** The block plan, and the lines of the blocks that it archives. */
export interface BlockChange {
  readonly blockPlan: BlockPlan;
  readonly lines: string;
}

/** Throws `STATE_TOO_LARGE`, or an error if something cannot be text. */
export function turnWrites(
  kind: Kind,
  { base, born, stored, stale }: TurnStart,
  plan: Plan,
  health: Health | undefined,
  { blockPlan, lines }: BlockChange,
  lastMessageAt = Math.max(stored?.row.lastMessageAt ?? 0, plan.message.at),
): TurnWrites {
  const since = stored?.since ?? NOTHING_SINCE;
  const full = born || stale || needsSnapshot(since);
  const { id, message } = plan;
  // No result may depend on when the turn runs, so its messages carry the time of its own message.
  const now = message.at;
  const entry = entryOf(
    kind,
    plan,
    {
      parent: stored?.head ?? null,
      full,
      messageCount: born ? 1 : (stored?.row.messageCount ?? 0) + 1,
      lastMessageAt,
      consumed: undefined,
    },
    now,
  );
  const { event, seq, row, out } = entry;
  const newReplies: StoredReply[] = [...plan.remembered, ...deferredReplies(plan)].map((reply) => ({ ...reply, seq, head: event.id }));
  const replies = [...(stored?.replies ?? []).filter(({ until }) => until > now), ...newReplies];
  const archivedReplies: StoredReply[] = [];
  while (newReplies.length > 0 && tooMany(replies)) archivedReplies.push(...replies.splice(0, Math.ceil(replies.length / 2)));
  const archivedEvents = stored === undefined ? NO_EVENTS : eventsToArchive(stored, blockPlan, lines);
  const after = stored === undefined ? NO_BLOCK_WRITES : blocksAfter(stored, blockPlan);
  const isFirstLine = stored === undefined || blockPlan.addsBlock || blockPlan.toArchive === "all";
  const next: StoredActor = {
    row,
    state: plan.state,
    bytes: plan.bytes,
    seq,
    head: event.id,
    since: sinceAfter(since, entry),
    own: isFirstLine ? 1 : stored.own + 1,
    held: after.held,
    lines: isFirstLine ? startLines(event, row.life, stored?.head ?? null) : appendEvent(stored.lines, event),
    replies,
    ...(stored?.archived || archivedReplies.length > 0 ? { archived: true as const } : {}),
    ...(health === undefined || born ? {} : { health }),
  };
  const before = born ? {} : base.extra.wakes;
  // Restate has forgotten the timer that fired; after the clock was set back, its next time may be the same.
  const fired = wakeNameIn(message.id, row.life);
  const timers = Object.entries(row.wakes).filter(([name, { at }]) => getOwn(before, name)?.at !== at || name === fired);
  const { emit } = plan;
  const change: ActorHead = { seq, head: event.id, status: row.status, ...(emit === undefined || emit.length === 0 ? {} : { emit }) };
  const text = storedActorText(next);
  // A text that is too long would make the invocation retry for ever once it is with the context.
  if (isLonger(text, PIECE_BYTES)) throw tooLarge(id, "What is kept with the newest event", PIECE_BYTES);
  if (event.body !== undefined && isLonger(event.body, EVENT_BYTES)) throw tooLarge(id, "An event", EVENT_BYTES);
  for (const sent of out) if (isLonger(JSON.stringify(sent), EVENT_BYTES)) throw tooLarge(id, "A message", EVENT_BYTES);
  for (const { reply } of newReplies) if (isLarger(reply, EVENT_BYTES)) throw tooLarge(id, "An answer", EVENT_BYTES);
  return { text, life: row.life, out, timers, archived: archiveInputs(archivedEvents, archivedReplies, now), blocks: after.blocks, change };
}

/** One input, and one more for each long reply. */
function archiveInputs(archivedEvents: EventRun, archivedReplies: readonly StoredReply[], now: number): readonly ArchiveInput[] {
  const short: StoredReply[] = [];
  const long: ArchiveInput[] = [];
  for (const reply of archivedReplies)
    if (JSON.stringify(reply.reply).length > MAX_REPLY_CHARACTERS) long.push({ ...NO_EVENTS, replies: [reply], now });
    else short.push(reply);
  return archivedEvents.count === 0 && short.length === 0 ? long : [{ ...archivedEvents, replies: short, now }, ...long];
}

const NO_EVENTS = { seq: 1, count: 0, lines: "" };
const NO_BLOCK_WRITES = { held: NO_BLOCKS, blocks: [] };

function eventsToArchive(stored: StoredActor, { toArchive }: BlockPlan, lines: string): EventRun {
  if (toArchive === "none") return NO_EVENTS;
  const seq = stored.seq - stored.own - stored.held.events + 1;
  if (toArchive === "blocks") return { seq, count: stored.held.events, lines };
  return { seq, count: stored.held.events + stored.own, lines: lines === "" ? stored.lines : `${lines}\n${stored.lines}` };
}

/** The key under which a deferred reply is stored. */
export const deferredReplyKey = (messageId: string): string => `later ${messageId}`;

function deferredReplies({ answers, message }: Plan): readonly Omit<StoredReply, "seq" | "head">[] {
  return answers.map(([id, reply]) => ({ key: deferredReplyKey(id), call: "", reply, until: message.at + DEFERRED_REPLY_MS }));
}

/** A waiting caller requests it at once; one whose node died repeats the call under its own key. */
const DEFERRED_REPLY_MS = 10 * 60_000;

/** All of an actor's own key travels with each of its turns, so what makes it long is archived. */
const MAX_REPLIES = 16;
const MAX_REPLY_CHARACTERS = 16_384;

function tooMany(replies: readonly StoredReply[]): boolean {
  if (replies.length >= MAX_REPLIES) return true;
  let characters = 0;
  for (const { reply } of replies) characters += JSON.stringify(reply).length;
  return characters > MAX_REPLY_CHARACTERS;
}
