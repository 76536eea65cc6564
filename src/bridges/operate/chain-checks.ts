// Owns: checking a stored chain page by page: the verdict on it, damaged files included, and running its turns again with the code of
// today. Does not own: what a chain proves, comparing one turn (core/chain).

import {
  type Mismatch,
  readBody,
  Reexecuting,
  type Reexecution,
  Verifier,
  type Verdict,
  type VerifyOptions,
} from "../../core/chain/index.ts";
import { type ActorId, type Behaviour, type ChainEvent, isJsonObject, type Store, StoreError } from "../../core/contract/index.ts";
import { EventPages } from "../../core/contract/internal.ts";
import { yieldToEventLoop } from "./paging.ts";

/** Of one page. Between pages there is a turn of the event loop: stores answer synchronously, and a replay runs the author's code. */
const MOST_EVENTS = 100;

const isDamage = (error: unknown): error is StoreError => error instanceof StoreError && error.code === "STORE_CORRUPT";

// A chain is read from its end: what a missing event hides comes before it.
const seqIn = ({ data }: StoreError): number | undefined =>
  isJsonObject(data) && typeof data["seq"] === "number" ? data["seq"] : undefined;

interface VerdictOptions extends Omit<VerifyOptions, "actor"> {
  /** Called after each page with the number of events so far. Return false to stop. Absent: there is no turn of the event loop between pages. */
  readonly onPage?: (done: number) => boolean;
}

/** The verdict on one chain. If its file is damaged, the flaw is the first event that cannot be read. */
export const verdictOn = async (store: Pick<Store, "events">, actor: ActorId, options: VerdictOptions): Promise<Verdict> => {
  const { onPage, ...rest } = options;
  const verifier = new Verifier({ ...rest, actor });
  const pages = new EventPages(MOST_EVENTS);
  let oneByOne = false;
  for (let after = 0; ;) {
    const limit = oneByOne ? 1 : pages.size;
    let page: readonly ChainEvent[];
    try {
      page = await store.events(actor, after, limit);
    } catch (error) {
      if (!isDamage(error)) throw error;
      if (limit === 1) return { ...verifier.end(), flaw: { code: "UNREADABLE", seq: seqIn(error) ?? after + 1, message: error.message } };
      // Read one by one, to find which event it is.
      oneByOne = true;
      continue;
    }
    for (const event of page) if (!verifier.add(event)) return verifier.end();
    after += page.length;
    pages.read(page);
    if (page.length < limit || onPage?.(after) === false) return verifier.end();
    if (onPage !== undefined) await yieldToEventLoop();
  }
};

/** Whether the actor exists. One whose row is damaged does. */
export const isThere = async (store: { load(id: ActorId): Promise<unknown> }, id: ActorId): Promise<boolean> => {
  try {
    return (await store.load(id)) !== undefined;
  } catch (error) {
    if (isDamage(error)) return true;
    throw error;
  }
};

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
    await yieldToEventLoop();
  }
  return { seq, run: running.run, taken: running.taken, differ, mismatches, otherVersions };
}
