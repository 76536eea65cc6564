import type { Caller, Channel } from "../../core/contract/index.ts";
import { PacketError } from "./packet-error.ts";
import type { PacketFlow, PacketSession } from "./packet-flow.ts";
import { ProgressOutlet } from "./progress-outlet.ts";
import { refuseFrame } from "./refused-frame.ts";

export interface UnderWayOptions {
  readonly flow: Pick<PacketFlow, "open">;
  readonly channel: Channel;
  readonly caller: Caller;
  /** Of how many requests progress is held for a client that does not read. */
  readonly held: number;
  /** Runs each time a packet has been answered. */
  readonly onAnswered: () => void;
}

/** Packets of one client that run: each is answered on the channel as soon as it is ready, its progress before it. */
export class UnderWay {
  readonly #channel: Channel;
  readonly #session: PacketSession;
  readonly #progress: ProgressOutlet;
  readonly #onAnswered: () => void;
  #count = 0;
  #untaken = 0;
  #closed: Promise<void> | undefined;

  constructor({ flow, channel, caller, held, onAnswered }: UnderWayOptions) {
    this.#channel = channel;
    this.#progress = new ProgressOutlet(channel, held);
    this.#onAnswered = onAnswered;
    this.#session = flow.open({ caller, tell: (packet) => this.#progress.tell(packet) });
  }

  get count(): number {
    return this.#count;
  }

  /** Replies the client has not read yet. */
  get untaken(): number {
    // Counted when sent: a channel that gathers what it writes says only later that it is not ready.
    if (this.#channel.ready) this.#untaken = 0;
    return this.#untaken;
  }

  begin(frame: Uint8Array | string): void {
    this.#count += 1;
    void this.#run(frame);
  }

  /** What still runs is cancelled. Settles when it has ended. */
  close(): Promise<void> {
    this.#progress.close();
    return (this.#closed ??= this.#session.close());
  }

  async #run(frame: Uint8Array | string): Promise<void> {
    try {
      const reply = await this.#session.receive(frame);
      this.#progress.over(reply);
      this.#channel.send(JSON.stringify(reply));
    } catch (cause) {
      this.#channel.send(
        refuseFrame(frame, new PacketError("execution_failed", "Something failed inside the server; its log says what.", {}, { cause })),
      );
    } finally {
      this.#count -= 1;
      this.#untaken += 1;
      this.#onAnswered();
    }
  }
}
