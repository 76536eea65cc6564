// Owns: newline-delimited JSON in both directions, for stdio, TCP and streams of lines: splitting, reading with back-pressure,
// and writing in batches. Does not own: sockets and processes, and what follows a line that is too long (tcp-connection.ts,
// stdio.ts).
import { isAscii } from "node:buffer";
import { type Upload, FREE_BYTES } from "./budgets.ts";
import type { Readable } from "node:stream";
import type { Clock } from "../../core/contract/index.ts";
import type { TickBatcher } from "./tick-batcher.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import { QueueChannel, type WriteQueue } from "./write-queue.ts";

const NEWLINE = 10;
const RETURN = 13;
const FIRST_BYTES = 4_096;

/** A text if the line was ASCII, else bytes, which need not be valid UTF-8. */
export type Line = Uint8Array | string;

/**
 * Splits a stream of bytes into lines. ASCII lines are texts: slices of one text need no object or decoder each. A line in many chunks
 * is collected in one growing buffer, so the time is linear in the number of bytes; the rest of a line that is too long is discarded.
 */
export class LineSplitter {
  readonly #maxBytes: () => number;
  readonly #onLine: (line: Line) => void;
  readonly #onTooLong: () => void;
  readonly #begin: (() => Upload) | undefined;
  #upload: Upload | undefined;
  #buffer = Buffer.alloc(0);
  #used = 0;
  #skipping = false;
  #stopped = false;

  /** `begin` reserves room for a line in many chunks. If there is none, the caller has to stop the splitter. */
  constructor(maxBytes: () => number, onLine: (line: Line) => void, onTooLong: () => void, begin?: () => Upload) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
    this.#begin = begin;
  }

  /** A line has started and not ended yet. */
  get partial(): boolean {
    return this.#used > 0 || this.#skipping;
  }

  push(chunk: Uint8Array): void {
    const whole = chunk.lastIndexOf(NEWLINE) + 1;
    let start = 0;
    if (whole > 0 && this.partial) {
      start = chunk.indexOf(NEWLINE) + 1;
      this.#end(chunk.subarray(0, start - 1));
    }
    if (start < whole) this.#lines(chunk.subarray(start, whole));
    if (!this.#stopped && whole < chunk.length) this.#gather(chunk.subarray(whole));
  }

  /** The stream has ended: what is left counts as a line. */
  finish(): void {
    if (!this.#stopped && this.#used > 0) this.#end(new Uint8Array());
    this.stop();
  }

  /** Reports no more lines, not even from the present chunk. */
  stop(): void {
    this.#stopped = true;
    this.#forget();
  }

  #lines(bytes: Uint8Array): void {
    if (isAscii(bytes)) return this.#texts(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1"));
    let start = 0;
    while (!this.#stopped && start < bytes.length) {
      const end = bytes.indexOf(NEWLINE, start);
      this.#end(bytes.subarray(start, end));
      start = end + 1;
    }
  }

  #texts(text: string): void {
    let start = 0;
    while (!this.#stopped && start < text.length) {
      const end = text.indexOf("\n", start);
      if (end - start > this.#maxBytes()) this.#onTooLong();
      else {
        const last = text.charCodeAt(end - 1) === RETURN ? end - 1 : end;
        if (last > start) this.#onLine(text.slice(start, last));
      }
      start = end + 1;
    }
  }

  #end(rest: Uint8Array): void {
    if (this.#skipping) {
      this.#skipping = false;
      return;
    }
    if (this.#used + rest.length > this.#maxBytes()) {
      this.#forget();
      this.#onTooLong();
      return;
    }
    let line = rest;
    if (this.#used > 0) {
      this.#append(rest);
      line = this.#buffer.subarray(0, this.#used);
      this.#forget();
    }
    const length = line.at(-1) === RETURN ? line.length - 1 : line.length;
    if (length > 0) this.#onLine(length === line.length ? line : line.subarray(0, length));
  }

  #gather(rest: Uint8Array): void {
    if (this.#skipping) return;
    if (this.#used + rest.length > this.#maxBytes()) {
      this.#forget();
      this.#skipping = true;
      this.#onTooLong();
    } else if (this.#fits(this.#used + rest.length)) this.#append(rest);
  }

  #fits(size: number): boolean {
    if (size <= FREE_BYTES || this.#begin === undefined) return true;
    this.#upload ??= this.#begin();
    return this.#upload.holds(size);
  }

  #append(rest: Uint8Array): void {
    const needed = this.#used + rest.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, needed, Math.min(this.#buffer.length * 2, this.#maxBytes())));
      this.#buffer.copy(larger, 0, 0, this.#used);
      this.#buffer = larger;
    }
    this.#buffer.set(rest, this.#used);
    this.#used = needed;
  }

  // The buffer is not reused: the receiver of the line may retain it.
  #forget(): void {
    this.#buffer = Buffer.alloc(0);
    this.#used = 0;
    this.#upload?.end();
    this.#upload = undefined;
  }
}

// Nothing more is read from a client until it has read its answers.
const PAUSE_BYTES = 262_144;

