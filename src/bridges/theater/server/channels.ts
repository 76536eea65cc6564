import type { Log } from "../../../core/contract/index.ts";
import { type Stage, type StageChannel, StageError } from "../stage.ts";
import { ChannelLine } from "./channel-line.ts";
import type { Client } from "./client.ts";
import { Counts } from "./counts.ts";

interface Open {
  readonly line: ChannelLine;
  readonly channel: StageChannel;
}

/** All open channels by id: a client may open one on one connection and use or close it on another. */
export class Channels {
  readonly #stage: Stage;
  readonly #counts: Counts;
  readonly #log: Log | undefined;
  readonly #open = new Map<string, Open>();

  constructor(stage: Stage, most: number, log: Log | undefined) {
    this.#stage = stage;
    this.#counts = new Counts(most, "channels open", "close one");
    this.#log = log;
  }

  /** Call `announced` once the answer has been sent; the actor's messages follow it. */
  async open(client: Client, actor: string, initial: Uint8Array): Promise<{ readonly id: string; readonly announced: () => void }> {
    this.#counts.enter(client);
    let id: string | undefined;
    const line = new ChannelLine(client, actor, () => {
      if (id !== undefined) this.#forget(id);
    });
    try {
      const channel = await this.#stage.open(actor, initial, line);
      ({ id } = channel);
      line.opened(id, channel.greeting);
      if (client.gone.aborted) await channel.close();
      if (line.over || client.gone.aborted) this.#counts.leave(client);
      else this.#open.set(id, { line, channel });
      return { id, announced: () => line.announced() };
    } catch (error) {
      this.#counts.leave(client);
      throw error;
    }
  }

  async send(id: string, message: Uint8Array): Promise<void> {
    await this.#known(id).channel.send(message);
  }

  /** Notifies the client that opened the channel, unless it closes it itself. */
  async close(id: string, by: Client): Promise<void> {
    const { line, channel } = this.#known(id);
    this.#forget(id);
    await channel.close();
    if (line.client !== by) line.client.push({ is: "ChannelClosed", channelId: id });
  }

  /** Closes the channels of a client that has disconnected. */
  async leave(client: Client): Promise<void> {
    const left = Array.from(this.#open).filter(([, { line }]) => line.client === client);
    for (const [id] of left) this.#forget(id);
    const closed = await Promise.allSettled(left.map(([, { channel }]) => channel.close()));
    if (closed.some(({ status }) => status === "rejected")) this.#log?.("warning", { event: "channel-close-failed", transport: "theater" });
  }

  #known(id: string): Open {
    const open = this.#open.get(id);
    if (open === undefined) throw new StageError("ChannelNotFound", "No such channel is open here: it was closed, or never opened.");
    return open;
  }

  #forget(id: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    this.#counts.leave(open.line.client);
  }
}
