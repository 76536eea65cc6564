import { entryOf, NOTHING_SINCE, sinceAfter, wantsFull, type Kind, type Plan } from "../chain/internal.ts";
import type { ChainEvent, Message, SetWake } from "../contract/index.ts";
import type { Sealed } from "./archive.ts";
import type { Health, Kept, KeptReply } from "./kept.ts";
import type { Told } from "./outcome.ts";
import type { Place } from "./place.ts";

/** A timer that has to be set for a wake. */
export interface Timer {
  readonly name: string;
  readonly wake: SetWake;
}

/** What a turn leaves, ready to be set and sent: from here on nothing throws. */
export interface Written {
  readonly kept: Kept;
  /** Of a stopped actor's last message: leaves once its children have ended. */
  readonly out: readonly Message[];
  readonly timers: readonly Timer[];
  readonly sealed: Sealed | undefined;
  readonly change: Told;
}

export function writtenBy(kind: Kind, { base, born, kept, stale }: Place, plan: Plan, health: Health | undefined): Written {
  const since = kept?.since ?? NOTHING_SINCE;
  const full = born || stale || wantsFull(since);
  const { message } = plan;
  // Nothing of a turn may hang on when it is run: what it sends carries its message's time.
  const now = message.at;
  const entry = entryOf(
    kind,
    plan,
    {
      parent: kept?.head ?? null,
      full,
      messageCount: born ? 1 : (kept?.row.messageCount ?? 0) + 1,
      lastMessageAt: Math.max(kept?.row.lastMessageAt ?? 0, now),
      consumed: undefined,
    },
    now,
  );
  const { event, seq, row, out } = entry;
  const told: KeptReply[] = [...plan.remembered, ...latersOf(plan)].map((reply) => ({ ...reply, seq, head: event.id }));
  const replies = [...(kept?.replies ?? []).filter(({ until }) => until > now), ...told];
  const old = kept !== undefined && tooMuch(kept.last) ? kept.last : [];
  const leaving = told.length > 0 && tooMuch(replies) ? replies.splice(0, Math.ceil(replies.length / 2)) : [];
  const sealed = old.length + leaving.length === 0 ? undefined : { seq: seq - old.length, events: old, replies: leaving, now };
  const next: Kept = {
    row,
    state: plan.state,
    bytes: plan.bytes,
    seq,
    head: event.id,
    since: sinceAfter(since, entry),
    last: old.length > 0 || kept === undefined ? [event] : [...kept.last, event],
    replies,
    ...(kept?.archived || leaving.length > 0 ? { archived: true as const } : {}),
    ...(health === undefined || born ? {} : { health }),
  };
  const before = born ? {} : base.extra.wakes;
  const timers = Object.entries(row.wakes).flatMap(([name, wake]) => (before[name]?.at === wake.at ? [] : [{ name, wake }]));
  const { emit } = plan;
  const change: Told = { seq, head: event.id, status: row.status, ...(emit === undefined || emit.length === 0 ? {} : { emit }) };
  // What has no text would ask for another run once it is with the context, for ever.
  JSON.stringify([next, out]);
  return { kept: next, out, timers, sealed, change };
}

/** Under which name the answer to a message that was told "later" is kept. */
export const laterKey = (messageId: string): string => `later ${messageId}`;

function latersOf({ answers, message }: Plan): readonly Omit<KeptReply, "seq" | "head">[] {
  return answers.map(([id, reply]) => ({ key: laterKey(id), call: "", reply, until: message.at + ANSWER_MS }));
}

/** A caller who waits asks at once; one whose node died comes back by a key of its own. */
const ANSWER_MS = 10 * 60_000;

/** All of an actor's own key travels with each of its turns: what makes it long leaves for the archive. */
const MOST_KEPT = 16;
const MOST_CHARACTERS = 16_384;

function tooMuch(kept: readonly ChainEvent[] | readonly KeptReply[]): boolean {
  if (kept.length >= MOST_KEPT) return true;
  let characters = 0;
  for (const one of kept) characters += "header" in one ? one.header.length + (one.body?.length ?? 0) : JSON.stringify(one.reply).length;
  return characters > MOST_CHARACTERS;
}
