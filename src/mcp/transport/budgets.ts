// Owns: limits that all clients of one transport share: uploads in progress, unread output, connections per peer.
// Does not own: limits of a single client (write-queue.ts, http-bytes.ts) and open streams (open-streams.ts).
import type { Socket } from "node:net";
import type { Clock } from "../../core/contract/index.ts";
import { isLocal, peerOf } from "../../core/contract/internal.ts";
import type { FaultKind } from "../gateway/index.ts";

/** The first bytes of a message are not counted, so that small messages cost nothing; a request's head may hold as much. */
export const FREE_BYTES = 16_384;
const STEP_BYTES = 65_536;
/** An upload that has not grown by a step for this long is stalled, and evicted first. */
const STALLED_MS = 5_000;

/** Why an upload was evicted: the budget was full, or it stalled while others needed its room. */
export type NoRoom = "full" | "stalled";

export const NO_ROOM: Readonly<Record<NoRoom, readonly [kind: FaultKind, message: string]>> = {
  full: ["UNAVAILABLE", "Too much is being sent here at once: send this again in a moment, or less at once."],
  stalled: ["LATE", "This came too slowly while others needed its room: send it again without a break."],
};

const inSteps = (size: number): number => Math.ceil(size / STEP_BYTES) * STEP_BYTES;

export interface UploadBudgetOptions {
  /** Limit for all uploads together; never less than the longest message. */
  readonly bytes: number;
  /** The longest message. */
  readonly longest: number;
  readonly clock: Clock;
  /** The budget is full. Called at most once per `STALLED_MS`, not for each eviction. */
  readonly onFull: () => void;
}

/**
 * Memory budget for partially received messages: each is within its own limit, but together they could exhaust memory. When the
 * budget is full, stalled uploads are evicted first, then the newest upload of the peer that uses most. So no peer can keep out
 * another one, and of one peer's uploads the older ones are completed.
 */
export class UploadBudget {
  readonly #options: UploadBudgetOptions;
  readonly #limit: number;
  /** In the order they began. */
  readonly #uploads: Upload[] = [];
  #held = 0;
  #reportedAt = -Infinity;

  constructor(options: UploadBudgetOptions) {
    this.#options = options;
    this.#limit = Math.max(options.bytes, inSteps(options.longest));
  }

  /** Bytes, in whole steps. */
  get held(): number {
    return this.#held;
  }

  /** Registers a message once it exceeds `FREE_BYTES`. `onEvict` is called at most once, and not after `end`. */
  begin(address: string | undefined, onEvict: (why: NoRoom) => void): Upload {
    const upload = new Upload(this, peerOf(address), onEvict);
    this.#uploads.push(upload);
    return upload;
  }

  /** For `Upload`: makes room for `bytes` more. False if it evicted the upload itself. */
  grow(upload: Upload, bytes: number): boolean {
    const now = this.#options.clock.now();
    upload.grownAt = now;
    while (this.#held + bytes > this.#limit) {
      const stalled = this.#uploads.find(({ grownAt }) => now - grownAt >= STALLED_MS);
      const victim = stalled ?? this.#newestOfHeaviestPeer(upload, bytes);
      this.#report(now);
      victim.evict(stalled === undefined ? "full" : "stalled");
      if (upload.ended) return false;
    }
    this.#held += bytes;
    return true;
  }

  #newestOfHeaviestPeer(growing: Upload, bytes: number): Upload {
    const perPeer = new Map([[growing.peer, bytes]]);
    for (const { peer, reserved } of this.#uploads) perPeer.set(peer, (perPeer.get(peer) ?? 0) + reserved);
    const heaviest = Math.max(...perPeer.values());
    return this.#uploads.findLast(({ peer }) => perPeer.get(peer) === heaviest) ?? growing;
  }

  /** For `Upload`, once. */
  release(upload: Upload, bytes: number): void {
    this.#held -= bytes;
    this.#uploads.splice(this.#uploads.lastIndexOf(upload), 1);
  }

