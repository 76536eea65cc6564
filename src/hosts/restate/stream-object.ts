// Owns: the virtual object of a session's streams, and their bounded storage in pages. Does not own: the client (stream-store.ts).
//
// Each stream has closed pages, which never change, and an open one. Numbers count over the whole session and start with the time, so
// an id from before a deletion is never taken for a newer one. Readers run concurrently with the writer: a page is written before its
// name, and its name is removed before the page.
import { EngineError, StoreError } from "../../core/contract/index.ts";
import { RETRY_FOREVER, type SdkDefinition, type ExclusiveContext, type RestateSdk } from "./sdk.ts";
import { isObject } from "./handler-inputs.ts";
import { WRITE_RETENTION_MS } from "./map-object.ts";
import { Names } from "./names.ts";
import { guarded } from "./outcome.ts";
import { PAGE_BYTES, type PageWrites, type PageReads } from "./map-pages.ts";

/** Inputs of the handlers; all of them answer a `Guarded`. */
export interface StreamInputs {
  /** Without text: too long to be stored. `at` is the time. Answers the message's number. */
  readonly append: { readonly stream: string; readonly text?: string; readonly at: number };
  /** Answers `SentMessage`s, or null. */
  readonly after: { readonly stream: string; readonly n: number };
  readonly delete: null;
}

/** Sent to itself: what was there at that time. */
type ExpireInput = Pick<StreamDirectory, "life" | "next">;

export interface StreamObjectOptions {
  /** Prefix of its name, if several systems share a server. Default none. */
  readonly prefix?: string;
  readonly bounds?: Partial<RestateStreamBounds>;
  /** Streams without a new message for this long, or up to twice as long, are deleted. Default 24 h. */
  readonly ttlMs?: number;
}

export const STREAM_NAME_LENGTH = 1_024;
const DAY_MS = 86_400_000;

/** The virtual object that has the streams of one session per key. */
export function streamObject(sdk: RestateSdk, { prefix, bounds, ttlMs = DAY_MS }: StreamObjectOptions = {}): SdkDefinition {
  const limits: RestateStreamBounds = { ...RESTATE_STREAM_BOUNDS, ...bounds };
  const name = new Names(prefix).stream;
  const options = { enableLazyState: true, ...RETRY_FOREVER };
  const writing = { ...options, idempotencyRetention: WRITE_RETENTION_MS };
  const { object } = sdk.handlers;
  const expireLater = (context: ExclusiveContext, { life, next }: StreamDirectory): void => {
    const parameter: ExpireInput = { life, next };
    context.genericSend({ service: name, method: "expire", key: context.key, parameter, inputSerde: sdk.serde.json, delay: ttlMs });
  };
  return sdk.object({
    name,
    handlers: {
      append: object.exclusive(writing, (context, input) =>
        guarded(async () => {
          const { stream, text, at } = readAppend(input);
          const fits = text !== undefined && Buffer.byteLength(text) <= limits.bytes;
          const { n, directory, begun } = await append(context, limits, { stream, text: fits ? text : undefined, at });
          if (begun) expireLater(context, directory);
          return n;
        }),
      ),
      after: object.shared(options, (context, input) =>
        guarded(() => {
          const { stream, n } = readAfter(input);
          return sentAfter(context, stream, n);
        }),
      ),
      delete: object.exclusive(writing, (context) => guarded(() => context.clearAll())),
      expire: object.exclusive(options, (context, input) =>
        guarded(async () => {
          const directory = await directoryOf(context);
          // A timer of an earlier life has a successor.
          if (directory === undefined || !isExpire(input) || input.life !== directory.life) return;
          if (input.next === directory.next) context.clearAll();
          else expireLater(context, directory);
        }),
      ),
    },
  });
}

const badCall = (): EngineError =>
  new EngineError("BAD_ID", "This is no call of streams that this version understands: call them through their store.");

const isName = (value: unknown): value is string => typeof value === "string" && value.length <= STREAM_NAME_LENGTH;

function readAppend(input: unknown): StreamInputs["append"] {
  if (!isObject(input)) throw badCall();
  const { stream, text, at } = input;
  if (!isName(stream) || (text !== undefined && typeof text !== "string") || typeof at !== "number" || !Number.isSafeInteger(at) || at < 1)
    throw badCall();
  return { stream, at, ...(text !== undefined && { text }) };
}

function readAfter(input: unknown): StreamInputs["after"] {
  if (!isObject(input) || !isName(input["stream"]) || typeof input["n"] !== "number") throw badCall();
  return { stream: input["stream"], n: input["n"] };
}

const isExpire = (value: unknown): value is ExpireInput =>
  isObject(value) && typeof value["life"] === "number" && typeof value["next"] === "number";

/** Limits of what a client can request again; older messages are removed a page at a time. */
export interface RestateStreamBounds {
  /** Per stream. Default 1,000. */
  readonly messages: number;
  /** Per stream, of JSON text; at most 1 MiB, which is the default. */
  readonly bytes: number;
  /** Per session; the one least recently written to is removed first. Default 32. */
  readonly streams: number;
}

