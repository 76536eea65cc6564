/**
 * Where an archive's events are: so many under one name, as lines, and a long one under a name of its own, where its line has no
 * body. A name is read and written as a whole, and the server takes no text of any length.
 */
import { exportLine } from "../../core/chain/index.ts";
import { StoreError, type ActorId, type ChainEvent } from "../../core/contract/index.ts";
import type { DurableReader } from "./durable-context.ts";
import { eventsIn } from "./lines.ts";

/** Events under one name. */
const SLOT_EVENTS = 32;
/** A longer one stands aside. */
const MOST_CHARACTERS = 65_536;
/** Of bodies in one answer, which has one event at least. */
const ANSWER_CHARACTERS = 1_048_576;

const slotKey = (index: number): string => `events/${index}`;
const asideKey = (index: number, within: number): string => `events/${index}.${within}`;

/** Events of an archive: those after one seq, up to another. */
export interface Seqs {
  readonly after: number;
  readonly until: number;
}

/** Which events are under that name. Undefined: there are none under it. */
export function seqsIn(name: string): Seqs | undefined {
  const [, slot, within] = /^events\/(\d+)(?:\.(\d+))?$/.exec(name) ?? [];
  if (slot === undefined) return undefined;
  const first = Number(slot) * SLOT_EVENTS;
  return within === undefined
    ? { after: first, until: first + SLOT_EVENTS }
    : { after: first + Number(within), until: first + Number(within) + 1 };
}

export interface SlotWriter extends DurableReader {
  set(name: string, text: string): void;
}

/** `seq` is of the first of them. The same again changes nothing. */
export async function putEvents(context: SlotWriter, id: ActorId, { seq, count, lines }: Parted): Promise<void> {
  if (count === 0) return;
  const first = (seq - 1) % SLOT_EVENTS;
  // As they come, mostly: what is long, or lies across names, is put there event by event.
  if (first === 0 && count <= SLOT_EVENTS && lines.length <= MOST_CHARACTERS) {
    context.set(slotKey((seq - 1) / SLOT_EVENTS), lines);
    return;
  }
  const events = eventsIn(id, lines, seq);
  for (let at = 0; at < events.length;) {
    const place = seq - 1 + at;
    const index = Math.floor(place / SLOT_EVENTS);
    const within = place % SLOT_EVENTS;
    const some = events.slice(at, at + SLOT_EVENTS - within);
    const before = within === 0 ? [] : (await slotAt(context, id, index)).slice(0, within);
    if (before.length < within) throw new StoreError("STORE_CORRUPT", "Events are missing before those that come into the archive.");
    const slot = [...before, ...some].map((event, n) => {
      if ((event.body?.length ?? 0) <= MOST_CHARACTERS) return event;
      context.set(asideKey(index, n), exportLine(event));
      return { id: event.id, header: event.header };
    });
    context.set(slotKey(index), slot.map(exportLine).join("\n"));
    at += some.length;
  }
}

interface Parted {
  readonly seq: number;
  readonly count: number;
  readonly lines: string;
}

/** In order, at least the one after `afterSeq`; none where it is not here (yet). */
export async function eventsAfter(context: DurableReader, id: ActorId, afterSeq: number): Promise<readonly ChainEvent[]> {
  const index = Math.floor(afterSeq / SLOT_EVENTS);
  const from = afterSeq % SLOT_EVENTS;
  const found: ChainEvent[] = [];
  let characters = 0;
  for (const [n, line] of (await slotAt(context, id, index)).slice(from).entries()) {
    const event = line.body === undefined ? ((await asideAt(context, id, { index, within: from + n })) ?? line) : line;
    characters += event.body?.length ?? 0;
    if (n > 0 && characters > ANSWER_CHARACTERS) break;
    found.push(event);
  }
  return found;
}

async function slotAt(context: DurableReader, id: ActorId, index: number): Promise<readonly ChainEvent[]> {
  const lines = await context.get(slotKey(index));
  return lines === undefined ? [] : eventsIn(id, lines, index * SLOT_EVENTS + 1);
}

/** Undefined: its body was erased. */
async function asideAt(
  context: DurableReader,
  id: ActorId,
  { index, within }: { readonly index: number; readonly within: number },
): Promise<ChainEvent | undefined> {
  const line = await context.get(asideKey(index, within));
  return line === undefined ? undefined : eventsIn(id, line, index * SLOT_EVENTS + within + 1)[0];
}
