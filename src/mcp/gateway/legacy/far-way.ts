/** Tells a node that the reply it follows has grown, or is over. False: it did not hear, or nobody reads it there any more. */
export type Hint = (over: boolean) => Promise<boolean>;

/** The way of a reply whose client reads it at another node: what is sent is in the store already, and that node is told to look. */
export class FarWay {
  readonly #node: string;
  readonly #hint: Hint;
  #over = false;
  #hinting = false;
  #grown = false;
  /** What may be lost is not kept for nobody. */
  ready = true;

  constructor(node: string, hint: Hint) {
    this.#node = node;
    this.#hint = hint;
  }

  send(): void {
    this.#grown = true;
    if (!this.#hinting) void this.#tell();
  }

  close(): void {
    this.#over = true;
    this.send();
  }

  /** A node that asks once more goes on by the new one; any other has lost its client. */
  yieldTo(other: object): void {
    if (!(other instanceof FarWay) || other.#node !== this.#node) this.close();
  }

  // One hint at a time says as much as many.
  async #tell(): Promise<void> {
    this.#hinting = true;
    while (this.#grown) {
      this.#grown = false;
      this.ready = await this.#hint(this.#over);
    }
    this.#hinting = false;
  }
}
