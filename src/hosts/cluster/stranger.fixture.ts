import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, createServer, type ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import { systemEntropy } from "../../core/contract/index.ts";
import { SECRET } from "./nodes.fixture.ts";
import { type Greeting, peersKey, proofOf } from "./handshake.ts";
import { onLoopback } from "../../../test/on-loopback.ts";

/** Lines of JSON on a stream, as they arrive; written by hand. */
export class Lines {
  readonly stream: Duplex;
  readonly #waiting: unknown[] = [];
  #text = "";
  ended = false;

  constructor(stream: Duplex) {
    this.stream = stream;
    stream.on("data", (chunk: Buffer) => {
      const parts = (this.#text + chunk.toString()).split("\n");
      this.#text = parts.pop() ?? "";
      this.#waiting.push(...parts.map((line): unknown => JSON.parse(line)));
      stream.emit("line");
    });
    stream.on("error", () => undefined);
    stream.once("close", () => {
      this.ended = true;
      stream.emit("line");
    });
  }

  /** The next member of that name, skipping lines without it. Undefined if the stream has ended. */
  async next(name: string): Promise<unknown> {
    for (;;) {
      while (this.#waiting.length > 0) {
        const line = this.#waiting.shift();
        if (typeof line === "object" && line !== null && name in line) return new Map<string, unknown>(Object.entries(line)).get(name);
      }
      if (this.ended) return undefined;
      await once(this.stream, "line");
    }
  }

  write(frame: unknown): void {
    this.stream.write(`${typeof frame === "string" ? frame : JSON.stringify(frame)}\n`);
  }
}

export interface Stranger {
  readonly lines: Lines;
  readonly session: ClientHttp2Session;
  readonly stream: ClientHttp2Stream;
  readonly greeting: Greeting;
  /** Of the answer; 0 if there is none. */
  readonly status: Promise<number>;
}

/** A client that speaks the protocol by hand, and has sent nothing yet. */
export function stranger(t: TestContext, url: string, to: string, from = systemEntropy.hex(8)): Stranger {
  const session = connect(url);
  session.on("error", () => undefined);
  t.after(() => session.destroy());
  const stream = session.request({ ":method": "POST", ":path": "/troupe/peers" }, { endStream: false });
  const status = new Promise<number>((resolve) => {
    stream.once("response", (headers) => resolve(headers[":status"] ?? 0));
    stream.once("close", () => resolve(0));
  });
  const greeting = { from, to, url: "http://127.0.0.1:9", nonce: systemEntropy.hex(32) };
  return { lines: new Lines(stream), session, stream, greeting, status };
}

/** Greets like a node, with the given secret. */
export async function greet({ lines, greeting }: Stranger, secret: Uint8Array = SECRET, number = 0): Promise<void> {
  lines.write(greeting);
  const nonce = await lines.next("nonce");
  lines.write({ proof: proofOf(peersKey(secret), "caller", greeting, String(nonce)), n: number });
}

/** A server that answers a greeting like a node of that name, and then runs `then`. */
export async function acceptor(
  t: TestContext,
  self: string,
  then: (stream: ServerHttp2Stream) => void,
  secret: Uint8Array = SECRET,
): Promise<string> {
  const server = createServer();
  server.on("session", (session) => t.after(() => session.destroy()));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    let text = "";
    let greeted = false;
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        if (greeted) {
          stream.off("data", read);
          stream.pause();
          stream.write('{"type":"beat"}\n');
          then(stream);
          return;
        }
        greeted = true;
        const greeting: Greeting = JSON.parse(line);
        const nonce = systemEntropy.hex(32);
        stream.respond({ ":status": 200 });
        stream.write(`${JSON.stringify({ nonce, proof: proofOf(peersKey(secret), "acceptor", { ...greeting, to: self }, nonce) })}\n`);
      }
    };
    stream.on("data", read);
  });
  const loopback = await onLoopback(server);
  t.after(() => loopback[Symbol.asyncDispose]());
  return loopback.url;
}
