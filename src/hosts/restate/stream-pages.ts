/**
 * What was sent on a session's streams, bounded: for each stream the pages before, which never change, and the open one.
 *
 * Numbers count over the whole session and begin with the time: an id from before all was cleared is never taken for one
 * from after. Readers run beside the writer: a page is written before it is named, and its name goes before it does.
 */
import { StoreError } from "../../core/contract/index.ts";
import { isObject } from "./is-object.ts";
import { PAGE_BYTES } from "./map-page.ts";
import type { PageReads } from "./paged-reader.ts";
import type { PageWrites } from "./pages-draft.ts";

/** What a client may ask for again, at most: what is older goes a page at a time. */
export interface RestateStreamBounds {
  /** Per stream. Default 1,000. */
  readonly messages: number;
  /** Per stream, of JSON text; at most 1 MiB, which is the default. */
  readonly bytes: number;
  /** Per session; the one written to longest ago goes first. Default 32. */
  readonly streams: number;
}

export const RESTATE_STREAM_BOUNDS: RestateStreamBounds = { messages: 1_000, bytes: 1_048_576, streams: 32 };

/** A page of this part of what is kept at once loses little of it when the oldest goes. */
const PARTS = 8;

export type Sent = readonly [n: number, text: string];

export interface Directory {
  /** The first number: whether it is still the same session. */
  readonly life: number;
  readonly next: number;
  /** The one written to longest ago first. */
  readonly streams: readonly string[];
}

interface Sealed {
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly bytes: number;
}

interface Stream {
  /** All up to this number is gone. */
  readonly dropped: number;
  readonly sealed: readonly Sealed[];
  readonly open: readonly Sent[];
}

const DIRECTORY = "streams";
const streamKey = (name: string): string => `stream/${name}`;
const pageKey = (first: number): string => `page/${first}`;

const bytesOf = (sent: readonly Sent[]): number => sent.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0);

/** Text that is undefined is too long to be kept. Returns its number, and the session's directory as it now is. */
export async function append(
  state: PageWrites,
  bounds: RestateStreamBounds,
  { stream: name, text, at }: { readonly stream: string; readonly text: string | undefined; readonly at: number },
): Promise<{ readonly n: number; readonly directory: Directory; readonly begun: boolean }> {
  // Both are asked for at once, but the SDK fails where two are awaited at once.
  const [asked, askedToo] = [state.get(DIRECTORY), state.get(streamKey(name))];
  const before = checked(await asked, isDirectory);
  const kept = checked(await askedToo, isStream);
  const n = before?.next ?? at;
  const stream = kept ?? { dropped: n - 1, sealed: [], open: [] };
  const sealed = [...stream.sealed];
  let open: readonly Sent[] = text === undefined ? stream.open : [...stream.open, [n, text]];
  const size = bytesOf(open);
  if (open.length >= Math.max(1, bounds.messages / PARTS) || size >= Math.min(PAGE_BYTES, bounds.bytes / PARTS)) {
    const first = open[0]?.[0] ?? n;
    state.set(pageKey(first), open);
    sealed.push({ first, last: n, count: open.length, bytes: size });
    open = [];
  }
  let { dropped } = stream;
  let count = sealed.reduce((sum, page) => sum + page.count, open.length);
  let bytes = sealed.reduce((sum, page) => sum + page.bytes, bytesOf(open));
  let over = 0;
  for (const page of sealed) {
    if (text !== undefined && count <= bounds.messages && bytes <= bounds.bytes) break;
    over += 1;
    dropped = page.last;
    count -= page.count;
    bytes -= page.bytes;
  }
  const gone = sealed.splice(0, over).map(({ first }) => first);
  if (text === undefined) {
    dropped = n;
    open = [];
  }
  state.set(streamKey(name), { dropped, sealed, open });
  const streams = [...(before?.streams ?? []).filter((other) => other !== name), name];
  for (const idle of streams.splice(0, streams.length - bounds.streams)) {
    gone.push(...((await streamOf(state, idle))?.sealed ?? []).map(({ first }) => first));
    state.clear(streamKey(idle));
  }
  const directory: Directory = { life: before?.life ?? n, next: n + 1, streams };
  state.set(DIRECTORY, directory);
  for (const first of gone) state.clear(pageKey(first));
  return { n, directory, begun: before === undefined };
}

/** Undefined: no such message was sent on that stream, or one after it is gone. */
export async function sentAfter(state: PageReads, name: string, n: number): Promise<readonly Sent[] | undefined> {
  const stream = await streamOf(state, name);
  if (stream === undefined || n < stream.dropped) return undefined;
  const asked = stream.sealed.filter(({ last }) => last >= n).map(({ first }) => state.get(pageKey(first)));
  const sent: Sent[] = [];
  for (const page of asked) {
    const known = checked(await page, areSent);
    // It went after it was named.
    if (known === undefined) return undefined;
    sent.push(...known);
  }
  sent.push(...stream.open);
  if (n !== stream.dropped && !sent.some(([known]) => known === n)) return undefined;
  return sent.filter(([known]) => known > n);
}

export async function directoryOf(state: PageReads): Promise<Directory | undefined> {
  return checked(await state.get(DIRECTORY), isDirectory);
}

const streamOf = async (state: PageReads, name: string): Promise<Stream | undefined> => checked(await state.get(streamKey(name)), isStream);

function checked<T>(value: unknown, is: (value: unknown) => value is T): T | undefined {
  if (value === null || value === undefined) return undefined;
  if (is(value)) return value;
  throw new StoreError("STORE_CORRUPT", "A session's streams on the Restate server are none: let nothing else write to them.");
}

export const areSent = (value: unknown): value is readonly Sent[] =>
  Array.isArray(value) &&
  value.every((sent) => Array.isArray(sent) && sent.length === 2 && typeof sent[0] === "number" && typeof sent[1] === "string");

const isDirectory = (value: unknown): value is Directory =>
  isObject(value) && typeof value["life"] === "number" && typeof value["next"] === "number" && Array.isArray(value["streams"]);

const isStream = (value: unknown): value is Stream =>
  isObject(value) &&
  typeof value["dropped"] === "number" &&
  areSent(value["open"]) &&
  Array.isArray(value["sealed"]) &&
  value["sealed"].every((page) => isObject(page) && ["first", "last", "count", "bytes"].every((of) => typeof page[of] === "number"));
