// Owns: the lines of an export (docs/design/export.md): their text, their sums, reading them from a stream. Does not own: what they must
// say together (dump.ts), events (event.ts).
import { createHash, type Hash } from "node:crypto";
import {
  type ActorId,
  type JsonObject,
  type ChainEvent,
  isJsonObject,
  type Json,
  type KeyedCall,
  type DeadLetter,
  type Message,
  type Row,
  type SetWake,
  StoreError,
  type ExportedActor,
  type Undelivered,
} from "../contract/index.ts";
import { hasOwn, isActorId, isActorViewer, isAddress, isReplyAction, isTexts, nextCronTime } from "../contract/internal.ts";
import { importLine } from "./event.ts";
import { MOST_WAKES } from "./turn.ts";

const DUMP_VERSION = 1;

/** How many of each an export has. */
export interface DumpCounts {
  readonly actors: number;
  readonly events: number;
  readonly calls: number;
  readonly messages: number;
  readonly letters: number;
}

/** A line of an export except an event, by its first key. */
export type DumpLine =
  | { readonly line: "troupe"; readonly at: number; readonly kind?: string }
  | { readonly line: "actor"; readonly actor: ExportedActor }
  | { readonly line: "key"; readonly call: KeyedCall }
  | { readonly line: "end"; readonly id: ActorId; readonly seq: number; readonly head: string }
  | { readonly line: "message"; readonly undelivered: Undelivered }
  | { readonly line: "letter"; readonly letter: DeadLetter }
  | { readonly line: "total"; readonly counts: DumpCounts };

/** The text of a line, without a sum. */
export function dumpText(line: DumpLine): string {
  switch (line.line) {
    case "troupe":
      return JSON.stringify({ troupe: "export", version: DUMP_VERSION, at: line.at, kind: line.kind });
    case "actor": {
      const { id, seq, head, row } = line.actor;
      return JSON.stringify({ actor: id, seq, head, row: rowOf(row) });
    }
    case "key": {
      const { key, call, until, reply } = line.call;
      return JSON.stringify({ key, call, until, reply });
    }
    case "end":
      return JSON.stringify({ end: line.id, seq: line.seq, head: line.head });
    case "message": {
      const { message, failures } = line.undelivered;
      return JSON.stringify({ message, failures });
    }
    case "letter": {
      const { message, why, at } = line.letter;
      return JSON.stringify({ letter: message, why, at });
    }
    default: {
      const { actors, events, calls, messages, letters } = line.counts;
      return JSON.stringify({ total: { actors, events, calls, messages, letters } });
    }
  }
}

/** The line with that text. Undefined if it is no such line, or not in the one form that this version writes. */
export function readDumpText(text: string): DumpLine | undefined {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || !isShallow(value, DEEPEST)) return undefined;
  const line = lineOf(value);
  // A duplicate or unknown key, or another form of a number, could be read in two ways: it is refused.
  return line !== undefined && dumpText(line) === text ? line : undefined;
}

