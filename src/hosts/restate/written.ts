import { entryOf, NOTHING_SINCE, sinceAfter, needsSnapshot, type Kind, type Plan, wakeNameIn } from "../../core/chain/internal.ts";
import type { Message, SetWake } from "../../core/contract/index.ts";
import { getOwn } from "../../core/contract/internal.ts";
import type { Sealed } from "./archive.ts";
import { blocksAfter, NOTHING_HELD, type Block, type Room } from "./blocks.ts";
import { keptText, type Health, type Kept, type KeptReply } from "./kept.ts";
import type { Told } from "./outcome.ts";
import { firstLine, withLine } from "./lines.ts";
import type { Place } from "./place.ts";
import { EVENT_BYTES, isLarger, isLonger, PIECE_BYTES, tooLarge } from "./sizes.ts";

/** A timer that has to be set for a wake. */
interface Timer {
  readonly name: string;
  readonly wake: SetWake;
}

/** What a turn leaves, ready to be set and sent: from here on nothing throws. */
export interface Written {
  /** Of the actor's own key. */
  readonly text: string;
  readonly life: string;
  /** Of a stopped actor's last message: leaves once its children have ended. */
  readonly out: readonly Message[];
  readonly timers: readonly Timer[];
  /** For the archive, in this order. */
  readonly sealed: readonly Sealed[];
  readonly blocks: readonly Block[];
  readonly change: Told;
}

/** What makes room, and the lines that leave with it. */
export interface Making {
  readonly room: Room;
  readonly held: string;
}

/** Throws `STATE_TOO_LARGE`, or what there is no text of. */
export function writtenBy(
  kind: Kind,
  { base, born, kept, stale }: Place,
  plan: Plan,
  health: Health | undefined,
  { room, held }: Making,
  lastMessageAt = Math.max(kept?.row.lastMessageAt ?? 0, plan.message.at),
): Written {
  const since = kept?.since ?? NOTHING_SINCE;
  const full = born || stale || needsSnapshot(since);
  const { id, message } = plan;
  // Nothing of a turn may hang on when it is run: what it sends carries its message's time.
  const now = message.at;
  const entry = entryOf(
    kind,
    plan,
    {
      parent: kept?.head ?? null,
      full,
      messageCount: born ? 1 : (kept?.row.messageCount ?? 0) + 1,
      lastMessageAt,
      consumed: undefined,
    },
    now,
  );
  const { event, seq, row, out } = entry;
  const told: KeptReply[] = [...plan.remembered, ...latersOf(plan)].map((reply) => ({ ...reply, seq, head: event.id }));
  const replies = [...(kept?.replies ?? []).filter(({ until }) => until > now), ...told];
  const leaving: KeptReply[] = [];
  while (told.length > 0 && tooMany(replies)) leaving.push(...replies.splice(0, Math.ceil(replies.length / 2)));
  const parting = kept === undefined ? NONE_LEAVE : eventsLeaving(kept, room, held);
  const after = kept === undefined ? NO_BLOCKS : blocksAfter(kept, room);
  const alone = kept === undefined || room.rolls || room.leave === "all";
  const next: Kept = {
    row,
    state: plan.state,
    bytes: plan.bytes,
    seq,
    head: event.id,
    since: sinceAfter(since, entry),
    own: alone ? 1 : kept.own + 1,
    held: after.held,
    lines: alone ? firstLine(event, row.life, kept?.head ?? null) : withLine(kept.lines, event),
    replies,
    ...(kept?.archived || leaving.length > 0 ? { archived: true as const } : {}),
    ...(health === undefined || born ? {} : { health }),
  };
  const before = born ? {} : base.extra.wakes;
  // Restate has forgotten the one that fired, and after the clock was set back its next time may be the one that it was set to.
  const fired = wakeNameIn(message.id, row.life);
  const timers = Object.entries(row.wakes).flatMap(([name, wake]) =>
    getOwn(before, name)?.at === wake.at && name !== fired ? [] : [{ name, wake }],
  );
  const { emit } = plan;
  const change: Told = { seq, head: event.id, status: row.status, ...(emit === undefined || emit.length === 0 ? {} : { emit }) };
  const text = keptText(next);
  // What has no text, or too much, would ask for another run once it is with the context, for ever.
  if (isLonger(text, PIECE_BYTES)) throw tooLarge(id, "What is kept with the newest event", PIECE_BYTES);
  if (event.body !== undefined && isLonger(event.body, EVENT_BYTES)) throw tooLarge(id, "An event", EVENT_BYTES);
  for (const sent of out) if (isLonger(JSON.stringify(sent), EVENT_BYTES)) throw tooLarge(id, "A message", EVENT_BYTES);
  for (const { reply } of told) if (isLarger(reply, EVENT_BYTES)) throw tooLarge(id, "An answer", EVENT_BYTES);
  return { text, life: row.life, out, timers, sealed: sealedOf(parting, leaving, now), blocks: after.blocks, change };
}

/** All at once, but for what is long. */
function sealedOf(parting: Pick<Sealed, "seq" | "count" | "lines">, leaving: readonly KeptReply[], now: number): readonly Sealed[] {
  const short: KeptReply[] = [];
  const long: Sealed[] = [];
  for (const reply of leaving)
    if (JSON.stringify(reply.reply).length > MOST_CHARACTERS) long.push({ ...NONE_LEAVE, replies: [reply], now });
    else short.push(reply);
  return parting.count === 0 && short.length === 0 ? long : [{ ...parting, replies: short, now }, ...long];
}

const NONE_LEAVE = { seq: 1, count: 0, lines: "" };
const NO_BLOCKS = { held: NOTHING_HELD, blocks: [] };

function eventsLeaving(kept: Kept, { leave }: Room, held: string): Pick<Sealed, "seq" | "count" | "lines"> {
  if (leave === "none") return NONE_LEAVE;
  const seq = kept.seq - kept.own - kept.held.events + 1;
  if (leave === "blocks") return { seq, count: kept.held.events, lines: held };
  return { seq, count: kept.held.events + kept.own, lines: held === "" ? kept.lines : `${held}\n${kept.lines}` };
}

/** Under which name the answer to a message that was told "later" is kept. */
export const laterKey = (messageId: string): string => `later ${messageId}`;

function latersOf({ answers, message }: Plan): readonly Omit<KeptReply, "seq" | "head">[] {
  return answers.map(([id, reply]) => ({ key: laterKey(id), call: "", reply, until: message.at + ANSWER_MS }));
}

/** A caller who waits asks at once; one whose node died comes back by a key of its own. */
const ANSWER_MS = 10 * 60_000;

/** All of an actor's own key travels with each of its turns: what makes it long leaves for the archive. */
const MOST_REPLIES = 16;
const MOST_CHARACTERS = 16_384;

function tooMany(replies: readonly KeptReply[]): boolean {
  if (replies.length >= MOST_REPLIES) return true;
  let characters = 0;
  for (const { reply } of replies) characters += JSON.stringify(reply).length;
  return characters > MOST_CHARACTERS;
}
