// Owns: exporting everything in a store as one stream, and importing it, verified (docs/design/export.md). Does not own: the form of its lines
// (dump-lines.ts), where actors are read from and written to.
import {
  type ActorId,
  type ActorImport,
  type ChainEvent,
  type Exporter,
  type Importer,
  type Json,
  type KeyedCall,
  type LeavingActor,
  StoreError,
  type ExportedActor,
} from "../contract/index.ts";
import { compareIds, kindOf, messageOf } from "../contract/internal.ts";
import {
  type DumpCounts,
  type DumpLine,
  dumpLines,
  DumpSum,
  dumpText,
  isTime,
  LONGEST_LINE,
  NONE_YET,
  type ReadLine,
  readDumpText,
  sameCounts,
} from "./dump-lines.ts";
import { exportLine, importLine, readBody, readHeader } from "./event.ts";
import { check } from "./json-check.ts";
import { apply } from "./patch.ts";
import { Verifier } from "./verify.ts";

// ── export ────────────────────────────────────────────────────────────────────

/** What an export contains, and who follows its progress. */
export interface DumpOptions {
  /** Only actors of this kind, and messages to them. */
  readonly kind?: string;
  /** Called after each line. */
  readonly onProgress?: (counts: DumpCounts) => void;
}

/**
 * Everything in a store, as the lines of docs/design/export.md, without their newlines. Refuses what an import would refuse: throws
 * `STORE_CORRUPT`, naming actor and event, if a chain does not verify, and `STORE_FULL` if a line would be longer than 16 MiB.
 */
export async function* writeDump(exporter: Exporter, { kind, onProgress }: DumpOptions = {}): AsyncGenerator<string, DumpCounts> {
  const sum = new DumpSum();
  const counts = { ...NONE_YET };
  const counted = (line: string): string => {
    onProgress?.(counts);
    return line;
  };
  yield sum.sealed(textOf({ line: "troupe", at: exporter.at, ...(kind === undefined ? {} : { kind }) }, "The beginning"));
  sum.begin();
  let last: ActorId | undefined;
  for await (const actor of exporter.actors(kind)) {
    if (last !== undefined && compareIds(last, actor.id) >= 0) throw unexpected(`${actor.id} comes after ${last}`);
    last = actor.id;
    for await (const line of linesOfActor(actor, counts)) {
      sum.plain(line);
      yield counted(line);
    }
    const { id, seq, head } = actor;
    yield counted(sum.sealed(textOf({ line: "end", id, seq, head }, id)));
  }
  const wanted = (to: ActorId): boolean => kind === undefined || kindOf(to) === kind;
  for await (const undelivered of exporter.undelivered()) {
    const { id, to } = undelivered.message;
    if (!wanted(to)) continue;
    counts.messages += 1;
    yield counted(sum.sealed(textOf({ line: "message", undelivered }, `Message ${id}`)));
  }
  for await (const letter of exporter.letters()) {
    const { id, to } = letter.message;
    if (!wanted(to)) continue;
    counts.letters += 1;
    yield counted(sum.sealed(textOf({ line: "letter", letter }, `Letter ${id}`)));
  }
  yield sum.sealed(textOf({ line: "total", counts }, "The end"));
  return counts;
}

type MutableCounts = { -readonly [K in keyof DumpCounts]: DumpCounts[K] };

async function* linesOfActor(actor: LeavingActor, counts: MutableCounts): AsyncGenerator<string> {
  const { id, row, seq, head } = actor;
  yield textOf({ line: "actor", actor: { id, row, seq, head } }, id);
  const checked = new ActorCheck(actor);
  try {
    for await (const event of actor.events()) {
      checked.event(event);
      const line = bounded(exportLine(event), `${id}, event ${checked.seq}`);
      if (importLine(line).header !== event.header) throw unexpected(`event ${checked.seq} cannot be written as a line`);
      counts.events += 1;
      yield line;
    }
    checked.end();
    for await (const call of actor.calls()) {
      counts.calls += 1;
      yield textOf({ line: "key", call }, `${id}, the reply to ${call.key}`);
    }
  } catch (error) {
    throw ofActor(id, error, checked.seq);
  }
  counts.actors += 1;
}

function textOf(line: DumpLine, what: string): string {
  const text = bounded(dumpText(line), what);
  if (readDumpText(text) === undefined) throw unexpected(`${what} is not of a form that could come back`);
  return text;
}

