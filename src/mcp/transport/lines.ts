import { isAscii } from "node:buffer";
import { type Upload, FREE_BYTES } from "./budgets.ts";
import type { Readable } from "node:stream";
import type { Clock, Channel } from "../../core/contract/index.ts";
import type { TickBatcher } from "./pipeline.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import type { WriteQueue } from "./write-queue.ts";

// Owns: newline-delimited JSON in both directions, for stdio, TCP and streams of lines: splitting, reading with back-pressure,
// and writing in batches. Does not own: sockets and processes (tcp.ts, stdio.ts).

const NEWLINE = 10;
const RETURN = 13;
const FIRST_BYTES = 4_096;

/** Text where that was at hand, else bytes, which may be no UTF-8. */
export type Line = Uint8Array | string;

/**
 * Cuts a stream of bytes into lines, of ASCII as text, since a piece of text needs neither an object nor a decoder of its own. A line
 * that arrives in many pieces is gathered in one growing buffer, so the work is linear in the bytes however they are cut; a line that
 * is too long is thrown away up to its end, in no memory.
 */
export class LineSplitter {
  readonly #maxBytes: () => number;
  readonly #onLine: (line: Line) => void;
  readonly #onTooLong: () => void;
  readonly #begin: (() => Upload) | undefined;
  #upload: Upload | undefined;
  #gathered = Buffer.alloc(0);
  #used = 0;
  #skipping = false;
  #stopped = false;

  /** `begin`: where a line that comes in many pieces takes room. Who has none is to be stopped. */
  constructor(maxBytes: () => number, onLine: (line: Line) => void, onTooLong: () => void, begin?: () => Upload) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
    this.#begin = begin;
  }

  /** A line has begun and not ended. */
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

  /** The stream has ended: what is there counts as a line. */
  finish(): void {
    if (!this.#stopped && this.#used > 0) this.#end(new Uint8Array());
    this.stop();
  }

  /** No line any more, not even from the chunk at hand. */
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
      line = this.#gathered.subarray(0, this.#used);
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
    if (needed > this.#gathered.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, needed, Math.min(this.#gathered.length * 2, this.#maxBytes())));
      this.#gathered.copy(larger, 0, 0, this.#used);
      this.#gathered = larger;
    }
    this.#gathered.set(rest, this.#used);
    this.#used = needed;
  }

  // The buffer goes with its line: whoever got it may keep it.
  #forget(): void {
    this.#gathered = Buffer.alloc(0);
    this.#used = 0;
    this.#upload?.end();
    this.#upload = undefined;
  }
}

// A client that reads no answers is not listened to until it does.
const PAUSE_BYTES = 262_144;

export interface LineReaderOptions {
  readonly input: Readable;
  readonly channel: LineChannel;
  readonly clock: Clock;
  /** Of a door with many clients: acts on what was read. Undefined: what comes now is acted on at once. Once there is one, there always is. */
  readonly batch?: () => TickBatcher<() => void> | undefined;
  /** Without its line end. Never empty. */
  readonly onLine: (line: Line) => void;
  /** The longest line taken; asked anew for each. */
  readonly lineBytes: () => number;
  readonly onTooLong: () => void;
  /** Where a line that comes in many pieces takes room. Absent: it needs none. */
  readonly begin?: () => Upload;
  /** A line that was begun must end within this time. Absent: no bound. */
  readonly lineMs?: number;
  readonly onSlow?: () => void;
  /** Once: the input has ended or failed. */
  readonly onEnd: () => void;
}

/** Reads lines for as long as the client reads what it is answered. Returns its undo. */
export function readLines(options: LineReaderOptions): () => void {
  const { input, channel, clock, batch, lineMs, onSlow } = options;
  const splitter = new LineSplitter(options.lineBytes, options.onLine, options.onTooLong, options.begin);
  let undoReady: (() => void) | undefined;
  let undoSlow: (() => void) | undefined;
  let gathered: Buffer | undefined;
  let ended = false;

  const watchSlow = (): void => {
    if (lineMs === undefined || onSlow === undefined) return;
    if (!splitter.partial) {
      undoSlow?.();
      undoSlow = undefined;
    } else undoSlow ??= clock.after(lineMs, onSlow);
  };

  const act = (chunk: Buffer): void => {
    if (ended) return;
    // A line that ended within this chunk has kept its time; the next one starts its own.
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

  const actOnGathered = (): void => {
    const chunk = gathered;
    gathered = undefined;
    if (chunk !== undefined) act(chunk);
  };

  const onData = (chunk: Buffer): void => {
    const together = batch?.();
    // One chunk waits, and no more: what is read while nothing is acted on could not be paused.
    if (together === undefined || gathered !== undefined) {
      actOnGathered();
      return act(chunk);
    }
    gathered = chunk;
    together.add(actOnGathered);
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
    actOnGathered();
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

// More than this waiting is written at once.
const BATCH_CHARACTERS = 65_536;

export interface LineChannelOptions {
  readonly queue: WriteQueue;
  /** Of a door with many clients. Absent: what is sent within one tick leaves in one write. */
  readonly batch?: TickBatcher<LineChannel>;
  /** Ends the way out after what was written. */
  readonly end: () => void;
}

/** One JSON text a line. What is sent within one tick, or one round of the event loop, leaves in one write. */
export class LineChannel implements Channel {
  readonly #queue: WriteQueue;
  readonly #together: TickBatcher<LineChannel> | undefined;
  readonly #end: () => void;
  readonly #gone = new AbortController();
  /** What is sent together, and how many characters it has with its line ends. */
  #batch: string[] = [];
  #size = 0;
  #ended = false;

  constructor(options: LineChannelOptions) {
    this.#end = options.end;
    this.#together = options.batch;
    this.#queue = options.queue;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get ready(): boolean {
    return !this.#ended && this.#queue.ready;
  }

  /** Bytes that wait for the client to read. */
  get queued(): number {
    return this.#queue.queued + this.#size;
  }

  onReady(run: () => void): () => void {
    return this.#queue.onReady(run);
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
    this.#queue.finish();
    this.#end();
  }

  /** The client has gone. */
  lose(): void {
    this.#ended = true;
    this.#forget();
    this.#queue.end();
    this.#gone.abort();
  }

  /** What waits is written. */
  flush(): void {
    const batch = this.#batch;
    if (batch.length === 0 || this.#ended) return;
    this.#forget();
    this.#queue.write(linesOf(batch));
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
