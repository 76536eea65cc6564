import type { Given } from "./given.ts";

interface Before {
  readonly name: string;
  readonly data: Uint8Array;
  readonly given: Promise<Given>;
}

/** The requests of one call: tried again after its worker died, it makes the same ones, and is given what they were answered. */
export class Asked {
  readonly #before: Before[] = [];

  /** `n`: the which of this try. */
  once(n: number, name: string, data: Uint8Array, ask: () => Promise<Given>): Promise<Given> {
    const before = this.#before[n];
    if (before !== undefined && before.name === name && Buffer.compare(before.data, data) === 0) return before.given;
    const given = before === undefined ? ask() : ask().then((one) => ({ ...one, lasting: true }));
    this.#before[n] = { name, data, given };
    return given;
  }
}