const unexpected = (what: string): StoreError =>
  new StoreError("STORE_CORRUPT", `The store holds what Troupe does not write: ${what}. Restore it from a copy.`);

/** Room for the sum. */
const SUM_BYTES = 256;

function bounded(text: string, what: string): string {
  // A UTF-16 unit takes at most three bytes, so most texts need not be measured.
  if (text.length * 3 <= LONGEST_LINE - SUM_BYTES || Buffer.byteLength(text) <= LONGEST_LINE - SUM_BYTES) return text;
  throw new StoreError("STORE_FULL", `${what} is longer than the ${LONGEST_LINE} bytes of a line: split its state over several actors.`);
}

// ── import ────────────────────────────────────────────────────────────────────

/** The progress of an import. */
export interface DumpProgress {
  /** Read and verified. */
  read: DumpCounts;
  /** Of these, what is durable: whole actors, whole messages. */
  stored: DumpCounts;
  /** Of these, what existed already. */
  there: DumpCounts;
}

/** The progress of an import that has not begun. */
export const noProgress = (): DumpProgress => ({ read: NONE_YET, stored: NONE_YET, there: NONE_YET });

/** The order of lines. */
const PART = { actor: 1, message: 2, letter: 3, total: 4 } as const;
const FLUSH_LINES = 10_000;
const FLUSH_BYTES = 32 * 1_048_576;

/**
 * Imports the stream that `writeDump` wrote. Calls `open` once the first line is valid. Each actor is handed over as it comes, and committed
 * once its chain, its row and every byte so far are proven. At the first flaw the current actor is dropped; everything before it stays, and
 * `progress` says how much that is. Throws `StoreError`: `STORE_CORRUPT` with the line, the actor and the event, `STORE_NEWER` for an export
 * of a later version, and what the importer throws.
 */
export async function readDump(
  chunks: AsyncIterable<Uint8Array>,
  open: () => Promise<Importer>,
  progress: DumpProgress = noProgress(),
  onProgress?: () => void,
): Promise<DumpProgress> {
  let intake: Intake | undefined;
  try {
    for await (const { line, bytes } of dumpLines(chunks)) {
      if (intake === undefined) intake = new Intake(await open(), progress);
      else await intake.take(line, bytes);
      onProgress?.();
    }
    await intake?.flush();
  } catch (error) {
    throw (await intake?.failed(error)) ?? error;
  } finally {
    await intake?.close();
  }
  return progress;
}

class Intake {
  readonly #importer: Importer;
  readonly #progress: DumpProgress;
  #part = 0;
  #current: ActorIntake | undefined;
  #last: ActorId | undefined;
  #lines = 0;
  #bytes = 0;

  constructor(importer: Importer, progress: DumpProgress) {
    this.#importer = importer;
    this.#progress = progress;
  }

