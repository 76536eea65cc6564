import type { DumpCounts } from "../core/chain/index.ts";
import { systemClock } from "../core/contract/index.ts";
import { counted, printLine, visible } from "./output.ts";

const TOLD_EVERY_MS = 200;
/** Asking the clock costs more than a line. */
const LOOKED_EVERY = 256;

/** `3 actors, 12 events, 1 reply, 0 messages, 0 dead letters`. */
export const countsText = ({ actors, events, calls, messages, letters }: DumpCounts): string =>
  [
    counted(actors, "actor"),
    counted(events, "event"),
    `${calls} ${calls === 1 ? "reply" : "replies"}`,
    counted(messages, "message"),
    counted(letters, "dead letter"),
  ].join(", ");

/** How far it has come, on one line that is written over; for a person at a terminal only. */
export class ProgressLine {
  readonly #verb: string;
  readonly #shown: boolean;
  #asked = 0;
  #toldAt = 0;
  #said = false;

  constructor(verb: string, json: boolean) {
    this.#verb = verb;
    this.#shown = !json && process.stderr.isTTY;
  }

  tell(counts: DumpCounts): void {
    if (!this.#shown || ++this.#asked % LOOKED_EVERY !== 0) return;
    const now = systemClock.now();
    if (now - this.#toldAt < TOLD_EVERY_MS) return;
    this.#toldAt = now;
    this.#said = true;
    process.stderr.write(`\r\u001b[K${this.#verb} ${countsText(counts)}`);
  }

  /** The line is free for something else. */
  end(): void {
    if (this.#said) process.stderr.write("\r\u001b[K");
    this.#said = false;
  }
}

/** A result: on standard output, unless that is where the export went. */
export const showResult = (value: object, text: string, json: boolean, toError: boolean): void => {
  const line = json ? JSON.stringify(value) : visible(text);
  if (toError) process.stderr.write(`${line}\n`);
  else printLine(line);
};
