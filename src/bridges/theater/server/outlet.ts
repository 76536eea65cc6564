import type { Socket } from "node:net";
import type { Clock } from "../../../core/contract/index.ts";
import type { TheaterLimits } from "./options.ts";

/** The way out to one client: what it does not read is bounded. */
export class Outlet {
  readonly #socket: Socket;
  readonly #limits: Pick<TheaterLimits, "queuedBytes" | "blockedMs">;
  readonly #clock: Clock;
  readonly #onDrop: (reason: string) => void;
  #waiting: (() => void)[] = [];
  #undoTimer: (() => void) | undefined;

  constructor(socket: Socket, limits: Pick<TheaterLimits, "queuedBytes" | "blockedMs">, clock: Clock, onDrop: (reason: string) => void) {
    this.#socket = socket;
    this.#limits = limits;
    this.#clock = clock;
    this.#onDrop = onDrop;
  }

  /** An answer goes whatever its length: the next command waits until it was read. */
  answer(frames: readonly Uint8Array[]): void {
    for (const frame of frames) this.#write(frame);
  }

  /** What comes unasked: a client that lets too much of it wait is dropped. */
  push(frames: readonly Uint8Array[]): void {
    if (this.#socket.writableLength > this.#limits.queuedBytes) return this.#drop("queue-full");
    for (const frame of frames) this.#write(frame);
  }

  /** Settles when the client has read what was sent, or is gone. */
  drained(): Promise<void> {
    if (this.#socket.writableLength === 0 || this.#socket.destroyed) return Promise.resolve();
    return new Promise((done) => this.#waiting.push(done));
  }

  /** The client is gone. */
  end(): void {
    this.#undoTimer?.();
    this.#undoTimer = undefined;
    this.#release();
  }

  #write(frame: Uint8Array): void {
    if (!this.#socket.writable) return;
    this.#socket.write(frame, this.#flushed);
    if (this.#socket.writableLength > 0) this.#undoTimer ??= this.#watch();
  }

  /** As long as something gets out, it is only slow. */
  #watch(): () => void {
    const before = this.#socket.bytesWritten - this.#socket.writableLength;
    return this.#clock.after(this.#limits.blockedMs, () => {
      this.#undoTimer = undefined;
      if (this.#socket.bytesWritten - this.#socket.writableLength > before) this.#undoTimer = this.#watch();
      else this.#drop("blocked");
    });
  }

  readonly #flushed = (): void => {
    if (this.#socket.writableLength > 0) return;
    this.#undoTimer?.();
    this.#undoTimer = undefined;
    this.#release();
  };

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const done of waiting) done();
  }

  #drop(reason: string): void {
    this.#onDrop(reason);
    this.#socket.destroy();
  }
}
