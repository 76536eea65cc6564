import { StageError, type ChannelPeer, type StageChannel } from "../stage.ts";
import type { Push } from "../wire/index.ts";
import type { Dialer } from "./dialer.ts";
import type { Line } from "./line.ts";
import { LineError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { asStageError } from "./refusals.ts";

/** Messages buffered before the channel is known to be open. */
const MOST_EARLY = 1_000;

export interface ChannelEnds {
  /** Called once, whichever side ended the channel. */
  over(channel: RemoteChannel): void;
}

/** A channel has a connection of its own: its messages are pushed, and a slow actor delays nothing else. */
export class RemoteChannel implements StageChannel {
  readonly id: string;
  readonly actor: string;
  readonly #settings: Settings;
  readonly #line: Line;
  readonly #peer: ChannelPeer;
  readonly #ends: ChannelEnds;
  #why: string | undefined;

  private constructor(settings: Settings, line: Line, id: string, actor: string, peer: ChannelPeer, ends: ChannelEnds) {
    this.#settings = settings;
    this.#line = line;
    this.id = id;
    this.actor = actor;
    this.#peer = peer;
    this.#ends = ends;
  }

  /** Throws `StageError`. */
  static async open(
    settings: Settings,
    dialer: Dialer,
    actor: string,
    initial: Uint8Array,
    peer: ChannelPeer,
    ends: ChannelEnds,
  ): Promise<RemoteChannel> {
    const early: Push[] = [];
    let hear = (push: Push): void => void (early.length < MOST_EARLY && early.push(push));
    let broke: (() => void) | undefined;
    const line = await dialer.dial({ push: (push) => hear(push), ended: () => broke?.() });
    try {
      const command = { is: "OpenChannel", with: { actor }, initialMessage: initial } as const;
      const { channelId } = await line.ask(command, { limitMs: settings.limits.replyMs });
      const channel = new RemoteChannel(settings, line, channelId, actor, peer, ends);
      // Delivered only after the caller has the channel.
      setImmediate(() => {
        for (const push of early) channel.#hear(push);
        hear = (push) => channel.#hear(push);
        broke = () => channel.end(`The connection to ${settings.server} broke, and the channel with it: open another.`);
        if (line.over) broke();
      });
      return channel;
    } catch (error) {
      line.close();
      throw asStageError(error, "OpenChannel", settings);
    }
  }

  async send(data: Uint8Array): Promise<void> {
    if (this.#why !== undefined) throw new StageError("ChannelClosed", this.#why);
    try {
      await this.#line.ask({ is: "SendOnChannel", channelId: this.id, message: data }, { limitMs: this.#settings.limits.replyMs });
    } catch (error) {
      throw asStageError(error, "SendOnChannel", this.#settings);
    }
  }

  async close(): Promise<void> {
    if (this.#why !== undefined) return;
    this.#over("The channel was closed: open another.");
    try {
      await this.#line.ask({ is: "CloseChannel", channelId: this.id }, { limitMs: this.#settings.limits.replyMs });
    } catch (error) {
      // The channel ends with its connection, whatever the answer.
      if (!(error instanceof LineError) && !(error instanceof StageError)) throw error;
    } finally {
      this.#line.close();
    }
  }

  /** Ends the channel, unless its own `close` already did. */
  end(why: string): void {
    if (this.#why !== undefined) return;
    this.#over(why);
    this.#line.closeAfterwards();
    this.#told(() => this.#peer.closed(why));
  }

  #over(why: string): void {
    this.#why = why;
    this.#ends.over(this);
  }

  #hear(push: Push): void {
    if (this.#why !== undefined) return;
    if (push.is === "ChannelMessage" && push.channelId === this.id) {
      if (push.from !== "external") this.#told(() => this.#peer.message(push.message));
    } else if (push.is === "ChannelClosed" && push.channelId === this.id) {
      this.end("The actor closed the channel: open another.");
    }
  }

  #told(tell: () => void): void {
    try {
      tell();
    } catch {
      this.#settings.log("error", { event: "theater-listener-failed", actor: this.actor, what: "channel" });
    }
  }
}
