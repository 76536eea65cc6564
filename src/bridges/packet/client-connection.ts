import type { Clock, Entropy } from "../../core/contract/index.ts";
import { PacketClientError, givenUp, reasonFor } from "./client-error.ts";
import type { Carrier, OpenWire, Outbound, Wire } from "./client-transports.ts";
import { PACKET_VERSION, PacketError, type ReplyPacket, errorIn } from "./packet.ts";
import { readReply } from "./read-packet.ts";

export interface LinkOptions {
  readonly open: OpenWire;
  readonly url: URL;
  readonly token: () => Promise<string | undefined>;
  readonly maxChars: number;
  readonly connectMs: number;
  /** How long a packet waits for a connection, attempt after attempt. 0: for one attempt. */
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

interface Waiting {
  readonly id: string;
  readonly outbound: Outbound;
  readonly since: number;
  readonly resolve: (reply: ReplyPacket) => void;
  readonly reject: (error: Error) => void;
  sent: boolean;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
const FOREVER_MS = 2_147_483_647;
/** Of a server that does not reply to what was cancelled. */
const MOST_ABANDONED = 10_000;

/**
 * One connection for all packets, replies told apart by their ids. It is opened for a packet and stays; one that ended while
 * nothing waited is missed by nobody, and the next packet opens another.
 */
export class Link implements Carrier {
  readonly #options: LinkOptions;
  readonly #waiting = new Map<string, Waiting>();
  /** Ids of packets that were given up on this connection, whose replies still come. */
  readonly #abandoned = new Set<string>();
  #wire: Wire | undefined;
  /** Aborted with each connection that is given up. */
  #unwanted = new AbortController();
  #opening = false;
  #undoPause: (() => void) | undefined;
  /** Connections in a row that brought nothing. */
  #failures = 0;
  #hasReplied = false;
  #notice: string | undefined;
  #closed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  async carry(outbound: Outbound): Promise<ReplyPacket> {
    const { packet, signal } = outbound;
    const { id = "" } = packet;
    if (this.#closed) throw new PacketClientError("CLOSED", "The client is closed.", { applied: false });
    if (signal.aborted) throw givenUp(signal, false);
    const { promise, resolve, reject } = Promise.withResolvers<ReplyPacket>();
    const waiting: Waiting = { id, outbound, since: this.#options.clock.now(), resolve, reject, sent: false };
    const abandon = (): void => {
      this.#waiting.delete(id);
      if (waiting.sent) this.#cancel(id);
      reject(givenUp(signal, applied(waiting)));
    };
    signal.addEventListener("abort", abandon, { once: true });
    this.#waiting.set(id, waiting);
    if (this.#wire === undefined) this.#connect();
    else if (!this.#abandoned.has(id)) this.#send(this.#wire, waiting);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abandon);
      if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    }
  }

  close(): void {
    this.#closed = true;
    this.#undoPause?.();
    this.#wire = undefined;
    this.#unwanted.abort();
    this.#rejectAll((waiting) => new PacketClientError("CLOSED", "The client was closed.", { applied: applied(waiting) }));
  }

  #send(wire: Wire, waiting: Waiting): void {
    waiting.sent = true;
    wire.send(waiting.outbound.text);
  }

  #cancel(id: string): void {
    const { entropy } = this.#options;
    this.#abandoned.add(id);
    const [first] = this.#abandoned;
    if (this.#abandoned.size > MOST_ABANDONED && first !== undefined) this.#abandoned.delete(first);
    this.#wire?.send(JSON.stringify({ version: PACKET_VERSION, type: "cancel", id: entropy.hex(8), payload: { id } }));
  }

  #connect(): void {
    if (this.#opening || this.#undoPause !== undefined || this.#closed) return;
    if (this.#failures === 0) void this.#open();
    else this.#pause();
  }

  #pause(): void {
    const { clock, entropy } = this.#options;
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 10));
    // Half of it by chance: clients that lost their server together do not come back together.
    const ms = (longest / 2) * (1 + Number.parseInt(entropy.hex(2), 16) / 65_536);
    // A clock keeps no process alive, and somebody waits for this.
    const held = setInterval(() => undefined, FOREVER_MS);
    const undoTimer = clock.after(ms, () => {
      undo();
      if (this.#waiting.size > 0) void this.#open();
    });
    const undo = (): void => {
      clearInterval(held);
      undoTimer();
      this.#undoPause = undefined;
    };
    this.#undoPause = undo;
  }

