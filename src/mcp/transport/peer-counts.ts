import type { Socket } from "node:net";
import { peerOf } from "../../core/contract/internal.ts";
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
    const peer = peerOf(address);
    const count = this.#counts.get(peer) ?? 0;
    if (count >= this.#perPeer) return false;
    this.#counts.set(peer, count + 1);
    this.#counted.set(socket, peer);
    return true;
  }

  leave(socket: Socket): void {
    const peer = this.#counted.get(socket);
    if (peer === undefined) return;
    this.#counted.delete(socket);
    const left = (this.#counts.get(peer) ?? 1) - 1;
    if (left === 0) this.#counts.delete(peer);
    else this.#counts.set(peer, left);
  }
}