  #report(now: number): void {
    if (now - this.#reportedAt < STALLED_MS) return;
    this.#reportedAt = now;
    this.#options.onFull();
  }
}

/** One partially received message and the room reserved for it. */
export class Upload {
  readonly #budget: UploadBudget;
  readonly #onEvict: (why: NoRoom) => void;
  readonly peer: string;
  #reserved = 0;
  #ended = false;
  /** When it last reserved room. */
  grownAt = 0;

  constructor(budget: UploadBudget, peer: string, onEvict: (why: NoRoom) => void) {
    this.#budget = budget;
    this.peer = peer;
    this.#onEvict = onEvict;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get reserved(): number {
    return this.#reserved;
  }

  /** The message has `size` bytes now. False: it was evicted, and nothing of it may be retained. */
  holds(size: number): boolean {
    if (this.#ended) return false;
    if (size <= this.#reserved) return true;
    const bytes = inSteps(size) - this.#reserved;
    if (!this.#budget.grow(this, bytes)) return false;
    this.#reserved += bytes;
    return true;
  }

  /** The message is complete or abandoned: releases its room. Idempotent. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#budget.release(this, this.#reserved);
  }

  /** For `UploadBudget`. */
  evict(why: NoRoom): void {
    this.end();
    this.#onEvict(why);
  }
}

/** Limits output that was written and not read yet, all clients together. Over the limit, the client with most of it is dropped. */
export class UnreadBudget {
  readonly #limit: number;
  readonly #onDrop: () => void;
  readonly #sockets = new Map<Socket, number>();
  #bytes = 0;

  constructor(limit: number, onDrop: () => void) {
    this.#limit = limit;
    this.#onDrop = onDrop;
  }

  add(socket: Socket, bytes: number): void {
    this.#bytes += bytes;
    this.#sockets.set(socket, (this.#sockets.get(socket) ?? 0) + bytes);
    while (this.#bytes > this.#limit) this.#dropHeaviest();
  }

  /** Undoes `add`: the bytes were read, or never will be. */
  take(socket: Socket, bytes: number): void {
    const held = this.#sockets.get(socket);
    // Already dropped.
    if (held === undefined) return;
    this.#bytes -= bytes;
    if (held > bytes) this.#sockets.set(socket, held - bytes);
    else this.#sockets.delete(socket);
  }

  /** Sets the number of unread bytes of this client. */
  holds(socket: Socket, bytes: number): void {
    const before = this.#sockets.get(socket) ?? 0;
    if (bytes > before) this.add(socket, bytes - before);
    else if (bytes < before) this.take(socket, before - bytes);
  }

  #dropHeaviest(): void {
    let [heaviest, most]: [Socket | undefined, number] = [undefined, 0];
    for (const [socket, bytes] of this.#sockets) if (bytes > most) [heaviest, most] = [socket, bytes];
    if (heaviest === undefined) return;
    this.#sockets.delete(heaviest);
    this.#bytes -= most;
    this.#onDrop();
    heaviest.destroy();
  }
}

/** Counts connections per peer. All loopback peers are the same machine, so they are not limited. */
export class ConnectionsPerPeer {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();
  readonly #peers = new Map<Socket, string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: this peer has too many. A socket without an address (a Unix socket) is not counted. */
  enter(socket: Socket): boolean {
    const address = socket.remoteAddress;
    if (address === undefined || isLocal(address)) return true;
    const peer = peerOf(address);
    const count = this.#counts.get(peer) ?? 0;
    if (count >= this.#limit) return false;
    this.#counts.set(peer, count + 1);
    this.#peers.set(socket, peer);
    return true;
  }

  leave(socket: Socket): void {
    const peer = this.#peers.get(socket);
    if (peer === undefined) return;
    this.#peers.delete(socket);
    const remaining = (this.#counts.get(peer) ?? 1) - 1;
    if (remaining === 0) this.#counts.delete(peer);
    else this.#counts.set(peer, remaining);
  }
}
