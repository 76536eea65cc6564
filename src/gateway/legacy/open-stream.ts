import type { CancelSignal, Channel } from "../../contract/index.ts";
import type { Core, Lasting } from "../core.ts";
import { Fault } from "../errors.ts";

/** Whoever feeds a stream. */
export interface StreamOwner {
  /** Runs once, whoever ended it. */
  left(stream: Channel): void;
}

/** An event stream that stays open until its client, a drain or another stream ends it; counted as long. */
export class OpenStream implements Channel, Lasting {
  readonly #core: Core;
  readonly #channel: Channel;
  readonly #owner: StreamOwner;

  /** `open` begins it. Throws `BUSY` before that. */
  constructor(core: Core, open: () => Channel, owner: StreamOwner) {
    if (core.open.size >= core.settings.limits.listens) throw new Fault("BUSY", "Too many streams are open; close one first.");
    this.#core = core;
    this.#channel = open();
    this.#owner = owner;
    core.open.add(this);
    if (this.gone.aborted) this.#leave();
    else this.gone.addEventListener("abort", () => this.#leave(), { once: true });
  }

  get ready(): boolean {
    return this.#channel.ready;
  }

  get gone(): CancelSignal {
    return this.#channel.gone;
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    this.#channel.send(text, eventId, retryMs, event);
  }

  onReady(run: () => void): () => void {
    return this.#channel.onReady(run);
  }

  close(): void {
    try {
      this.#channel.close();
    } finally {
      this.#leave();
    }
  }

  finish(): void {
    this.close();
  }

  // A stream that the server ends is not "gone": that is said of clients only.
  #leave(): void {
    if (this.#core.open.delete(this)) this.#owner.left(this);
  }
}
