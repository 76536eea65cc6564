import type { Channel } from "../../contract/index.ts";
import type { Core } from "../core.ts";
import { Fault } from "../errors.ts";

/** An event stream that stays open until its client, a drain or another stream ends it; counted as long. */
export class OpenStream implements Channel {
  readonly #core: Core;
  readonly #channel: Channel;
  readonly #left: (stream: OpenStream) => void;

  /** `open` begins it. Throws `BUSY` before that. `left` runs once, whoever ended it. */
  constructor(core: Core, open: () => Channel, left: (stream: OpenStream) => void) {
    if (core.open.size >= core.settings.limits.listens) throw new Fault("BUSY", "Too many streams are open; close one first.");
    this.#core = core;
    this.#channel = open();
    this.#left = left;
    core.open.add(this.#close);
    if (this.gone.aborted) this.#leave();
    else this.gone.addEventListener("abort", this.#leave, { once: true });
  }

  get ready(): boolean {
    return this.#channel.ready;
  }

  get gone(): AbortSignal {
    return this.#channel.gone;
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    this.#channel.send(text, eventId, retryMs, event);
  }

  onReady(run: () => void): () => void {
    return this.#channel.onReady(run);
  }

  close(): void {
    this.#close();
  }

  readonly #close = (): void => {
    this.#channel.close();
    this.#leave();
  };

  // A stream that the server ends is not "gone": that is said of clients only.
  readonly #leave = (): void => {
    if (this.#core.open.delete(this.#close)) this.#left(this);
  };
}
