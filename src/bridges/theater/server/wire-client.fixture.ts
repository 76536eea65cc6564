import { connect, type Socket } from "node:net";
import { systemClock } from "../../../core/contract/index.ts";
import { until } from "../../../testing/index.ts";
import { type Codec, WIRE_LIMITS, WireReader, WireWriter } from "../wire/codec.ts";
import { toJson } from "../wire/fields.ts";
import type { Printable } from "../wire/wire-json.ts";

/** A client that says what it is told to and keeps what it hears, as JSON. */
export class WireClient {
  readonly heard: unknown[] = [];
  readonly socket: Socket;
  readonly #codec: Codec;
  readonly #writer = new WireWriter(WIRE_LIMITS);
  #taken = 0;
  #closed = false;

  constructor(url: string, codec: Codec) {
    this.#codec = codec;
    const { hostname, port, pathname, protocol } = new URL(url);
    this.socket = protocol === "unix:" ? connect({ path: pathname }) : connect({ host: hostname, port: Number(port) });
    const reader = new WireReader(WIRE_LIMITS, systemClock, codec);
    this.socket.on("data", (chunk: Buffer) =>
      reader.push(chunk, (message) => this.heard.push(message instanceof Error ? message : toJson(message))),
    );
    this.socket.on("error", () => {});
    this.socket.on("close", () => (this.#closed = true));
  }

  get closed(): boolean {
    return this.#closed;
  }

  say(command: Printable): void {
    for (const frame of this.#writer.frames(command, this.#codec)) this.socket.write(frame);
  }

  raw(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The next message that came, waiting for it. */
  async next(): Promise<unknown> {
    const at = this.#taken;
    await until(`message ${at}`, () => this.heard.length > at);
    this.#taken += 1;
    return this.heard[at];
  }

  /** Says it and gives the next message. */
  async ask(command: Printable): Promise<unknown> {
    this.say(command);
    return this.next();
  }

  end(): void {
    this.socket.end();
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
