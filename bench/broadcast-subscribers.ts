// Subscribers of broadcast.ts in a process of their own, each on its own connection. They share one buffer and parse nothing, so that they cost little.
import { connect, type Socket } from "node:net";
import { bench } from "./idle-requests.ts";

const AT_ONCE = 64;
const buffer = Buffer.allocUnsafe(65_536);
const NOTICE = Buffer.from("list_changed");

let id = 0;
const nextId = (): number => (id = (id % 9) + 1);

/** The requests of each kind of subscriber, and the beginning of its stream. */
const KINDS = {
  get: {
    requests: [
      (port: number): string => bench.initialize(port),
      (port: number, session: string): string => bench.initialized(port, session),
      (port: number, session: string): string => bench.get(port, session),
    ],
    begins: "\n\n",
  },
  // Request ids have one digit, so that all requests have the same length.
  listen: { requests: [(port: number): string => bench.listen(port).replace('"id":1', () => `"id":${nextId()}`)], begins: "acknowledged" },
} as const;

type Kind = keyof typeof KINDS;
const isKind = (kind: unknown): kind is Kind => kind === "get" || kind === "listen";

/** The current change: how many subscribers have not received it. */
const change = { pending: 0, done: (): void => undefined };
let frame = "";

class Subscriber {
  readonly socket: Socket;
  notified = 0;
  mute = false;
  #requestsSent = 0;
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
    this.socket.on("connect", () => this.#sendRequest());
    this.socket.on("error", failed);
    this.socket.on("close", () => failed(new Error(`A stream ended: ${this.#text.slice(0, 300)}`)));
  }

  #sendRequest(): void {
    this.#text = "";
    const request = KINDS[this.#kind].requests[this.#requestsSent];
    this.#requestsSent += 1;
    if (request !== undefined) this.socket.write(request(this.#port, this.#session));
  }

  #read(length: number): boolean {
    if (this.#requestsSent > KINDS[this.#kind].requests.length) this.#listen(length);
    else this.#begin(buffer.toString("latin1", 0, length));
    return !this.mute;
  }

  #listen(length: number): void {
    const part = buffer.subarray(0, length);
    let at = part.indexOf(NOTICE);
    if (at < 0) return;
    if (this.notified === 0) {
      change.pending -= 1;
      frame = buffer.toString("latin1", 0, length);
    }
    for (; at >= 0; at = part.indexOf(NOTICE, at + 1)) this.notified += 1;
    if (change.pending === 0) change.done();
  }

  #begin(piece: string): void {
    this.#text += piece;
    const { requests, begins } = KINDS[this.#kind];
    const end = this.#text.indexOf("\r\n\r\n");
    if (end < 0) return;
    if (this.#requestsSent === requests.length) {
      if (!this.#text.includes(begins, end)) return;
      this.#requestsSent += 1;
      this.#text = "";
      this.#open();
      return;
    }
    const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1] ?? 0);
    if (this.#text.length < end + 4 + length) return;
    this.#session = /mcp-session-id: (\S+)/i.exec(this.#text)?.[1] ?? this.#session;
    this.#sendRequest();
  }
}

const subscribers: Subscriber[] = [];

const acts: Readonly<Record<string, (given: Given) => Promise<object>>> = {
  async open({ port, count, kind }) {
    let opened = 0;
    const next = async (): Promise<void> => {
      while (opened < count) {
        opened += 1;
        await new Promise<void>((resolve, reject) => subscribers.push(new Subscriber(port, kind, resolve, reject)));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    return {};
  },
  /** Resolves when the last subscriber has received the next change. */
  async "await change"() {
    const mute = subscribers.filter((subscriber) => subscriber.mute).length;
    for (const subscriber of subscribers) subscriber.notified = 0;
    change.pending = subscribers.length - mute;
    const at = new Promise<number>((resolve) => {
      change.done = () => resolve(Number(process.hrtime.bigint()));
    });
    process.send?.({ ready: true });
    return { at: await at, frame };
  },
  /** The highest and lowest number of notifications of the last change, among subscribers that read. */
  async "notification counts"() {
    const counts = subscribers.filter((subscriber) => !subscriber.mute).map((subscriber) => subscriber.notified);
    return { most: Math.max(...counts), least: Math.min(...counts) };
  },
  /** From now on, every second subscriber does not read. */
  async half() {
    for (const [at, subscriber] of subscribers.entries()) {
      subscriber.mute = at % 2 === 0;
      if (subscriber.mute) subscriber.socket.pause();
    }
    return {};
  },
  async leave() {
    for (const { socket } of subscribers.splice(0)) socket.removeAllListeners("close").destroy();
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