  async take(line: ReadLine, bytes: number): Promise<void> {
    this.#lines += 1;
    this.#bytes += bytes;
    if (line.line === "event" || line.line === "key" || line.line === "end") {
      const current = this.#current;
      if (current === undefined)
        throw misplaced(line.line === "key" ? "A reply" : line.line === "end" ? "An end" : "An event", "of no actor");
      if (line.line === "event") return await current.event(line.event);
      if (line.line === "key") return await current.call(line.call);
      await current.end(line);
      this.#current = undefined;
      this.#count({ actors: 1, events: current.seq, calls: current.calls }, current.exists);
      return await this.#flushSometimes();
    }
    if (this.#current) throw misplaced("The next line", "where the end of this actor is missing");
    if (line.line === "troupe" || PART[line.line] < this.#part) throw misplaced(`A line "${line.line}"`, "out of order");
    this.#part = PART[line.line];
    if (line.line === "actor") await this.#begin(line.actor);
    else if (line.line === "message") this.#count({ messages: 1 }, !(await this.#importer.message(line.undelivered)));
    else if (line.line === "letter") this.#count({ letters: 1 }, !(await this.#importer.letter(line.letter)));
    else if (!sameCounts(line.counts, this.#progress.read)) throw misplaced("The last line", "with other counts than what came before it");
    await this.#flushSometimes();
  }

  async flush(): Promise<void> {
    await this.#importer.flush();
    this.#progress.stored = this.#progress.read;
    this.#lines = 0;
    this.#bytes = 0;
  }

  /** Drops the current actor; everything before it stays. Returns the error with its actor and event. */
  async failed(error: unknown): Promise<unknown> {
    const current = this.#current;
    try {
      await current?.abort();
      await this.flush();
    } catch {
      // What `progress.stored` counts is durable already.
    }
    return current?.located(error) ?? error;
  }

  async close(): Promise<void> {
    await this.#importer[Symbol.asyncDispose]();
  }

  async #begin(actor: ExportedActor): Promise<void> {
    if (this.#last !== undefined && compareIds(this.#last, actor.id) >= 0) throw misplaced(actor.id, `after ${this.#last}`);
    this.#last = actor.id;
    this.#current = new ActorIntake(actor, await this.#importer.actor(actor));
  }

  /** Only between two actors, so that what is flushed is whole. */
  async #flushSometimes(): Promise<void> {
    if (this.#current === undefined && (this.#lines >= FLUSH_LINES || this.#bytes >= FLUSH_BYTES)) await this.flush();
  }

  #count(more: Partial<DumpCounts>, existed: boolean): void {
    this.#progress.read = sumOf(this.#progress.read, more);
    if (existed) this.#progress.there = sumOf(this.#progress.there, more);
  }
}

const sumOf = (counts: DumpCounts, more: Partial<DumpCounts>): DumpCounts => ({
  actors: counts.actors + (more.actors ?? 0),
  events: counts.events + (more.events ?? 0),
  calls: counts.calls + (more.calls ?? 0),
  messages: counts.messages + (more.messages ?? 0),
  letters: counts.letters + (more.letters ?? 0),
});

const misplaced = (what: string, where: string): StoreError =>
  new StoreError("STORE_CORRUPT", `${what} stands ${where}: the file was changed, or put together from several. Export again.`);

const corrupt = (why: string): StoreError => new StoreError("STORE_CORRUPT", why);

// ── one actor ─────────────────────────────────────────────────────────────────

/** One actor of an export as it is imported: each part is verified, then handed to the importer; committed at its end. */
class ActorIntake {
  readonly #actor: ExportedActor;
  /** Undefined if the actor exists already: then it is only verified. */
  readonly #arrival: ActorImport | undefined;
  readonly #check: ActorCheck;
  #calls = 0;
  #lastKey: Buffer | undefined;

  constructor(actor: ExportedActor, arrival: ActorImport | undefined) {
    this.#actor = actor;
    this.#arrival = arrival;
    this.#check = new ActorCheck(actor);
  }

  get exists(): boolean {
    return this.#arrival === undefined;
  }

  /** The last event so far. */
  get seq(): number {
    return this.#check.seq;
  }

  get calls(): number {
    return this.#calls;
  }

  async event(event: ChainEvent): Promise<void> {
    if (this.#calls > 0) throw corrupt("An event comes after a reply: the lines are out of order.");
    const full = this.#check.event(event);
    await this.#arrival?.event(event, full);
  }

  async call(call: KeyedCall): Promise<void> {
    const key = Buffer.from(call.key);
    if (this.#lastKey && Buffer.compare(this.#lastKey, key) >= 0)
      throw corrupt(`The reply to ${call.key} comes twice, or out of the order of keys.`);
    this.#lastKey = key;
    this.#calls += 1;
    await this.#arrival?.call(call);
  }

  async end({ id, seq, head }: Pick<ExportedActor, "id" | "seq" | "head">): Promise<void> {
    const begun = this.#actor;
    if (id !== begun.id || seq !== begun.seq || head !== begun.head)
      throw corrupt(`The line of its end is of ${id}, event ${seq}: lines are missing.`);
    const state = this.#check.end();
    await this.#arrival?.commit(state);
  }

  async abort(): Promise<void> {
    await this.#arrival?.abort();
  }

  located(error: unknown): unknown {
    return ofActor(this.#actor.id, error, this.seq);
  }
}

/** The same error with the actor and event: `data` is `{ actor, seq }`. */
function ofActor(actor: ActorId, error: unknown, lastSeq: number): unknown {
  if (!(error instanceof StoreError)) return error;
  const { code, message, data } = error;
  const named = typeof data === "object" && data !== null && "seq" in data && typeof data.seq === "number" ? data.seq : undefined;
  const seq = named ?? lastSeq + 1;
  const place = named === undefined ? `${actor}, after event ${lastSeq}` : `${actor}, event ${named}`;
  return new StoreError(code, `${place}: ${message}`, { cause: error, data: { actor, seq } });
}

interface PendingPatch {
  readonly patch: Json | undefined;
  readonly bytes: number;
}

/** Patches are applied only when needed, since the next whole state makes them unnecessary; at these limits at once, to bound the memory. */
const MOST_PATCHES = 4_096;
const MOST_PATCH_BYTES = 16 * 1_048_576;

const flawed = (seq: number, why: string, cause?: unknown): StoreError => new StoreError("STORE_CORRUPT", why, { cause, data: { seq } });

/** C7: checks an exported actor: each event as it comes; at the end its row, and its state, which is replayed from the events. */
class ActorCheck {
  readonly #actor: ExportedActor;
  readonly #verifier: Verifier;
  #seq = 0;
  #uid = "";
  #life = "";
  #bornAt = 0;
  #version = 0;
  /** Undefined until the first whole state, and after an erased body. */
  #state: Json | undefined;
  #patches: PendingPatch[] = [];
  #bytes = 0;

  constructor(actor: ExportedActor) {
    this.#actor = actor;
    this.#verifier = new Verifier({ actor: actor.id });
  }

  /** The last event. */
  get seq(): number {
    return this.#seq;
  }

  /** Returns whether the event has the whole state. Throws `STORE_CORRUPT`; `data.seq` is the event. */
  event(event: ChainEvent): boolean {
    if (!this.#verifier.add(event)) throw this.#flaw();
    this.#seq += 1;
    const { life, at } = readHeader(event);
    if (!isTime(at)) throw flawed(this.#seq, "No calendar has its time: the file was changed.");
    if (this.#seq === 1) this.#uid = life;
    if (life !== this.#life) [this.#life, this.#bornAt] = [life, at];
    const body = this.#blaming(() => readBody(event));
    if (body !== undefined) this.#version = body.version;
    if (body === undefined || body.state !== undefined) {
      this.#state = body?.state;
      this.#clearPatches();
      return body !== undefined;
    }
    this.#patches.push({ patch: body.patch, bytes: event.body?.length ?? 0 });
    this.#bytes += event.body?.length ?? 0;
    if (this.#patches.length >= MOST_PATCHES || this.#bytes >= MOST_PATCH_BYTES) this.#applyPatches();
    return false;
  }

  /** The state after the last event. Throws `STORE_CORRUPT` unless the chain proves head, row and state. */
  end(): Json {
    const verdict = this.#verifier.end();
    if (verdict.flaw) throw this.#flaw();
    const { id, row, seq, head } = this.#actor;
    const wrong = (why: string): StoreError => flawed(this.#seq, why);
    if (seq !== this.#seq || head !== verdict.head)
      throw wrong(`${id} should end at event ${seq}, ${head.slice(0, 12)}…; its chain ends at event ${this.#seq}: events are missing.`);
    if (row.life !== this.#life) throw wrong(`Its row is of the life ${row.life}, its last event of the life ${this.#life}.`);
    if (row.version !== this.#version)
      throw wrong(`Its row is of state version ${row.version}, its last event of version ${this.#version}.`);
    if (row.uid !== this.#uid) throw wrong(`Its uid is ${row.uid}, and its chain begins with the life ${this.#uid}.`);
    if (row.createdAt !== this.#bornAt) throw wrong(`Its life should begin at ${row.createdAt}, and began at ${this.#bornAt}.`);
    this.#applyPatches();
    const state = this.#state;
    if (state === undefined) throw wrong("No event holds a whole state to begin from.");
    return this.#blaming(() => {
      check(state);
      return state;
    });
  }

  #applyPatches(): void {
    let state = this.#state;
    if (state !== undefined) {
      const start = state;
      state = this.#blaming(() =>
        this.#patches.reduce((before, { patch }) => (patch === undefined ? before : apply(before, patch)), start),
      );
    }
    this.#state = state;
    this.#clearPatches();
  }

  #clearPatches(): void {
    this.#patches = [];
    this.#bytes = 0;
  }

  #blaming<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw flawed(this.#seq, messageOf(error), error);
    }
  }

  #flaw(): StoreError {
    const { flaw } = this.#verifier.end();
    return flawed(flaw?.seq ?? this.#seq + 1, flaw === undefined ? "It does not verify." : `${flaw.message} (${flaw.code})`);
  }
}
