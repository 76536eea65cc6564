import type { Channel } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import type { Outlet } from "./outlet.ts";
import type { RoundBatch } from "./round-batch.ts";

// More than this waiting is written at once.
const BATCH_CHARACTERS = 65_536;

export interface LineChannelOptions {
  readonly outlet: Outlet;
  /** Of a door with many clients. Absent: what is sent within one tick leaves in one write. */
  readonly batch?: RoundBatch<LineChannel>;
  /** Ends the way out after what was written. */
  readonly end: () => void;
}

/** One JSON text a line. What is sent within one tick, or one round of the event loop, leaves in one write. */
export class LineChannel implements Channel {
  readonly #outlet: Outlet;
  readonly #together: RoundBatch<LineChannel> | undefined;
  readonly #end: () => void;
  readonly #gone = new AbortController();
  /** What is sent together, and how many characters it has with its line ends. */
  #batch: string[] = [];
  #size = 0;
  #ended = false;

  constructor(options: LineChannelOptions) {
    this.#end = options.end;
    this.#together = options.batch;
    this.#outlet = options.outlet;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get ready(): boolean {
    return !this.#ended && this.#outlet.ready;
  }

  /** Bytes that wait for the client to read. */
  get queued(): number {
    return this.#outlet.queued + this.#size;
  }

  onReady(run: () => void): () => void {
    return this.#outlet.onReady(run);
  }

  send(text: string): void {
    if (this.#ended) return;
    const isFirst = this.#batch.push(text) === 1;
    this.#size += text.length + 1;
    if (this.#size >= BATCH_CHARACTERS) this.flush();
    // Last: it may be its turn at once.
    else if (isFirst) this.#later();
    else this.#together?.grown();
  }

  close(): void {
    if (this.#ended) return;
    this.flush();
    this.#ended = true;
    this.#outlet.finish();
    this.#end();
  }

  /** The client has gone. */
  lose(): void {
    this.#ended = true;
    this.#forget();
    this.#outlet.end();
    this.#gone.abort();
  }

  /** What waits is written. */
  flush(): void {
    const batch = this.#batch;
    if (batch.length === 0 || this.#ended) return;
    this.#forget();
    this.#outlet.write(linesOf(batch));
  }

  #forget(): void {
    this.#batch = [];
    this.#size = 0;
  }

  #later(): void {
    if (this.#together !== undefined) this.#together.add(this);
    else process.nextTick(flush, this);
  }
}

const flush = (channel: LineChannel): void => channel.flush();

/** A line each. Looked at once they are one text: by itself each would have to be made one first. */
function linesOf(texts: readonly string[]): string {
  const lines = `${texts.join("\n")}\n`;
  if (!lines.includes("\r") && !lines.includes("\\ud") && breaksIn(lines, texts.length) === texts.length) return lines;
  // A line break in JSON is only ever white space between its parts.
  return texts.map((text) => `${wellFormed(text).replace(/[\r\n]+/g, " ")}\n`).join("");
}

/** How many line breaks there are, no further than one more than `enough`. */
function breaksIn(lines: string, enough: number): number {
  let count = 0;
  for (let at = lines.indexOf("\n"); at >= 0 && count <= enough; at = lines.indexOf("\n", at + 1)) count += 1;
  return count;
}
