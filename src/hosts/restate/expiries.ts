/**
 * When the replies of an archive are over: their keys in pages, oldest first. As one list it would be read and written as a whole with
 * every few keyed calls, and grow beyond what the server takes under one name.
 */
import { tryParseJson } from "../../core/contract/internal.ts";
import type { DurableReader } from "./durable-context.ts";
import { isObject } from "./is-object.ts";

/** A reply's key, and when it is over, in milliseconds since 1970. */
export type Expiry = readonly [key: string, until: number];

export interface ExpiryWriter extends DurableReader {
  set(name: string, text: string): void;
  clear(name: string): void;
}

/** The first page there is and the one that is being filled, and when all of the first are over: 0, where nobody has looked. */
interface Index {
  readonly first: number;
  readonly last: number;
  readonly until: number;
}

/** Keys on one page. */
const PAGE = 64;
/** A reply is put with each, so that pages go sooner than they come. */
const SWEEP_PAGES = 2;
/** Pages in one answer. */
const ANSWER_PAGES = 16;
const INDEX = "over";

const pageKey = (page: number): string => `over/${page}`;

export async function addExpiries(context: ExpiryWriter, added: readonly Expiry[]): Promise<void> {
  const kept = tryParseJson(await context.get(INDEX));
  const before = indexIn(kept);
  // As one list, as archives began.
  let rest: readonly Expiry[] = [...(before === undefined ? expiriesIn(kept) : await pageAt(context, before.last)), ...added];
  const { first, until } = before ?? { first: 0, until: 0 };
  let last = before?.last ?? 0;
  for (; rest.length > PAGE; last += 1) {
    context.set(pageKey(last), JSON.stringify(rest.slice(0, PAGE)));
    rest = rest.slice(PAGE);
  }
  context.set(pageKey(last), JSON.stringify(rest));
  context.set(INDEX, JSON.stringify({ first, last, until } satisfies Index));
}

/** Lets go of pages of which all are over, but for the last one. `over` is told of each key on them. */
export async function sweepExpiries(context: ExpiryWriter, now: number, over: (key: string) => Promise<void>): Promise<void> {
  const index = indexIn(tryParseJson(await context.get(INDEX)));
  if (index === undefined || index.until > now) return;
  let { first, until } = index;
  for (let pages = 0; first < index.last; pages += 1) {
    const page = await pageAt(context, first);
    until = Math.max(...page.map(([, one]) => one), 0);
    if (until > now || pages === SWEEP_PAGES) break;
    for (const [key] of page) await over(key);
    context.clear(pageKey(first));
    first += 1;
    until = 0;
  }
  if (first !== index.first || until !== index.until)
    context.set(INDEX, JSON.stringify({ first, last: index.last, until } satisfies Index));
}

/** Some of them, from a page on, and the page to go on with. */
export async function expiriesFrom(
  context: DurableReader,
  from: number,
): Promise<{ readonly keys: readonly Expiry[]; readonly next?: number }> {
  const kept = tryParseJson(await context.get(INDEX));
  const index = indexIn(kept);
  if (index === undefined) return { keys: expiriesIn(kept) };
  const keys: Expiry[] = [];
  let page = Math.max(from, index.first);
  for (const end = page + ANSWER_PAGES; page < end && page <= index.last; page += 1) keys.push(...(await pageAt(context, page)));
  return page <= index.last ? { keys, next: page } : { keys };
}

const pageAt = async (context: DurableReader, page: number): Promise<readonly Expiry[]> =>
  expiriesIn(tryParseJson(await context.get(pageKey(page))));

const expiriesIn = (value: unknown): readonly Expiry[] => (Array.isArray(value) ? value.filter(isExpiry) : []);

export const isExpiry = (value: unknown): value is Expiry =>
  Array.isArray(value) && typeof value[0] === "string" && typeof value[1] === "number";

function indexIn(value: unknown): Index | undefined {
  if (!isObject(value)) return undefined;
  const { first, last, until } = value;
  return typeof first === "number" && typeof last === "number" && typeof until === "number" ? { first, last, until } : undefined;
}
