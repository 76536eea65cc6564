import { StoreError, type ActorId, type Importer, type Travelling } from "../contract/index.ts";
import { compareIds } from "../contract/internal.ts";
import { Arriving } from "./dump-arriving.ts";
import { type DumpCounts, NONE_YET, sameCounts } from "./dump-format.ts";
import { dumpLines, type ReadLine } from "./dump-line-reader.ts";

/** How far an import has come. */
export interface DumpProgress {
  /** Read, and found sound. */
  read: DumpCounts;
  /** Of these, what is durable: whole actors, whole messages. */
  kept: DumpCounts;
  /** Of what was read, what was there already. */
  there: DumpCounts;
}

export const noProgress = (): DumpProgress => ({ read: NONE_YET, kept: NONE_YET, there: NONE_YET });

/** What may come after what. */
const PART = { actor: 1, message: 2, letter: 3, total: 4 } as const;
const FLUSH_LINES = 10_000;
const FLUSH_BYTES = 32 * 1_048_576;

/**
 * Takes in the stream `writeDump` wrote; `open` is asked once its first line is sound. Each actor is handed over as it comes
 * and committed once its chain, its row and every byte so far are proven. At the first flaw nothing of the actor at hand is
 * kept, all before it is, and `progress` says how much that is. Throws `StoreError`: `STORE_CORRUPT` with the line, the actor
 * and the event, `STORE_NEWER` for an export of a later version, and what the importer throws.
 */
export async function readDump(
  chunks: AsyncIterable<Uint8Array>,
  open: () => Promise<Importer>,
  progress: DumpProgress = noProgress(),
  onProgress?: () => void,
): Promise<DumpProgress> {
  let intake: Intake | undefined;
  try {
    for await (const { said, bytes } of dumpLines(chunks)) {
      if (intake === undefined) intake = new Intake(await open(), progress);
      else await intake.take(said, bytes);
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
  #arriving: Arriving | undefined;
  #last: ActorId | undefined;
  #lines = 0;
  #bytes = 0;

  constructor(importer: Importer, progress: DumpProgress) {
    this.#importer = importer;
    this.#progress = progress;
  }

  async take(said: ReadLine, bytes: number): Promise<void> {
    this.#lines += 1;
    this.#bytes += bytes;
    if (said.line === "event" || said.line === "key" || said.line === "end") {
      const arriving = this.#arriving;
      if (arriving === undefined)
        throw misplaced(said.line === "key" ? "A reply" : said.line === "end" ? "An end" : "An event", "of no actor");
      if (said.line === "event") return await arriving.event(said.event);
      if (said.line === "key") return await arriving.call(said.call);
      await arriving.end(said);
      this.#arriving = undefined;
      this.#count({ actors: 1, events: arriving.seq, calls: arriving.calls }, arriving.isThere);
      return await this.#flushSometimes();
    }
    if (this.#arriving) throw misplaced("The next line", "where the end of this actor is missing");
    if (said.line === "troupe" || PART[said.line] < this.#part) throw misplaced(`A line "${said.line}"`, "out of order");
    this.#part = PART[said.line];
    if (said.line === "actor") await this.#begin(said.actor);
    else if (said.line === "message") this.#count({ messages: 1 }, !(await this.#importer.message(said.undelivered)));
    else if (said.line === "letter") this.#count({ letters: 1 }, !(await this.#importer.letter(said.letter)));
    else if (!sameCounts(said.counts, this.#progress.read)) throw misplaced("The last line", "with other counts than what came before it");
    await this.#flushSometimes();
  }

  async flush(): Promise<void> {
    await this.#importer.flush();
    this.#progress.kept = this.#progress.read;
    this.#lines = 0;
    this.#bytes = 0;
  }

  /** Nothing of the actor at hand stays, everything before it does. Says whose fault it was. */
  async failed(error: unknown): Promise<unknown> {
    const arriving = this.#arriving;
    try {
      await arriving?.abort();
      await this.flush();
    } catch {
      // What `progress` calls kept was durable before.
    }
    return arriving?.blamed(error) ?? error;
  }

  async close(): Promise<void> {
    await this.#importer[Symbol.asyncDispose]();
  }

  async #begin(actor: Travelling): Promise<void> {
    if (this.#last !== undefined && compareIds(this.#last, actor.id) >= 0) throw misplaced(actor.id, `after ${this.#last}`);
    this.#last = actor.id;
    this.#arriving = new Arriving(actor, await this.#importer.actor(actor));
  }

  /** Between two actors only: what is flushed is whole. */
  async #flushSometimes(): Promise<void> {
    if (this.#arriving === undefined && (this.#lines >= FLUSH_LINES || this.#bytes >= FLUSH_BYTES)) await this.flush();
  }

  #count(more: Partial<DumpCounts>, there: boolean): void {
    this.#progress.read = sumOf(this.#progress.read, more);
    if (there) this.#progress.there = sumOf(this.#progress.there, more);
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