export interface LineReaderOptions {
  readonly input: Readable;
  readonly channel: LineChannel;
  readonly clock: Clock;
  /** Batches the chunks of many clients. Undefined: this chunk is processed at once. Once defined, it has to stay so. */
  readonly batch?: () => TickBatcher<() => void> | undefined;
  /** Without its line end. Never empty. */
  readonly onLine: (line: Line) => void;
  /** The longest line allowed; called for each line. */
  readonly lineBytes: () => number;
  readonly onTooLong: () => void;
  /** Reserves room for a line in many chunks. Absent: no limit. */
  readonly begin?: () => Upload;
  /** A line must end within this time after its first byte. Absent: no limit. */
  readonly lineMs?: number;
  readonly onSlow?: () => void;
  /** Called once, when the input has ended or failed. */
  readonly onEnd: () => void;
}

/** Reads lines, and pauses while the client does not read its answers. Returns a function that stops it. */
export function readLines(options: LineReaderOptions): () => void {
  const { input, channel, clock, batch, lineMs, onSlow } = options;
  const splitter = new LineSplitter(options.lineBytes, options.onLine, options.onTooLong, options.begin);
  let undoReady: (() => void) | undefined;
  let undoSlow: (() => void) | undefined;
  let waiting: Buffer | undefined;
  let ended = false;

  const watchSlow = (): void => {
    if (lineMs === undefined || onSlow === undefined) return;
    if (!splitter.partial) {
      undoSlow?.();
      undoSlow = undefined;
    } else undoSlow ??= clock.after(lineMs, onSlow);
  };

  const processChunk = (chunk: Buffer): void => {
    if (ended) return;
    // A line ended within this chunk, so the next one has a new time limit.
    if (undoSlow !== undefined && chunk.includes(10)) {
      undoSlow();
      undoSlow = undefined;
    }
    splitter.push(chunk);
    watchSlow();
    if (channel.queued > PAUSE_BYTES && undoReady === undefined && !ended) {
      input.pause();
      undoReady = channel.onReady(() => {
        undoReady?.();
        undoReady = undefined;
        input.resume();
      });
    }
  };

  const processWaiting = (): void => {
    const chunk = waiting;
    waiting = undefined;
    if (chunk !== undefined) processChunk(chunk);
  };

  const onData = (chunk: Buffer): void => {
    const together = batch?.();
    // At most one chunk waits: reading can only be paused when chunks are processed.
    if (together === undefined || waiting !== undefined) {
      processWaiting();
      return processChunk(chunk);
    }
    waiting = chunk;
    together.add(processWaiting);
  };

  const stop = (): void => {
    ended = true;
    undoReady?.();
    undoSlow?.();
    splitter.stop();
    input.off("data", onData);
    input.off("end", end);
    input.off("close", end);
    input.off("error", end);
  };

  const end = (): void => {
    processWaiting();
    if (ended) return;
    splitter.finish();
    stop();
    options.onEnd();
  };

  input.on("data", onData);
  input.on("end", end);
  input.on("close", end);
  input.on("error", end);
  return stop;
}

// A larger batch is written at once.
const BATCH_CHARACTERS = 65_536;

export interface LineChannelOptions {
  readonly queue: WriteQueue;
  /** Batches the writes of many clients. Absent: the messages of one tick are written together. */
  readonly batch?: TickBatcher<LineChannel>;
  /** Ends the output after what was written. */
  readonly end: () => void;
}

/** One JSON text per line. The messages of one tick, or of one event-loop turn, are written together. */
export class LineChannel extends QueueChannel {
  readonly #together: TickBatcher<LineChannel> | undefined;
  readonly #end: () => void;
  /** The messages that will be written together, and their size in characters, line ends included. */
  #batch: string[] = [];
  #size = 0;

  constructor({ queue, batch, end }: LineChannelOptions) {
    super(queue);
    this.#end = end;
    this.#together = batch;
  }

  override get queued(): number {
    return super.queued + this.#size;
  }

  override send(text: string): void {
    if (this.ended) return;
    const isFirst = this.#batch.push(text) === 1;
    this.#size += text.length + 1;
    if (this.#size >= BATCH_CHARACTERS) this.flush();
    // Last, since the batch may be flushed at once.
    else if (isFirst) this.#later();
    else this.#together?.grown();
  }

  override close(): void {
    if (this.ended) return;
    this.flush();
    this.ended = true;
    this.queue.finish();
    this.#end();
  }

  override lose(): void {
    this.#forget();
    super.lose();
  }

  /** Writes the batch now. */
  flush(): void {
    const batch = this.#batch;
    if (batch.length === 0 || this.ended) return;
    this.#forget();
    this.queue.write(linesOf(batch));
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

/** One line per text. They are joined first, since checking one long text is faster than checking each. */
export function linesOf(texts: readonly string[]): string {
  const lines = `${texts.join("\n")}\n`;
  if (!lines.includes("\r") && !lines.includes("\\ud") && breaksIn(lines, texts.length) === texts.length) return lines;
  // In valid JSON a line break can only be white space between tokens.
  return texts.map((text) => `${wellFormed(text).replace(/[\r\n]+/g, " ")}\n`).join("");
}

/** The number of line breaks, counted up to `enough` + 1. */
function breaksIn(lines: string, enough: number): number {
  let count = 0;
  for (let at = lines.indexOf("\n"); at >= 0 && count <= enough; at = lines.indexOf("\n", at + 1)) count += 1;
  return count;
}
