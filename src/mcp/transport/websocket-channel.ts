import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Channel, Clock } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import { type DropReason, type Outlet, type OutletLimits, SinkOutlet } from "./outlet.ts";

const NORMAL = 1000;

export interface WebSocketChannelOptions {
  readonly ws: WebSocket;
  /** What is beneath it. */
  readonly socket: Socket;
  readonly limits: OutletLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
}

/** One text frame a message. */
export class WebSocketChannel implements Channel {
  readonly #ws: WebSocket;
  readonly #outlet: Outlet;
  readonly #gone = new AbortController();
  #ended = false;

  constructor({ ws, socket, limits, clock, onDrop }: WebSocketChannelOptions) {
    this.#ws = ws;
    const sink = {
      write: (data: string | Uint8Array) => ws.send(data, { binary: false }),
      queued: () => socket.writableLength,
      afterwards: (run: () => void) => void socket.write("", run),
      destroy: () => ws.terminate(),
    };
    this.#outlet = new SinkOutlet(sink, { limits, clock, onDrop });
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get ready(): boolean {
    return !this.#ended && this.#outlet.ready;
  }

  /** Bytes that wait for the client to read. */
  get queued(): number {
    return this.#outlet.queued;
  }

  onReady(run: () => void): () => void {
    return this.#outlet.onReady(run);
  }

  send(text: string): void {
    // After a close frame of either side nothing may follow.
    if (!this.#ended && this.#ws.readyState === this.#ws.OPEN) this.#outlet.write(wellFormed(text));
  }

  /** Nothing is sent any more; what was may still take its time. */
  finish(): void {
    this.#ended = true;
    this.#outlet.finish();
  }

  close(): void {
    if (this.#ended) return;
    this.finish();
    this.#ws.close(NORMAL);
  }

  /** The client has gone. */
  lose(): void {
    this.#ended = true;
    this.#outlet.end();
    this.#gone.abort();
  }
}
