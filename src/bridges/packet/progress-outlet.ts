import type { Channel } from "../../core/contract/index.ts";
import type { ReplyPacket } from "./packet.ts";

/**
 * The way of progress to a client: where it does not read, only the newest of
 * each request is held, so a slow reader costs what it has under way (C8).
 */
export class ProgressOutlet {
  readonly #channel: Channel;
  readonly #held = new Map<string, ReplyPacket>();
  readonly #most: number;
  #undoReady: (() => void) | undefined;

  constructor(channel: Channel, most: number) {
    this.#channel = channel;
    this.#most = most;
  }

  tell(packet: ReplyPacket): void {
    if (this.#held.size === 0 && this.#channel.ready) return this.#channel.send(JSON.stringify(packet));
    const key = keyOf(packet);
    if (this.#held.size >= this.#most && !this.#held.has(key)) return;
    this.#held.set(key, packet);
    this.#undoReady ??= this.#channel.onReady(() => this.#flush());
  }

  /** Its reply is on its way: progress would come too late. */
  over(reply: ReplyPacket): void {
    if (this.#held.size > 0) this.#held.delete(keyOf(reply));
  }

  close(): void {
    this.#held.clear();
    this.#undoReady?.();
    this.#undoReady = undefined;
  }

  #flush(): void {
    for (const [key, packet] of this.#held) {
      if (!this.#channel.ready) return;
      this.#held.delete(key);
      this.#channel.send(JSON.stringify(packet));
    }
  }
}

/** A trace may be shared by requests, and an id may be missing. */
const keyOf = ({ id, context }: ReplyPacket): string => JSON.stringify([id, context.trace_id]);