/** The first key of the text, which names the kind of line. */
const firstKey = (text: string): string | undefined => /^\{"(\w{1,32})":/u.exec(text)?.[1];

/** Room for a message within a row; the message's own arguments are limited to 128. */
const DEEPEST = 256;

function isShallow(value: Json, left: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return left > 0 && Object.values(value).every((inner: Json) => isShallow(inner, left - 1));
}

function lineOf(value: JsonObject): DumpLine | undefined {
  const { troupe, actor, key, end, message, letter, total, seq, head, row, at, kind, failures, why } = value;
  if (troupe === "export" && isTime(at) && (kind === undefined || isText(kind)))
    return { line: "troupe", at, ...(kind === undefined ? {} : { kind }) };
  if (isActorId(actor) && isCount(seq) && isText(head) && isRow(row)) return { line: "actor", actor: { id: actor, row, seq, head } };
  if (key !== undefined && isCall(value)) return { line: "key", call: value };
  if (isActorId(end) && isCount(seq) && isText(head)) return { line: "end", id: end, seq, head };
  if (isMessage(message) && isCount(failures)) return { line: "message", undelivered: { message, failures } };
  if (isMessage(letter) && isText(why) && isTime(at)) return { line: "letter", letter: { message: letter, why, at } };
  return isJsonObject(total) && isCounts(total) ? { line: "total", counts: total } : undefined;
}

const COUNTED = ["actors", "events", "calls", "messages", "letters"] as const;
export const NONE_YET: DumpCounts = { actors: 0, events: 0, calls: 0, messages: 0, letters: 0 };
export const sameCounts = (one: DumpCounts, other: DumpCounts): boolean => COUNTED.every((what) => one[what] === other[what]);

const isCounts = (value: unknown): value is DumpCounts => isJsonObject(value) && COUNTED.every((what) => isCount(value[what]));

// ── guards ────────────────────────────────────────────────────────────────────

// What JSON from outside must be before it is used as a row, a message or a reply.

type Guards = Readonly<Record<string, (value: unknown) => boolean>>;

const has = (value: unknown, required: Guards, optional: Guards = {}): boolean =>
  isJsonObject(value) &&
  Object.entries(required).every(([key, is]) => is(value[key])) &&
  Object.entries(optional).every(([key, is]) => value[key] === undefined || is(value[key]));

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isInterval = (value: unknown): boolean => isNumber(value) && value >= 1;
const isStatus = (value: unknown): boolean => value === "live" || value === "failed" || value === "stopped";
const isPolicy = (value: unknown): boolean => has(value, {}, { expireMs: isNumber });

/** A count must leave room to be counted on exactly. */
const MOST_COUNT = 2 ** 52;
const isCount = (value: unknown): value is number => isNumber(value) && Number.isInteger(value) && value >= 0 && value <= MOST_COUNT;

/** A time that `Date` can represent. A database stores others, but then cannot read them, nor the rows next to them. */
export const isTime = (value: unknown): value is number => isNumber(value) && Math.abs(value) <= 8.64e15;

/** A reply comes from another actor, never from a timer. */
const isOwnAction = (value: unknown): boolean => isText(value) && !isReplyAction(value);

/** Whether the `cron` of a timer, if it has one, can be read. */
function hasSchedule({ cron, timeZone = "UTC" }: JsonObject): boolean {
  if (!isText(cron) || !isText(timeZone)) return cron === undefined;
  try {
    return nextCronTime(cron, timeZone, 0) > 0;
  } catch {
    return false;
  }
}

const isWake = (value: unknown): boolean =>
  isJsonObject(value) &&
  hasSchedule(value) &&
  has(value, { at: isNumber, action: isOwnAction }, { everyMs: isInterval, cron: isText, timeZone: isText, cause: isText, rang: isTime });

const areWakes = (value: unknown): boolean =>
  isJsonObject(value) && Object.keys(value).length <= MOST_WAKES && Object.values(value).every(isWake);

const isTrue = (value: unknown): boolean => value === true;

const LIFE: Guards = { uid: isText, life: isText, version: Number.isSafeInteger, createdAt: isTime, status: isStatus };
const MESSAGES: Guards = { lastMessageAt: isTime, messageCount: isCount, wakes: areWakes, pending: isJsonObject };
const SPECIAL: Guards = { policy: isPolicy, owner: isText, parent: isAddress, muted: isTrue };

const isRow = (value: unknown): value is Row => has(value, { ...LIFE, ...MESSAGES }, SPECIAL);

const isRefusal = (value: unknown): boolean => has(value, { code: isText, message: isText });

const isReply = (value: unknown): boolean =>
  isJsonObject(value) && (hasOwn(value, "ok") || isJsonObject(value["needs"]) || isRefusal(value["refused"]));

const isCall = (value: unknown): value is KeyedCall => has(value, { key: isText, call: isText, until: isNumber }, { reply: isReply });

const ENVELOPE: Guards = { id: isText, to: isAddress, action: isText, args: (value) => value !== undefined, at: isTime, seed: isText };
const SENDER: Guards = { from: isAddress, viewer: isActorViewer, cause: isText, trace: isJsonObject, answers: isJsonObject, can: isTexts };

const isMessage = (value: unknown): value is Message =>
  has(value, ENVELOPE, { ...SENDER, policy: isPolicy, replyAs: isText, deadline: isNumber, noStart: isTrue });

const wakeOf = ({ at, everyMs, cron, timeZone, action, args, cause, rang }: SetWake): object => ({
  at,
  everyMs,
  cron,
  timeZone,
  action,
  args,
  cause,
  rang,
});

/** Key by key, in this order: the same row has the same text, without unknown keys. */
function rowOf(row: Row): object {
  const { uid, life, version, createdAt, lastMessageAt, messageCount, policy, status, owner, parent, muted, pending } = row;
  const wakes = Object.fromEntries(Object.entries(row.wakes).map(([name, wake]) => [name, wakeOf(wake)]));
  return { uid, life, version, createdAt, lastMessageAt, messageCount, policy, status, owner, parent, muted, wakes, pending };
}

// ── sums ──────────────────────────────────────────────────────────────────────

const BEFORE = ',"sum":"';
const AFTER = '"}';
const TAIL_BYTES = BEFORE.length + 64 + AFTER.length;

/**
 * The sums of an export. Each is the SHA-256 of every byte before its `,"sum":"`, from the second line on. The first line has a sum of its
 * own, so that two exports of the same data are equal from their second line on.
 */
export class DumpSum {
  #hash: Hash = createHash("sha256");

  /** Starts again, after the first line. */
  begin(): void {
    this.#hash = createHash("sha256");
  }

  /** A line without a sum. */
  plain(line: string | Uint8Array): void {
    this.#hash.update(line);
    this.#hash.update("\n");
  }

  /** The text of an object, with its sum added. */
  sealed(text: string): string {
    const open = text.slice(0, -1);
    this.#hash.update(open);
    const tail = `${BEFORE}${this.#hash.copy().digest("hex")}${AFTER}`;
    this.#hash.update(`${tail}\n`);
    return open + tail;
  }

  /** The end of such a line's text, before its sum. Undefined if it has no sum, or not that of what was read so far. */
  opened(line: Uint8Array): number | undefined {
    const end = line.length - TAIL_BYTES;
    if (end < 1) return undefined;
    this.#hash.update(line.subarray(0, end));
    const tail = `${BEFORE}${this.#hash.copy().digest("hex")}${AFTER}`;
    if (Buffer.from(line.buffer, line.byteOffset + end, TAIL_BYTES).toString("latin1") !== tail) return undefined;
    this.#hash.update(`${tail}\n`);
    return end;
  }
}

// ── reading ───────────────────────────────────────────────────────────────────

/** The longest line of an export, without its newline: fits any reasonable state, and in memory. */
export const LONGEST_LINE = 16 * 1_048_576;

const NEWLINE = 10;
/** Pieces of one line are joined at this many, so that a stream of single bytes does not become as many objects. */
const MOST_PIECES = 1_024;

const corrupt = (message: string): StoreError => new StoreError("STORE_CORRUPT", message);

const tooLong = (line: number): StoreError =>
  corrupt(`Line ${line} is longer than ${LONGEST_LINE} bytes: this is no export. Name a file that "troupe export" wrote.`);

/** The lines of a stream, without their newlines. Throws `STORE_CORRUPT` for one that is too long or has no newline. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let line = 1;
  const take = (piece: Uint8Array): void => {
    bytes += piece.length;
    if (bytes > LONGEST_LINE) throw tooLong(line);
    pieces.push(piece);
    if (pieces.length === MOST_PIECES) pieces = [Buffer.concat(pieces)];
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end));
      yield pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      bytes = 0;
      line += 1;
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
  }
  if (bytes > 0) throw corrupt(`The export is cut off in line ${line}: take a whole copy of it.`);
}

export type ReadLine = DumpLine | { readonly line: "event"; readonly event: ChainEvent };

/** The first keys of lines, and whether the line has a sum. */
const SEALED: ReadonlyMap<string, boolean> = new Map([
  ["troupe", true],
  ["actor", false],
  ["key", false],
  ["end", true],
  ["message", true],
  ["letter", true],
  ["total", true],
]);

const HOW_TO_NAME = 'name a file that "troupe export" wrote; a compressed one ends in .gz, or is unpacked before it comes through a pipe.';

/**
 * The lines of an export, with every sum checked. Throws `STORE_CORRUPT` (`STORE_NEWER` for a later version), naming the line, unless the
 * first is a beginning and the last a total. Events are not verified.
 */
export async function* dumpLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<{ readonly line: ReadLine; readonly bytes: number }> {
  const reader = new DumpLineReader();
  let last: string | undefined;
  for await (const bytes of linesOf(chunks)) {
    if (last === "total") throw reader.corrupt("comes after the last line of this export: the file was put together from several");
    const line = reader.read(bytes);
    last = line.line;
    yield { line, bytes: bytes.length };
  }
  if (last === undefined) throw new StoreError("STORE_CORRUPT", `This export is empty: ${HOW_TO_NAME}`);
  if (last !== "total") throw reader.cutOff();
}

const noExport = (): StoreError => new StoreError("STORE_CORRUPT", `This is no export: ${HOW_TO_NAME}`);

class DumpLineReader {
  readonly #sum = new DumpSum();
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #at = 0;

  read(bytes: Uint8Array): ReadLine {
    this.#at += 1;
    const text = this.#text(bytes);
    if (this.#at === 1) {
      this.#checkBeginning(text);
      const line = this.#parse("troupe", bytes, text);
      this.#sum.begin();
      return line;
    }
    if (!text.startsWith('{"id":')) return this.#parse(firstKey(text) ?? "", bytes, text);
    this.#sum.plain(bytes);
    try {
      return { line: "event", event: importLine(text) };
    } catch (error) {
      throw this.corrupt("is no event as Troupe writes it: the file was changed", error);
    }
  }

  cutOff(): StoreError {
    return new StoreError("STORE_CORRUPT", `The export is cut off after line ${this.#at}: take a whole copy of it.`);
  }

  corrupt(why: string, cause?: unknown): StoreError {
    return new StoreError("STORE_CORRUPT", `Line ${this.#at} ${why}. Take another copy of the export, or export again.`, { cause });
  }

  #text(bytes: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes);
    } catch (error) {
      if (this.#at === 1) throw noExport();
      throw this.corrupt("is no text in UTF-8: the file was changed", error);
    }
  }

  #checkBeginning(text: string): void {
    if (firstKey(text) !== "troupe") throw noExport();
    const version = Number(/^\{"troupe":"export","version":(\d{1,9})[,}]/u.exec(text)?.[1] ?? DUMP_VERSION);
    if (version > DUMP_VERSION)
      throw new StoreError(
        "STORE_NEWER",
        `This export has version ${version}, this Troupe knows ${DUMP_VERSION}. Import it with the newer Troupe that wrote it.`,
      );
  }

  #parse(key: string, bytes: Uint8Array, text: string): DumpLine {
    const sealed = SEALED.get(key);
    if (sealed === undefined)
      throw this.corrupt("is of a kind this version does not know: the file was changed, or a newer Troupe wrote it");
    let own = text;
    if (sealed) {
      const end = this.#sum.opened(bytes);
      if (end === undefined) throw this.corrupt("has a sum that does not fit: it was changed, or something before it");
      own = `${this.#decoder.decode(bytes.subarray(0, end))}}`;
    } else this.#sum.plain(bytes);
    const line = readDumpText(own);
    if (line === undefined || line.line !== key) throw this.corrupt("is not in the one form Troupe writes it in");
    return line;
  }
}
