import type { Entropy } from "../../core/contract/index.ts";
import { SimulatedEntropy } from "../simulated-clock.ts";

// What a header and a JSON string both carry as it is: a session's id goes through both.
const SAYABLE = /^[\x21-\x7e]{1,128}$/;
const ID_BYTES = 16;

/** What a server under test names things by, sessions first of all: as the test says, else the same in every run. */
export class TestIds implements Entropy {
  readonly #seed: number;
  readonly #queued: string[] = [];
  #drawn: SimulatedEntropy;

  constructor(seed: number) {
    this.#seed = seed;
    this.#drawn = new SimulatedEntropy(seed);
  }

  /** The next ids the server makes, in that order, before those it would draw. Throws where no header could carry one. */
  queue(...ids: readonly string[]): void {
    const wrong = ids.find((id) => !SAYABLE.test(id));
    if (wrong !== undefined)
      throw new Error(`${JSON.stringify(wrong)} is no id a client could send back: queue 1 to 128 visible ASCII characters.`);
    this.#queued.push(...ids);
  }

  /** Forgets what is queued, and draws from the beginning again. Ids that are in use come again: for servers without sessions yet. */
  reset(): void {
    this.#queued.length = 0;
    this.#drawn = new SimulatedEntropy(this.#seed);
  }

  // Keys and marks have other lengths: a queued name would be no secret.
  hex(bytes: number): string {
    return (bytes === ID_BYTES ? this.#queued.shift() : undefined) ?? this.#drawn.hex(bytes);
  }

  uuid(): string {
    return this.#queued.shift() ?? this.#drawn.uuid();
  }
}
