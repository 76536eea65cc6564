import type { Readable } from "node:stream";
import type { Clock } from "../../core/contract/index.ts";
import type { Arriving } from "./inflow.ts";
import type { LineChannel } from "./line-channel.ts";
import { type Line, LineSplitter } from "./line-splitter.ts";
import type { RoundBatch } from "./round-batch.ts";

// A client that reads no answers is not listened to until it does.
const PAUSE_BYTES = 262_144;

export interface LineReaderOptions {
  readonly input: Readable;
  readonly channel: LineChannel;
  readonly clock: Clock;
  /** Of a door with many clients: acts on what was read. Undefined: what comes now is acted on at once. Once there is one, there always is. */
  readonly batch?: () => RoundBatch<() => void> | undefined;
  /** Without its line end. Never empty. */
  readonly onLine: (line: Line) => void;
  /** The longest line taken; asked anew for each. */
  readonly lineBytes: () => number;
  readonly onTooLong: () => void;
  /** Where a line that comes in many pieces takes room. Absent: it needs none. */
  readonly begin?: () => Arriving;
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
