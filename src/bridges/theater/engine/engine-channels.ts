// Owns: channels between guests and outside callers. Does not own: how a viewer or client holds them (mcp/viewer-channels.ts,
// server/client-channels.ts).
import { type ActorId, type Change, type Engine, EngineError, type Entropy, isJsonObject } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type ChannelPeer, type StageChannel, StageError } from "../stage.ts";
import { bytesIn, fromBase64, toBase64 } from "./messages.ts";
import { guestReply, replyValue, withStageErrors } from "./stage-errors.ts";

interface OpenChannel {
  readonly actor: ActorId;
  readonly peer: ChannelPeer;
  readonly unwatch: () => void;
}

const CLOSE_REASON = "closed by its other end";

/** Channels between guests and outside callers. They live as long as this process. */
export class EngineChannels {
  readonly #open = new Map<string, OpenChannel>();
  readonly #engine: Engine;
  readonly #entropy: Entropy;
  readonly #host: string;

  /** `host` names this process in the channels that guests store. */
  constructor(engine: Engine, entropy: Entropy, host: string) {
    this.#engine = engine;
    this.#entropy = entropy;
    this.#host = host;
  }

  /** Throws `ChannelRejected` if the guest does not accept. */
  async open(actor: ActorId, initial: Uint8Array, peer: ChannelPeer): Promise<StageChannel> {
    const id = `ch_${this.#entropy.hex(8)}`;
    const channel: OpenChannel = { actor, peer, unwatch: this.#engine.watch(actor, (change) => this.#onChange(id, change)) };
    // Registered first, since the guest may send on the channel while it accepts it.
    this.#open.set(id, channel);
    try {
      const args = { channel: id, data: toBase64(initial), end: { host: this.#host } };
      const answer = guestReply(await this.#engine.call({ to: actor, action: "channel-open", args }));
      const greeting = bytesIn(answer);
      if (answer["accepted"] !== true) {
        const why = greeting === undefined ? "" : ` It says: ${new TextDecoder().decode(greeting.subarray(0, 500))}`;
        throw new StageError("ChannelRejected", `The actor did not accept the channel.${why}`);
      }
      if (!this.#open.has(id)) throw channelEnded(id);
      return {
        id,
        ...omitUndefined({ greeting }),
        send: (data) => withStageErrors(() => this.#send(id, data)),
        close: () => withStageErrors(() => this.#close(id)),
      };
    } catch (error) {
      this.#remove(id);
      throw error;
    }
  }

  /** Uses sends, since a guest may be busy for longer than a shutdown waits. If need be, the next process delivers them. */
  async closeAll(): Promise<void> {
    const closed = [...this.#open].map(([channel, { actor }]) => {
      this.#remove(channel);
      return this.#engine.send({ to: actor, action: "channel-close", args: { channel, why: CLOSE_REASON } });
    });
    await Promise.allSettled(closed);
  }

  async #send(id: string, data: Uint8Array): Promise<void> {
    const channel = this.#open.get(id);
    if (channel === undefined) throw channelEnded(id);
    const args = { channel: id, data: toBase64(data) };
    guestReply(await this.#engine.call({ to: channel.actor, action: "channel-message", args }));
  }

  async #close(id: string): Promise<void> {
    const channel = this.#remove(id);
    if (channel === undefined) return;
    const message = { to: channel.actor, action: "channel-close", args: { channel: id, why: CLOSE_REASON } };
    try {
      replyValue(await this.#engine.call(message));
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== "MAILBOX_FULL") throw error;
      // A send waits for room in the mailbox. Without the close, the guest would have the channel until the process ends.
      await this.#engine.send(message);
    }
  }

  #remove(id: string): OpenChannel | undefined {
    const channel = this.#open.get(id);
    this.#open.delete(id);
    channel?.unwatch();
    return channel;
  }

  #onChange(id: string, { status, emit }: Change): void {
    const channel = this.#open.get(id);
    if (channel === undefined) return;
    for (const line of emit ?? []) {
      const { channel: of, data, closed } = isJsonObject(line) ? line : {};
      if (of !== id) continue;
      if (typeof data === "string") channel.peer.message(fromBase64(data));
      if (typeof closed === "string") {
        this.#remove(id);
        channel.peer.closed(closed);
        return;
      }
    }
    if (status !== "stopped") return;
    this.#remove(id);
    channel.peer.closed("the actor has stopped");
  }
}

const channelEnded = (id: string): StageError => new StageError("ChannelClosed", `The channel ${id} has ended: open another.`);
