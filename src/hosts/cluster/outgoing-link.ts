// Owns: the stream to one other node: connecting, reconnecting, numbered messages and asks. Does not own: proofs (handshake.ts),
// framing (peer-stream.ts).
//
// It is HTTP/2 in cleartext with prior knowledge: it shares a port with other HTTP/2 services, has streams that both sides can write
// indefinitely, and has flow control. HTTP/1.1 servers end a request whose body lasts. Each node opens one session with one stream to
// each other node: with two streams per pair, nodes need not agree which one stays, and no other traffic can use up the window of a
// session.
import { connect } from "node:http2";
import type { JsonObject, Member, Json } from "../../core/contract/index.ts";
import type { Settings } from "./cluster-options.ts";
import { type Greeting, isNonce, proofOf, sameProof } from "./handshake.ts";
import { PeerStream, countIn } from "./peer-stream.ts";

export const PEERS_PREFIX = "/troupe/";
export const PEERS_PATH = "/troupe/peers";

interface ConnectionEvents {
  /** The number of the last message. */
  lastNumber(): number;
  /** The other side admitted this node. */
  up(wire: PeerStream): void;
  frame(frame: JsonObject): void;
  /** Called once, whether `up` was called or not. */
  down(why: string): void;
}

/** A stream to another node. `close` settles when its session is closed. */
export interface Connection {
  close(): Promise<void>;
}

/** Connects and runs the handshake. */
function connectTo(settings: Settings, to: Member, events: ConnectionEvents): Connection {
  const { clock, limits, self, url, key, entropy } = settings;
  const session = connect(to.url, { settings: { enablePush: false } });
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  session.once("close", onClosed);
  const stream = session.request({ ":method": "POST", ":path": PEERS_PATH, "content-type": "application/x-ndjson" }, { endStream: false });
  const greeting: Greeting = { from: self, to: to.node, url, nonce: entropy.hex(32) };
  let over = false;
  let receive = (frame: JsonObject): void => {
    const { nonce, proof } = frame;
    if (!isNonce(nonce) || !sameProof(proofOf(key, "acceptor", greeting, nonce), proof)) return wire.close("bad-proof");
    wire.send(JSON.stringify({ proof: proofOf(key, "caller", greeting, nonce), n: events.lastNumber() }));
    wire.trust();
    // Ready with its first frame, not before: the other side may have too many nodes.
    receive = (first) => {
      undo();
      receive = (later) => events.frame(later);
      events.up(wire);
      events.frame(first);
    };
  };
  const end = (why: string): void => {
    if (over) return;
    over = true;
    undo();
    session.destroy();
    events.down(why);
  };
  const wire = new PeerStream({
    stream,
    frameBytes: limits.frameBytes,
    queueBytes: limits.queueBytes,
    receive: (frame) => receive(frame),
    closed: end,
  });
  const undo = clock.after(limits.greetMs, () => wire.close("slow-greeting"));
  stream.once("response", ({ ":status": status }) => {
    if (status !== 200) wire.close(`status-${status ?? "none"}`);
  });
  session.on("error", (error: NodeJS.ErrnoException) => wire.close(error.code ?? error.name));
  session.once("close", () => wire.close("ended"));
  wire.send(JSON.stringify(greeting));
  return {
    close() {
      wire.close("left");
      return closed;
    },
  };
}

interface PendingAsk {
  readonly settle: (answer: Json | undefined) => void;
  /** Sent once the stream is ready. */
  readonly text: string;
}

/** What this node sends to another: numbered messages, asks and their answers, over a stream that is reopened when it breaks. */
export class OutgoingLink {
  /** How many messages were sent, and how many of those never left. */
  sent = 0;
  dropped = 0;
  readonly #settings: Settings;
  readonly #to: Member;
  readonly #pending = new Map<number, PendingAsk>();
  #asks = 0;
  #waitingBytes = 0;
  #connection: Connection | undefined;
  #wire: PeerStream | undefined;
  #tries = 0;
  #undoRetry: (() => void) | undefined;
  #closed = false;
  #reported = false;

  constructor(settings: Settings, to: Member) {
    this.#settings = settings;
    this.#to = to;
    this.#connect();
  }

  get up(): boolean {
    return this.#wire !== undefined;
  }

  /** Counts a `note` that is undefined, since it cannot be sent: the other side notices the gap. */
  tell(note: string | undefined): void {
    this.sent += 1;
    if (note !== undefined && this.#wire?.send(`{"type":"tell","n":${this.sent},${note}}`) === true) return;
    this.dropped += 1;
  }

  beat(): void {
    this.#wire?.beat(`{"type":"beat","n":${this.sent}}`);
  }

  ask(note: string): Promise<Json | undefined> {
    const { limits, clock } = this.#settings;
    const waits = this.#wire === undefined;
    if (waits && (this.#connection === undefined || this.#waitingBytes + note.length > limits.queueBytes))
      return Promise.resolve(undefined);
    if (this.#pending.size >= limits.asks) return Promise.resolve(undefined);
    const id = (this.#asks += 1);
    const text = `{"type":"ask","id":${id},${note}}`;
    if (waits) this.#waitingBytes += note.length;
    return new Promise((resolve) => {
      const settle = (answer: Json | undefined): void => {
        undo();
        this.#pending.delete(id);
        resolve(answer);
      };
      const undo = clock.after(limits.askMs, () => settle(undefined));
      this.#pending.set(id, { settle, text: waits ? text : "" });
      if (this.#wire !== undefined && !this.#wire.send(text)) settle(undefined);
    });
  }

  /** The other node is alive: reconnect now. */
  retryNow(): void {
    if (this.#undoRetry === undefined) return;
    this.#tries = 0;
    this.#connect();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#undoRetry?.();
    this.#undoRetry = undefined;
    const dialled = this.#connection;
    await dialled?.close();
  }

  #connect(): void {
    this.#undoRetry?.();
    this.#undoRetry = undefined;
    this.#connection = connectTo(this.#settings, this.#to, {
      lastNumber: () => this.sent,
      up: (wire) => this.#cameUp(wire),
      frame: (frame) => this.#onFrame(frame),
      down: (why) => this.#wentDown(why),
    });
  }

  #cameUp(wire: PeerStream): void {
    this.#wire = wire;
    this.#tries = 0;
    this.#reported = false;
    this.#waitingBytes = 0;
    this.#settings.log("info", { event: "peer-reached", node: this.#to.node });
    for (const { text, settle } of this.#pending.values()) if (!wire.send(text)) settle(undefined);
  }

  #wentDown(why: string): void {
    const { clock, limits, entropy, log } = this.#settings;
    this.#wire = undefined;
    this.#connection = undefined;
    this.#waitingBytes = 0;
    for (const { settle } of this.#pending.values()) settle(undefined);
    if (this.#closed) return;
    // Log once per outage: a node that never returns is retried until it is removed.
    if (!this.#reported) log("warning", { event: "peer-unreachable", node: this.#to.node, why });
    this.#reported = true;
    const full = Math.min(limits.retryMs * 2 ** Math.min(this.#tries, 30), limits.retryMaxMs);
    this.#tries += 1;
    // Between half of it and all of it, so that nodes that lost each other at once do not reconnect at once.
    const wait = (full * (256 + Number.parseInt(entropy.hex(1), 16))) / 512;
    this.#undoRetry = clock.after(wait, () => this.#connect());
  }

  #onFrame(frame: JsonObject): void {
    if (frame["type"] !== "answer") return;
    const id = countIn(frame, "id");
    if (id !== undefined) this.#pending.get(id)?.settle(frame["message"]);
  }
}