  async #open(): Promise<void> {
    const { open, url, token, maxChars, connectMs, clock } = this.#options;
    this.#opening = true;
    this.#hasReplied = false;
    this.#notice = undefined;
    let wire: Wire | undefined;
    const unwanted = (this.#unwanted = new AbortController());
    let gone: string | undefined;
    let failure: unknown;
    try {
      const secret = await token();
      // Closed meanwhile.
      if (unwanted.signal.aborted) return;
      wire = await open({
        url,
        token: secret,
        maxChars,
        connectMs,
        clock,
        signal: unwanted.signal,
        heard: (text) => this.#heard(text),
        ended: (why) => {
          gone = why;
          if (wire !== undefined && this.#wire === wire) this.#ended(why);
        },
      });
      if (gone !== undefined) throw new Error(gone);
      if (unwanted.signal.aborted) return;
      this.#wire = wire;
      for (const waiting of this.#waiting.values()) this.#send(wire, waiting);
    } catch (error) {
      failure = error;
    } finally {
      this.#opening = false;
    }
    if (failure !== undefined && !this.#closed) this.#failed(failure);
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    const now = this.#options.clock.now();
    const where = this.#options.url.host;
    this.#rejectAll(({ since }) => {
      if (error instanceof PacketError) return error;
      if (now - since < this.#options.patienceMs) return undefined;
      return new PacketClientError("UNREACHABLE", `${where} cannot be reached: ${reasonFor(error).replace(/\.$/, "")}.`, {
        applied: false,
        cause: error,
      });
    });
    if (this.#waiting.size > 0) this.#connect();
  }

  #ended(why: string): void {
    this.#wire = undefined;
    this.#abandoned.clear();
    this.#failures = this.#hasReplied ? 0 : this.#failures + 1;
    const told = (this.#notice ?? why).replace(/\.$/, "");
    this.#rejectAll(({ sent }) =>
      sent ? new PacketClientError("LOST", `The connection ended before the reply came: ${told}.`, { applied: "unknown" }) : undefined,
    );
    if (this.#waiting.size > 0) this.#connect();
  }

  #heard(text: string): void {
    const packet = readReply(text);
    if (packet === undefined) {
      this.#unwanted.abort();
      this.#rejectAll(({ sent }) => (sent ? new PacketClientError("BAD_REPLY", NO_PACKET, { applied: "unknown" }) : undefined));
      return this.#ended(NO_PACKET);
    }
    const waiting = packet.id === undefined ? undefined : this.#waiting.get(packet.id);
    if (packet.id !== undefined && this.#abandoned.has(packet.id)) {
      if (packet.type === "capability_progress") return;
      this.#abandoned.delete(packet.id);
      // Another packet of that id has waited, or this would have been its reply.
      if (waiting !== undefined && this.#wire !== undefined) this.#send(this.#wire, waiting);
    } else if (waiting?.sent === true) {
      this.#hasReplied = true;
      if (packet.type === "capability_progress") waiting.outbound.progressed?.(packet);
      else waiting.resolve(packet);
    } else if (packet.id === undefined && packet.type === "capability_error") this.#notice = errorIn(packet).message;
  }

  #rejectAll(error: (waiting: Waiting) => Error | undefined): void {
    for (const waiting of this.#waiting.values()) {
      const reason = error(waiting);
      if (reason === undefined) continue;
      this.#waiting.delete(waiting.id);
      waiting.reject(reason);
    }
  }
}

const NO_PACKET = "The server sent what is no packet: give the address where packets are taken.";

const applied = ({ sent }: Waiting): false | "unknown" => (sent ? "unknown" : false);
