// Owns: streams that other nodes open: their handshake, messages, asks and heartbeats. Does not own: proofs (handshake.ts), what
// listeners do (cluster-node.ts).
import type { Http2Session, ServerHttp2Stream, Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { JsonObject, Json } from "../../core/contract/index.ts";
import { countIn, noteIn, noteText, PeerStream } from "./peer-stream.ts";
import { isNodeName, type Settings, peerUrl } from "./cluster-options.ts";
import { type Greeting, isNonce, proofOf, sameProof } from "./handshake.ts";
import { PEERS_PATH, PEERS_PREFIX } from "./outgoing-link.ts";

const BEAT = '{"type":"beat"}';

export interface IncomingEvents {
  /** The other side has proved that it knows the secret. Returns false if there are too many nodes. */
  admitted(link: IncomingLink): boolean;
  gap(): void;
  deliver(topic: string, message: Json, from: string): Promise<Json | undefined>;
  closed(link: IncomingLink, why: string): void;
}

/** A stream that another node opened: its messages and asks arrive, answers are sent. */
export class IncomingLink {
  readonly session: Http2Session | undefined;
  /** True if the other side is a node of this cluster. */
  admitted = false;
  #from = "";
  #url = "";
  /** Number of the last message. The first one comes with the greeting: what was sent before that is a gap by itself. */
  #lastNumber = 0;
  #answering = 0;
  #receive: (frame: JsonObject) => void = (frame) => this.#onGreeting(frame);
  #undo: () => void;
  readonly #settings: Settings;
  readonly #stream: ServerHttp2Stream;
  readonly #events: IncomingEvents;
  readonly #wire: PeerStream;

  constructor(settings: Settings, stream: ServerHttp2Stream, events: IncomingEvents) {
    this.#settings = settings;
    this.#stream = stream;
    // A stream loses its session before it is closed.
    this.session = stream.session;
    this.#events = events;
    const { limits, clock } = settings;
    this.#undo = clock.after(limits.greetMs, () => this.close("slow-greeting"));
    this.#wire = new PeerStream({
      stream,
      frameBytes: limits.frameBytes,
      queueBytes: limits.queueBytes,
      receive: (frame) => this.#receive(frame),
      closed: (why) => this.#onClosed(why),
    });
  }

  /** Empty until `admitted`. */
  get from(): string {
    return this.#from;
  }

  get url(): string {
    return this.#url;
  }

  beat(): void {
    if (this.admitted) this.#wire.beat(BEAT);
  }

  close(why: string): void {
    this.#wire.close(why);
  }

  #onGreeting({ from, to, url: given, nonce }: JsonObject): void {
    // Data that arrived before a reset is still read after it.
    if (this.#stream.closed || this.#stream.destroyed) return this.close("ended");
    const { self, key, entropy } = this.#settings;
    const url = peerUrl(given);
    if (!isNodeName(from) || from === self || !isNodeName(to) || url === undefined || url !== given || !isNonce(nonce)) {
      return this.#refuse(400, "bad-greeting");
    }
    // Another node has this address now. Say so before any proof is sent.
    if (to !== self) return this.#refuse(421, "not-me");
    const greeting: Greeting = { from, to, url, nonce };
    const own = entropy.hex(32);
    const expected = proofOf(key, "caller", greeting, own);
    this.#receive = (frame) => {
      const number = countIn(frame, "n");
      if (number === undefined || !sameProof(expected, frame["proof"])) return this.close("bad-proof");
      this.#lastNumber = number;
      this.#admit(greeting);
    };
    this.#stream.respond({ ":status": 200, "content-type": "application/x-ndjson" });
    this.#wire.send(JSON.stringify({ nonce: own, proof: proofOf(key, "acceptor", greeting, own) }));
  }

  #refuse(status: number, why: string): void {
    // Closed, not destroyed, so that the status is still sent.
    this.#wire.close(why, () => {
      this.#stream.respond({ ":status": status }, { endStream: true });
      this.#stream.close();
    });
  }

  #admit({ from, url }: Greeting): void {
    this.#undo();
    this.#from = from;
    this.#url = url;
    if (!this.#events.admitted(this)) return this.close("too-many");
    this.admitted = true;
    this.#wire.trust();
    this.#receive = (frame) => this.#onFrame(frame);
    this.#wire.send(BEAT);
  }

  #onFrame(frame: JsonObject): void {
    switch (frame["type"]) {
      case "tell":
      case "beat": {
        const number = countIn(frame, "n");
        const note = frame["type"] === "tell" ? noteIn(frame) : undefined;
        if (number === undefined || (frame["type"] === "tell" && note === undefined)) return this.close("bad-frame");
        if (number !== this.#lastNumber + (note === undefined ? 0 : 1)) this.#events.gap();
        this.#lastNumber = number;
        if (note !== undefined) void this.#events.deliver(note.topic, note.message, this.#from);
        return;
      }
      case "ask": {
        const id = countIn(frame, "id");
        const note = noteIn(frame);
        if (id === undefined || note === undefined) return this.close("bad-frame");
        return this.#answer(id, note.topic, note.message);
      }
      // A newer node may send other types: ignore them.
      default:
    }
  }

  #answer(id: number, topic: string, message: Json): void {
    const { limits, clock } = this.#settings;
    if (this.#answering >= limits.asks) return void this.#wire.send(`{"type":"answer","id":${id}}`);
    this.#answering += 1;
    let waiting = true;
    // The asking node does not wait longer, so a listener that never settles must not count any more.
    const leave = (): void => {
      if (waiting) this.#answering -= 1;
      waiting = false;
      undo();
    };
    const undo = clock.after(limits.askMs, leave);
    const reply = async (): Promise<void> => {
      const answer = await this.#events.deliver(topic, message, this.#from);
      if (!waiting) return;
      leave();
      const text = answer === undefined ? undefined : noteText(undefined, answer, limits.frameBytes);
      this.#wire.send(`{"type":"answer","id":${id}${text === undefined ? "" : `,${text}`}}`);
    };
    void reply();
  }

  #onClosed(why: string): void {
    this.#undo();
    // The session carries only this stream; left open, a half-open connection would remain.
    if (this.admitted) this.session?.destroy();
    this.#events.closed(this, why);
  }
}