const RESTATE_STREAM_BOUNDS: RestateStreamBounds = { messages: 1_000, bytes: 1_048_576, streams: 32 };

/** With this many pages per stream, removing the oldest page loses little. */
const PAGES_PER_STREAM = 8;

export type SentMessage = readonly [n: number, text: string];

export interface StreamDirectory {
  /** The first number, which identifies the session. */
  readonly life: number;
  readonly next: number;
  /** Least recently written first. */
  readonly streams: readonly string[];
}

interface ClosedPage {
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly bytes: number;
}

interface Stream {
  /** All messages up to this number were removed. */
  readonly dropped: number;
  readonly sealed: readonly ClosedPage[];
  readonly open: readonly SentMessage[];
}

const STREAM_DIRECTORY = "streams";
const streamKey = (name: string): string => `stream/${name}`;
const pageKey = (first: number): string => `page/${first}`;

const bytesOf = (sent: readonly SentMessage[]): number => sent.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0);

/** Text that is undefined is too long to be stored. Returns the message's number, and the session's new directory. */
export async function append(
  state: PageWrites,
  bounds: RestateStreamBounds,
  { stream: name, text, at }: { readonly stream: string; readonly text: string | undefined; readonly at: number },
): Promise<{ readonly n: number; readonly directory: StreamDirectory; readonly begun: boolean }> {
  // Both reads start at once, but the SDK fails if two are awaited at once.
  const [reads, streamRead] = [state.get(STREAM_DIRECTORY), state.get(streamKey(name))];
  const before = checkedOr(await reads, isDirectory);
  const stored = checkedOr(await streamRead, isStream);
  const n = before?.next ?? at;
  const stream = stored ?? { dropped: n - 1, sealed: [], open: [] };
  const sealed = [...stream.sealed];
  let open: readonly SentMessage[] = text === undefined ? stream.open : [...stream.open, [n, text]];
  const size = bytesOf(open);
  if (open.length >= Math.max(1, bounds.messages / PAGES_PER_STREAM) || size >= Math.min(PAGE_BYTES, bounds.bytes / PAGES_PER_STREAM)) {
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
  const removed = sealed.splice(0, over).map(({ first }) => first);
  if (text === undefined) {
    dropped = n;
    open = [];
  }
  state.set(streamKey(name), { dropped, sealed, open });
  const streams = [...(before?.streams ?? []).filter((other) => other !== name), name];
  for (const idle of streams.splice(0, streams.length - bounds.streams)) {
    removed.push(...((await streamOf(state, idle))?.sealed ?? []).map(({ first }) => first));
    state.clear(streamKey(idle));
  }
  const directory: StreamDirectory = { life: before?.life ?? n, next: n + 1, streams };
  state.set(STREAM_DIRECTORY, directory);
  for (const first of removed) state.clear(pageKey(first));
  return { n, directory, begun: before === undefined };
}

/** Undefined if no such message was sent on that stream, or a later one was removed. */
export async function sentAfter(state: PageReads, name: string, n: number): Promise<readonly SentMessage[] | undefined> {
  const stream = await streamOf(state, name);
  if (stream === undefined || n < stream.dropped) return undefined;
  const reads = stream.sealed.filter(({ last }) => last >= n).map(({ first }) => state.get(pageKey(first)));
  const sent: SentMessage[] = [];
  for (const page of reads) {
    const known = checkedOr(await page, areSentMessages);
    // The page was removed after its name was read.
    if (known === undefined) return undefined;
    sent.push(...known);
  }
  sent.push(...stream.open);
  if (n !== stream.dropped && !sent.some(([known]) => known === n)) return undefined;
  return sent.filter(([known]) => known > n);
}

export async function directoryOf(state: PageReads): Promise<StreamDirectory | undefined> {
  return checkedOr(await state.get(STREAM_DIRECTORY), isDirectory);
}

const streamOf = async (state: PageReads, name: string): Promise<Stream | undefined> =>
  checkedOr(await state.get(streamKey(name)), isStream);

function checkedOr<T>(value: unknown, is: (value: unknown) => value is T): T | undefined {
  if (value === null || value === undefined) return undefined;
  if (is(value)) return value;
  throw new StoreError("STORE_CORRUPT", "A session's streams on the Restate server are none: let nothing else write to them.");
}

export const areSentMessages = (value: unknown): value is readonly SentMessage[] =>
  Array.isArray(value) &&
  value.every((sent) => Array.isArray(sent) && sent.length === 2 && typeof sent[0] === "number" && typeof sent[1] === "string");

const isDirectory = (value: unknown): value is StreamDirectory =>
  isObject(value) && typeof value["life"] === "number" && typeof value["next"] === "number" && Array.isArray(value["streams"]);

const isStream = (value: unknown): value is Stream =>
  isObject(value) &&
  typeof value["dropped"] === "number" &&
  areSentMessages(value["open"]) &&
  Array.isArray(value["sealed"]) &&
  value["sealed"].every((page) => isObject(page) && ["first", "last", "count", "bytes"].every((of) => typeof page[of] === "number"));
