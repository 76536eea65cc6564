import type { Socket } from "node:net";
import type { Clock } from "../../../core/contract/index.ts";
import type { TheaterLimits } from "./options.ts";

/** Writes to one client and bounds what it has not read. */
export class SocketWriter {
  readonly #socket: Socket;
  readonly #limits: Pick<TheaterLimits, "queuedBytes" | "blockedMs">;
  readonly #clock: Clock;
  readonly #onDrop: (reason: string) => void;
  #waiting: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(socket: Socket, limits: Pick<TheaterLimits, "queuedBytes" | "blockedMs">, clock: Clock, onDrop: (reason: string) => void) {
    this.#socket = socket;
    this.#limits = limits;
    this.#clock = clock;
    this.#onDrop = onDrop;
  }

  /** Always written: the next command waits until the answer has been read. */
  answer(frames: readonly Uint8Array[]): void {
    for (const frame of frames) this.#write(frame);
  }

  /** Disconnects a client that lets too many bytes wait. */
  push(frames: readonly Uint8Array[]): void {
    if (this.#socket.writableLength > this.#limits.queuedBytes) return this.#drop("queue-full");
    for (const frame of frames) this.#write(frame);
  }

  /** Settles when the client has read everything or has disconnected. */
  drained(): Promise<void> {
    if (this.#socket.writableLength === 0 || this.#socket.destroyed) return Promise.resolve();
    return new Promise((done) => this.#waiting.push(done));
  }

  /** The client has disconnected. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#release();
  }

  #write(frame: Uint8Array): void {
    if (!this.#socket.writable) return;
    this.#socket.write(frame, this.#flushed);
    if (this.#socket.writableLength > 0) this.#cancelTimer ??= this.#watchProgress();
  }

  /** A client that makes any progress is merely slow. */
  #watchProgress(): () => void {
    const before = this.#socket.bytesWritten - this.#socket.writableLength;
    return this.#clock.after(this.#limits.blockedMs, () => {
      this.#cancelTimer = undefined;
      if (this.#socket.bytesWritten - this.#socket.writableLength > before) this.#cancelTimer = this.#watchProgress();
      else this.#drop("blocked");
    });
  }

  readonly #flushed = (): void => {
    if (this.#socket.writableLength > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
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
