// Owns: running the turns of a stored chain again with the code of today, page by page. Does not own: comparing one turn (core/chain).
import { type Mismatch, readBody, Reexecuting, type Reexecution } from "../../core/chain/index.ts";
import type { ActorId, Behaviour, Store } from "../../core/contract/index.ts";
import { EventPages } from "../../core/contract/internal.ts";

export interface ReplayOptions {
  /** The number of events, from the first. */
  readonly to: number;
  /** Called after each page with the number of events so far. Return false to stop. */
  readonly onPage?: (done: number) => boolean;
}

export interface Replay extends Reexecution {
  readonly seq: number;
  /** The number of turns that differ. */
  readonly differ: number;
  /** Versions of the code that wrote events which could not be run again. */
  readonly otherVersions: ReadonlySet<number>;
}

/** Further ones are only counted: if the code has changed, every turn of a long chain may differ. */
const MOST_MISMATCHES = 1_000;

/** The author's code runs for each event, so pages are small, with a turn of the event loop between them. */
const MOST_EVENTS = 100;

/** Runs the turns of events 1 to `to` again, and compares each with what was recorded. */
export async function replayChain(
  store: Pick<Store, "events">,
  id: ActorId,
  behaviour: Behaviour,
  { to, onPage }: ReplayOptions,
): Promise<Replay> {
  const running = new Reexecuting(behaviour);
  const mismatches: Mismatch[] = [];
  const otherVersions = new Set<number>();
  let differ = 0;
  let seq = 0;
  const pages = new EventPages(MOST_EVENTS);
  while (seq < to) {
    const page = await store.events(id, seq, Math.min(pages.size, to - seq));
    pages.read(page);
    for (const event of page) {
      const writer = readBody(event)?.version;
      if (writer !== undefined && writer !== behaviour.version) otherVersions.add(writer);
      const found = running.next(event);
      if (found.length > 0) differ += 1;
      for (const mismatch of found) if (mismatches.length < MOST_MISMATCHES) mismatches.push(mismatch);
    }
    seq += page.length;
    if (page.length === 0 || onPage?.(seq) === false) break;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { seq, run: running.run, taken: running.taken, differ, mismatches, otherVersions };
}
