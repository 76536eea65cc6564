import type { OpenStream } from "./open-streams.ts";

/** A token that expires opens nothing more: a stream ends, or ends with its answer where that is still due. */
export class Expiry {
  readonly #stream: OpenStream;
  #answered = false;
  #over = false;

  constructor(stream: OpenStream) {
    this.#stream = stream;
  }

  /** The handler is done. True: the token was over before. */
  answered(): boolean {
    this.#answered = true;
    return this.#over;
  }

  expire(): void {
    this.#over = true;
    if (this.#answered) this.#stream.evict();
  }
}
