/** Thrown for a line that is longer than was allowed, or no UTF-8. */
export class BadLine extends Error {}

/** Cuts bytes into lines, however they arrive: in work linear in them, holding one line at most. */
export class ClientLines {
  readonly #maxChars: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #parts: string[] = [];
  #held = 0;

  /** `maxChars`: of one line, in UTF-16 units. */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The lines that have ended, without blank ones. Throws `BadLine`. */
  push(chunk: Uint8Array): readonly string[] {
    const [first = "", ...rest] = this.#decoded(chunk).split("\n");
    const lines: string[] = [];
    this.#hold(first);
    for (const next of rest) {
      lines.push(this.#taken());
      this.#hold(next);
    }
    return lines.filter((line) => line.trim() !== "");
  }

  /** What is there without a line end: nothing, or one line. Throws `BadLine`. */
  end(): readonly string[] {
    this.#hold(this.#decoded());
    const line = this.#taken();
    return line.trim() === "" ? [] : [line];
  }

  #decoded(chunk?: Uint8Array): string {
    try {
      return chunk === undefined ? this.#decoder.decode() : this.#decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw new BadLine("It sent what is no UTF-8.", { cause });
    }
  }

  #hold(text: string): void {
    this.#held += text.length;
    if (this.#held > this.#maxChars) throw new BadLine(`It sent a line of more than ${this.#maxChars} characters.`);
    if (text !== "") this.#parts.push(text);
  }

  #taken(): string {
    const line = this.#parts.join("");
    this.#parts = [];
    this.#held = 0;
    return line;
  }
}