/** Accepts streams of other nodes. They are strangers until they have proved that they know the secret. */
export class NodeListener {
  readonly #settings: Settings;
  readonly #events: IncomingEvents;
  readonly #strangers = new Set<IncomingLink>();
  #closed = false;
  #undoQuiet: (() => void) | undefined;
  #suppressed = 0;

  constructor(settings: Settings, events: IncomingEvents) {
    this.#settings = settings;
    this.#events = {
      ...events,
      admitted: (link) => {
        this.#strangers.delete(link);
        return events.admitted(link);
      },
      closed: (link, why) => {
        this.#strangers.delete(link);
        if (link.admitted) events.closed(link, why);
        else if (!this.#closed) this.#refused(why);
      },
    };
  }

  /** Returns true if the path is one of the cluster's; the request is then handled here. */
  handle(request: Http2ServerRequest, response: Http2ServerResponse): boolean {
    // CONNECT has no path.
    const path = request.method === "CONNECT" ? "" : (request.url.split("?", 1)[0] ?? "");
    if (!path.startsWith(PEERS_PREFIX)) return false;
    const status = this.#statusOf(path, request.method);
    if (status === 200) {
      this.#strangers.add(new IncomingLink(this.#settings, response.stream, this.#events));
    } else {
      request.resume();
      response.writeHead(status).end();
      // Do not wait for the rest of the body.
      response.stream.close();
    }
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#undoQuiet?.();
    for (const stranger of this.#strangers) stranger.close("left");
  }

  #statusOf(path: string, method: string): number {
    if (path !== PEERS_PATH) return 404;
    if (method !== "POST") return 405;
    return this.#closed || this.#strangers.size >= this.#settings.limits.greetings ? 503 : 200;
  }

  /** Rate-limits the log, since strangers may connect as often as they like. */
  #refused(why: string): void {
    if (this.#undoQuiet !== undefined) {
      this.#suppressed += 1;
      return;
    }
    const { log, clock, limits } = this.#settings;
    log("warning", { event: "peer-refused", why, unsaid: this.#suppressed });
    this.#suppressed = 0;
    this.#undoQuiet = clock.after(limits.greetMs, () => {
      this.#undoQuiet = undefined;
    });
  }
}
