import { connect, type Socket } from "node:net";
import { systemClock } from "../../../core/contract/index.ts";
import { until } from "../../../testing/index.ts";
import { type Codec, WIRE_LIMITS, WireReader, WireWriter } from "../wire/codec.ts";
import { toJson } from "../wire/fields.ts";
import type { Printable } from "../wire/wire-json.ts";

/** A client that sends given commands and records what it receives, as JSON. */
export class WireClient {
  readonly received: unknown[] = [];
  readonly socket: Socket;
  readonly #codec: Codec;
  readonly #writer = new WireWriter(WIRE_LIMITS);
  #readCount = 0;
  #closed = false;

  constructor(url: string, codec: Codec) {
    this.#codec = codec;
    const { hostname, port, pathname, protocol } = new URL(url);
    this.socket = protocol === "unix:" ? connect({ path: pathname }) : connect({ host: hostname, port: Number(port) });
    const reader = new WireReader(WIRE_LIMITS, systemClock, codec);
    this.socket.on("data", (chunk: Buffer) =>
      reader.push(chunk, (message) => this.received.push(message instanceof Error ? message : toJson(message))),
    );
    this.socket.on("error", () => {});
    this.socket.on("close", () => (this.#closed = true));
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(command: Printable): void {
    for (const frame of this.#writer.frames(command, this.#codec)) this.socket.write(frame);
  }

  sendRaw(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Waits for the next message. */
  async next(): Promise<unknown> {
    const at = this.#readCount;
    await until(`message ${at}`, () => this.received.length > at);
    this.#readCount += 1;
    return this.received[at];
  }

  /** Sends a command and waits for the next message. */
  async request(command: Printable): Promise<unknown> {
    this.send(command);
    return this.next();
  }

  end(): void {
    this.socket.end();
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
