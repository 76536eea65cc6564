import { isLoopback } from "./address.ts";

/** Counts connections per peer. Peers on this machine are one person as far as an address can say, and have no bound here. */
export class Peers {
  readonly #perPeer: number;
  readonly #counts = new Map<string, number>();

  constructor(perPeer: number) {
    this.#perPeer = perPeer;
  }

  /** How to leave again; undefined: this peer has too many. No address (a Unix socket) is not counted. */
  enter(address: string | undefined): (() => void) | undefined {
    if (address === undefined || isLoopback(address)) return () => {};
    const count = this.#counts.get(address) ?? 0;
    if (count >= this.#perPeer) return undefined;
    this.#counts.set(address, count + 1);
    let here = true;
    return () => {
      if (!here) return;
      here = false;
      const left = (this.#counts.get(address) ?? 1) - 1;
      if (left === 0) this.#counts.delete(address);
      else this.#counts.set(address, left);
    };
  }
}
