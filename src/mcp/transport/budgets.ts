import type { Clock } from "../../core/contract/index.ts";
import { peerOf } from "../../core/contract/internal.ts";
import type { FaultKind } from "../gateway/index.ts";
import type { Socket } from "node:net";
import { isLoopback } from "./address.ts";

/** So much of a message is not counted, so that small ones cost nothing: a request's head may hold as much. */
export const FREE_BYTES = 16_384;
const STEP_BYTES = 65_536;
/** Who has gained no step for so long makes room for others. */
const STALLED_MS = 5_000;

/** Why a message that was on its way is not taken: too much else is, or it stood still while others needed its room. */
export type NoRoom = "full" | "stalled";

export const NO_ROOM: Readonly<Record<NoRoom, readonly [kind: FaultKind, message: string]>> = {
  full: ["UNAVAILABLE", "Too much is being sent here at once: send this again in a moment, or less at once."],
  stalled: ["LATE", "This came too slowly while others needed its room: send it again without a break."],
};

const inSteps = (size: number): number => Math.ceil(size / STEP_BYTES) * STEP_BYTES;

export interface InflowOptions {
  /** The most that may be on its way, and never less than one message may have. */
  readonly bytes: number;
  /** The longest message. */
  readonly longest: number;
  readonly clock: Clock;
  /** There is no room; not told for each that has to give way. */
  readonly onFull: () => void;
}

/**
 * What a door has received of messages that are not whole yet, all clients together: each may be within its own bounds, and all of
 * them more than the process can hold. Where there is no room, those that stand still give way first, then of the peer that takes
 * most of it what began last: nobody's messages keep out those of others, and of one peer's what began before goes on to its end.
 */
export class Inflow {
  readonly #options: InflowOptions;
  readonly #most: number;
  /** In the order they began. */
  readonly #arriving: Arriving[] = [];
  #held = 0;
  #toldAt = -Infinity;

  constructor(options: InflowOptions) {
    this.#options = options;
    this.#most = Math.max(options.bytes, inSteps(options.longest));
  }

  /** Bytes, in whole steps. */
  get held(): number {
    return this.#held;
  }

  /** A message of which more than `FREE_BYTES` came, and from which address. `giveWay` is called once at most, and not after `end`. */
  begin(from: string | undefined, giveWay: (why: NoRoom) => void): Arriving {
    const one = new Arriving(this, peerOf(from), giveWay);
    this.#arriving.push(one);
    return one;
  }

  /** For `Arriving`: false where it had to give way itself. */
  grow(one: Arriving, bytes: number): boolean {
    const now = this.#options.clock.now();
    one.grownAt = now;
    while (this.#held + bytes > this.#most) {
      const stalled = this.#arriving.find(({ grownAt }) => now - grownAt >= STALLED_MS);
      const gives = stalled ?? this.#lastOfLargest(one, bytes);
      this.#tell(now);
      gives.giveWay(stalled === undefined ? "full" : "stalled");
      if (one.ended) return false;
    }
    this.#held += bytes;
    return true;
  }

  #lastOfLargest(growing: Arriving, bytes: number): Arriving {
    const taken = new Map([[growing.peer, bytes]]);
    for (const { peer, room } of this.#arriving) taken.set(peer, (taken.get(peer) ?? 0) + room);
    const most = Math.max(...taken.values());
    return this.#arriving.findLast(({ peer }) => taken.get(peer) === most) ?? growing;
  }

  /** For `Arriving`, once. */
  leave(one: Arriving, bytes: number): void {
    this.#held -= bytes;
    this.#arriving.splice(this.#arriving.lastIndexOf(one), 1);
  }

  #tell(now: number): void {
    if (now - this.#toldAt < STALLED_MS) return;
    this.#toldAt = now;
    this.#options.onFull();
  }
}

/** One message on its way, and the room it takes. */
export class Arriving {
  readonly #inflow: Inflow;
  readonly #giveWay: (why: NoRoom) => void;
  readonly peer: string;
  #room = 0;
  #ended = false;
  /** When it took room last. */
  grownAt = 0;

  constructor(inflow: Inflow, peer: string, giveWay: (why: NoRoom) => void) {
    this.#inflow = inflow;
    this.peer = peer;
    this.#giveWay = giveWay;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get room(): number {
    return this.#room;
  }

  /** So much of it is there, in all. False: it has given way, and nothing of it may be kept. */
  holds(size: number): boolean {
    if (this.#ended) return false;
    if (size <= this.#room) return true;
    const bytes = inSteps(size) - this.#room;
    if (!this.#inflow.grow(this, bytes)) return false;
    this.#room += bytes;
    return true;
  }

  /** It is whole, or will never be: its room is free. Once is enough. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#inflow.leave(this, this.#room);
  }

  /** For `Inflow`. */
  giveWay(why: NoRoom): void {
    this.end();
    this.#giveWay(why);
  }
}

/**
 * What was answered and is not read yet, all clients together: a client may ask for much at once and read nothing of it. Where it is
 * too much, who leaves most of it unread is dropped.
 */
export class Unread {
  readonly #most: number;
  readonly #onDrop: () => void;
  readonly #sockets = new Map<Socket, number>();
  #bytes = 0;

  constructor(most: number, onDrop: () => void) {
    this.#most = most;
    this.#onDrop = onDrop;
  }

  add(socket: Socket, bytes: number): void {
    this.#bytes += bytes;
    this.#sockets.set(socket, (this.#sockets.get(socket) ?? 0) + bytes);
    while (this.#bytes > this.#most) this.#dropOne();
  }

  /** For what was added: it was read, or will never be. */
  take(socket: Socket, bytes: number): void {
    const held = this.#sockets.get(socket);
    // It was dropped.
    if (held === undefined) return;
    this.#bytes -= bytes;
    if (held > bytes) this.#sockets.set(socket, held - bytes);
    else this.#sockets.delete(socket);
  }

  /** All that is left unread there now. */
  holds(socket: Socket, bytes: number): void {
    const before = this.#sockets.get(socket) ?? 0;
    if (bytes > before) this.add(socket, bytes - before);
    else if (bytes < before) this.take(socket, before - bytes);
  }

  #dropOne(): void {
    let [largest, most]: [Socket | undefined, number] = [undefined, 0];
    for (const [socket, bytes] of this.#sockets) if (bytes > most) [largest, most] = [socket, bytes];
    if (largest === undefined) return;
    this.#sockets.delete(largest);
    this.#bytes -= most;
    this.#onDrop();
    largest.destroy();
  }
}

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
