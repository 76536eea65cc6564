// Owns: the verdict on a stored chain, damaged files included. Does not own: what a chain proves (core/chain).

import { Verifier, type Verdict, type VerifyOptions } from "../../core/chain/index.ts";
import { type ActorId, type ChainEvent, isJsonObject, type Store, StoreError } from "../../core/contract/index.ts";
import { EventPages } from "../../core/contract/internal.ts";

const MOST_EVENTS = 100;

const isDamage = (error: unknown): error is StoreError => error instanceof StoreError && error.code === "STORE_CORRUPT";

// A chain is read from its end: what a missing event hides comes before it.
const seqIn = ({ data }: StoreError): number | undefined =>
  isJsonObject(data) && typeof data["seq"] === "number" ? data["seq"] : undefined;

export interface VerdictOptions extends Omit<VerifyOptions, "actor"> {
  /** Called after each page with the number of events so far; there is a turn of the event loop between pages. Return false to stop. */
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
    // A store that answers synchronously would block the event loop while a long chain is read.
    if (onPage !== undefined) await new Promise<void>((resolve) => setImmediate(resolve));
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
