import type { CancelSignal, Channel } from "../../../core/contract/index.ts";
import type { Core, Lasting } from "../core.ts";
import { Fault } from "../errors.ts";

/** Whoever feeds a stream. */
export interface StreamOwner {
  /** Runs once, whoever ended it. `way`: the channel behind it. */
  left(stream: Channel, way: Channel): void;
}

/** An event stream that stays open until its client, a drain or another stream ends it; counted as long. */
export class OpenStream implements Channel, Lasting {
  /** The channel behind it, for whoever sends to very many: each object on the way is a wait for the memory. */
  readonly way: Channel;
  readonly #core: Core;
  readonly #owner: StreamOwner;

  /** `open` begins it. Throws `BUSY` before that. */
  constructor(core: Core, open: () => Channel, owner: StreamOwner) {
    if (core.open.size >= core.settings.limits.listens) throw new Fault("BUSY", "Too many streams are open; close one first.");
    this.#core = core;
    this.way = open();
    this.#owner = owner;
    core.open.add(this);
    if (this.gone.aborted) this.#leave();
    else this.gone.addEventListener("abort", () => this.#leave(), { once: true });
  }

  get ready(): boolean {
    return this.way.ready;
  }

  get gone(): CancelSignal {
    return this.way.gone;
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    this.way.send(text, eventId, retryMs, event);
  }

  onReady(run: () => void): () => void {
    return this.way.onReady(run);
  }

  close(): void {
    try {
      this.way.close();
    } finally {
      this.#leave();
    }
  }

  finish(): void {
    this.close();
  }

  // A stream that the server ends is not "gone": that is said of clients only.
  #leave(): void {
    if (this.#core.open.delete(this)) this.#owner.left(this, this.way);
  }
}
