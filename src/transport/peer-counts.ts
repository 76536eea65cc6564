import type { Socket } from "node:net";
import { isLoopback } from "./address.ts";

/** Counts connections per peer. Peers on this machine are one person as far as an address can say, and have no bound here. */
export class PeerCounts {
  readonly #perPeer: number;
  readonly #counts = new Map<string, number>();
  readonly #counted = new Map<Socket, string>();

  constructor(perPeer: number) {
    this.#perPeer = perPeer;
  }

  /** False: this peer has too many. No address (a Unix socket) is not counted. */
  enter(socket: Socket): boolean {
    const address = socket.remoteAddress;
    if (address === undefined || isLoopback(address)) return true;
    const count = this.#counts.get(address) ?? 0;
    if (count >= this.#perPeer) return false;
    this.#counts.set(address, count + 1);
    this.#counted.set(socket, address);
    return true;
  }

  leave(socket: Socket): void {
    const address = this.#counted.get(socket);
    if (address === undefined) return;
    this.#counted.delete(socket);
    const left = (this.#counts.get(address) ?? 1) - 1;
    if (left === 0) this.#counts.delete(address);
    else this.#counts.set(address, left);
  }
}
