// Listeners in a process of their own, each on its own connection. To hear costs them little: one buffer for all, and nothing is parsed.
import { connect, type Socket } from "node:net";
import { bench } from "./idle-requests.ts";

const AT_ONCE = 64;
const buffer = Buffer.allocUnsafe(65_536);
const NOTICE = Buffer.from("list_changed");

let id = 0;
const nextId = (): number => (id = (id % 9) + 1);

/** What each kind of listener sends, one after the other, and what its stream begins with. */
const KINDS = {
  get: {
    asks: [
      (port: number): string => bench.initialize(port),
      (port: number, session: string): string => bench.initialized(port, session),
      (port: number, session: string): string => bench.get(port, session),
    ],
    begins: "\n\n",
  },
  // Clients count their requests: of one digit, so that all requests are of one length.
  listen: { asks: [(port: number): string => bench.listen(port).replace('"id":1', () => `"id":${nextId()}`)], begins: "acknowledged" },
} as const;

type Kind = keyof typeof KINDS;
const isKind = (kind: unknown): kind is Kind => kind === "get" || kind === "listen";

/** Of the change that is under way. */
const change = { left: 0, done: (): void => undefined };
let frame = "";

class Listener {
  readonly socket: Socket;
  heard = 0;
  mute = false;
  #asked = 0;
  #text = "";
  #session = "";
  readonly #port: number;
  readonly #kind: Kind;
  readonly #open: () => void;

  constructor(port: number, kind: Kind, open: () => void, failed: (error: Error) => void) {
    this.#port = port;
    this.#kind = kind;
    this.#open = open;
    this.socket = connect({ port, host: "127.0.0.1", onread: { buffer, callback: (length) => this.#read(length) } });
    this.socket.setNoDelay(true);
    this.socket.on("connect", () => this.#ask());
    this.socket.on("error", failed);
    this.socket.on("close", () => failed(new Error(`A stream ended: ${this.#text.slice(0, 300)}`)));
  }

  #ask(): void {
    this.#text = "";
    const ask = KINDS[this.#kind].asks[this.#asked];
    this.#asked += 1;
    if (ask !== undefined) this.socket.write(ask(this.#port, this.#session));
  }

  #read(length: number): boolean {
    if (this.#asked > KINDS[this.#kind].asks.length) this.#listen(length);
    else this.#begin(buffer.toString("latin1", 0, length));
    return !this.mute;
  }

  #listen(length: number): void {
    const part = buffer.subarray(0, length);
    let at = part.indexOf(NOTICE);
    if (at < 0) return;
    if (this.heard === 0) {
      change.left -= 1;
      frame = buffer.toString("latin1", 0, length);
    }
    for (; at >= 0; at = part.indexOf(NOTICE, at + 1)) this.heard += 1;
    if (change.left === 0) change.done();
  }

  #begin(piece: string): void {
    this.#text += piece;
    const { asks, begins } = KINDS[this.#kind];
    const end = this.#text.indexOf("\r\n\r\n");
    if (end < 0) return;
    if (this.#asked === asks.length) {
      if (!this.#text.includes(begins, end)) return;
      this.#asked += 1;
      this.#text = "";
      this.#open();
      return;
    }
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1] ?? 0);
    if (this.#text.length < end + 4 + length) return;
    this.#session = /mcp-session-id: (\S+)/i.exec(this.#text)?.[1] ?? this.#session;
    this.#ask();
  }
}

const listeners: Listener[] = [];

const acts: Readonly<Record<string, (given: Given) => Promise<object>>> = {
  async open({ port, count, kind }) {
    let opened = 0;
    const next = async (): Promise<void> => {
      while (opened < count) {
        opened += 1;
        await new Promise<void>((resolve, reject) => listeners.push(new Listener(port, kind, resolve, reject)));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    return {};
  },
  /** Settles at the last listener's first byte of the next change. */
  async hear() {
    const mute = listeners.filter((listener) => listener.mute).length;
    for (const listener of listeners) listener.heard = 0;
    change.left = listeners.length - mute;
    const at = new Promise<number>((resolve) => {
      change.done = () => resolve(Number(process.hrtime.bigint()));
    });
    process.send?.({ ready: true });
    return { at: await at, frame };
  },
  /** The most and the least that any who reads was told of the last change. */
  async told() {
    const heard = listeners.filter((listener) => !listener.mute).map((listener) => listener.heard);
    return { most: Math.max(...heard), least: Math.min(...heard) };
  },
  /** Every other reads nothing from now on. */
  async half() {
    for (const [at, listener] of listeners.entries()) {
      listener.mute = at % 2 === 0;
      if (listener.mute) listener.socket.pause();
    }
    return {};
  },
  async leave() {
    for (const { socket } of listeners.splice(0)) socket.removeAllListeners("close").destroy();
    return {};
  },
};

interface Given {
  readonly port: number;
  readonly count: number;
  readonly kind: Kind;
}

process.on("message", (message: unknown) => {
  const { act, port, count, kind } = Object(message);
  acts[String(act)]?.({ port: Number(port), count: Number(count), kind: isKind(kind) ? kind : "get" }).then(
    (answer) => process.send?.({ answer }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
