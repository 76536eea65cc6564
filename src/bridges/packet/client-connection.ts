// Owns: a client's connection over WebSocket or TCP: opening, reconnecting, and matching replies with requests.
//   Does not own: the sockets (client-transports.ts).
import type { Clock, Entropy } from "../../core/contract/index.ts";
import { PacketClientError, abortError, failureReason } from "./client-error.ts";
import type { ClientTransport, OpenSocket, OutgoingPacket, ClientSocket } from "./client-transports.ts";
import { PACKET_VERSION, PacketError, type ReplyPacket, errorIn } from "./packet.ts";
import { readReply } from "./read-packet.ts";

interface ClientConnectionOptions {
  readonly open: OpenSocket;
  readonly url: URL;
  readonly token: () => Promise<string | undefined>;
  readonly maxChars: number;
  readonly connectMs: number;
  /** How long a packet waits for a connection across attempts, in milliseconds. 0: one attempt. */
  readonly patienceMs: number;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

interface PendingPacket {
  readonly id: string;
  readonly outbound: OutgoingPacket;
  readonly since: number;
  readonly resolve: (reply: ReplyPacket) => void;
  readonly reject: (error: Error) => void;
  sent: boolean;
}

const MIN_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 10_000;
const FOREVER_MS = 2_147_483_647;
/** Bounds memory if a server never replies to cancelled packets. */
const MAX_ABANDONED = 10_000;

/**
 * One connection for all packets; replies are matched by id. It is opened for the first packet and stays open. If it ends while nothing is
 * pending, the next packet opens another.
 */
export class ClientConnection implements ClientTransport {
  readonly #options: ClientConnectionOptions;
  readonly #pending = new Map<string, PendingPacket>();
  /** Ids of packets that were cancelled on this connection and whose replies are still expected. */
  readonly #abandoned = new Set<string>();
  #socket: ClientSocket | undefined;
  /** Aborts the current connection or the attempt to open one. */
  #abortSocket = new AbortController();
  #opening = false;
  #cancelBackoff: (() => void) | undefined;
  /** Consecutive connections without a reply. */
  #failures = 0;
  #hasReplied = false;
  #serverError: string | undefined;
  #closed = false;

  constructor(options: ClientConnectionOptions) {
    this.#options = options;
  }

  async exchange(outbound: OutgoingPacket): Promise<ReplyPacket> {
    const { packet, signal } = outbound;
    const { id = "" } = packet;
    if (this.#closed) throw new PacketClientError("CLOSED", "The client is closed.", { applied: false });
    if (signal.aborted) throw abortError(signal, false);
    const { promise, resolve, reject } = Promise.withResolvers<ReplyPacket>();
    const pending: PendingPacket = { id, outbound, since: this.#options.clock.now(), resolve, reject, sent: false };
    const abandon = (): void => {
      this.#pending.delete(id);
      if (pending.sent) this.#cancel(id);
      reject(abortError(signal, appliedOf(pending)));
    };
    signal.addEventListener("abort", abandon, { once: true });
    this.#pending.set(id, pending);
    if (this.#socket === undefined) this.#connect();
    else if (!this.#abandoned.has(id)) this.#send(this.#socket, pending);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abandon);
      if (this.#pending.get(id) === pending) this.#pending.delete(id);
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancelBackoff?.();
    this.#socket = undefined;
    this.#abortSocket.abort();
    this.#rejectAll((pending) => new PacketClientError("CLOSED", "The client was closed.", { applied: appliedOf(pending) }));
  }

  #send(socket: ClientSocket, pending: PendingPacket): void {
    pending.sent = true;
    socket.send(pending.outbound.text);
  }

  #cancel(id: string): void {
    const { entropy } = this.#options;
    this.#abandoned.add(id);
    const [first] = this.#abandoned;
    if (this.#abandoned.size > MAX_ABANDONED && first !== undefined) this.#abandoned.delete(first);
    this.#socket?.send(JSON.stringify({ version: PACKET_VERSION, type: "cancel", id: entropy.hex(8), payload: { id } }));
  }

  #connect(): void {
    if (this.#opening || this.#cancelBackoff !== undefined || this.#closed) return;
    if (this.#failures === 0) void this.#open();
    else this.#backOff();
  }

  #backOff(): void {
    const { clock, entropy } = this.#options;
    const longest = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(this.#failures - 1, 10));
    // Half of the pause is random, so that clients of a restarted server do not reconnect all at once.
    const ms = (longest / 2) * (1 + Number.parseInt(entropy.hex(2), 16) / 65_536);
    // A `Clock` does not keep the process alive, but a packet is waiting.
    const keepAlive = setInterval(() => undefined, FOREVER_MS);
    const undoTimer = clock.after(ms, () => {
      undo();
      if (this.#pending.size > 0) void this.#open();
    });
    const undo = (): void => {
      clearInterval(keepAlive);
      undoTimer();
      this.#cancelBackoff = undefined;
    };
    this.#cancelBackoff = undo;
  }

  async #open(): Promise<void> {
    const { open, url, token, maxChars, connectMs, clock } = this.#options;
    this.#opening = true;
    this.#hasReplied = false;
    this.#serverError = undefined;
    let socket: ClientSocket | undefined;
    const abortSocket = (this.#abortSocket = new AbortController());
    let closeReason: string | undefined;
    let failure: unknown;
    try {
      const secret = await token();
      // The client was closed while it waited for the token.
      if (abortSocket.signal.aborted) return;
      socket = await open({
        url,
        token: secret,
        maxChars,
        connectMs,
        clock,
        signal: abortSocket.signal,
        onMessage: (text) => this.#onMessage(text),
        onClose: (why) => {
          closeReason = why;
          if (socket !== undefined && this.#socket === socket) this.#onClose(why);
        },
      });
      if (closeReason !== undefined) throw new Error(closeReason);
      if (abortSocket.signal.aborted) return;
      this.#socket = socket;
      for (const pending of this.#pending.values()) this.#send(socket, pending);
    } catch (error) {
      failure = error;
    } finally {
      this.#opening = false;
    }
    if (failure !== undefined && !this.#closed) this.#onOpenFailed(failure);
  }

  #onOpenFailed(error: unknown): void {
    this.#failures += 1;
    const now = this.#options.clock.now();
    const where = this.#options.url.host;
    this.#rejectAll(({ since }) => {
      if (error instanceof PacketError) return error;
      if (now - since < this.#options.patienceMs) return undefined;
      return new PacketClientError("UNREACHABLE", `${where} cannot be reached: ${failureReason(error).replace(/\.$/, "")}.`, {
        applied: false,
        cause: error,
      });
    });
    if (this.#pending.size > 0) this.#connect();
  }

  #onClose(why: string): void {
    this.#socket = undefined;
    this.#abandoned.clear();
    this.#failures = this.#hasReplied ? 0 : this.#failures + 1;
    const reason = (this.#serverError ?? why).replace(/\.$/, "");
    this.#rejectAll(({ sent }) =>
      sent ? new PacketClientError("LOST", `The connection ended before the reply came: ${reason}.`, { applied: "unknown" }) : undefined,
    );
    if (this.#pending.size > 0) this.#connect();
  }

  #onMessage(text: string): void {
    const packet = readReply(text);
    if (packet === undefined) {
      this.#abortSocket.abort();
      this.#rejectAll(({ sent }) => (sent ? new PacketClientError("BAD_REPLY", NOT_A_PACKET, { applied: "unknown" }) : undefined));
      return this.#onClose(NOT_A_PACKET);
    }
    const pending = packet.id === undefined ? undefined : this.#pending.get(packet.id);
    if (packet.id !== undefined && this.#abandoned.has(packet.id)) {
      if (packet.type === "capability_progress") return;
      this.#abandoned.delete(packet.id);
      // A new packet with the same id has been waiting for the old reply.
      if (pending !== undefined && this.#socket !== undefined) this.#send(this.#socket, pending);
    } else if (pending?.sent === true) {
      this.#hasReplied = true;
      if (packet.type === "capability_progress") pending.outbound.onProgress?.(packet);
      else pending.resolve(packet);
    } else if (packet.id === undefined && packet.type === "capability_error") this.#serverError = errorIn(packet).message;
  }

  #rejectAll(error: (pending: PendingPacket) => Error | undefined): void {
    for (const pending of this.#pending.values()) {
      const reason = error(pending);
      if (reason === undefined) continue;
      this.#pending.delete(pending.id);
      pending.reject(reason);
    }
  }
}

const NOT_A_PACKET = "The server sent what is no packet: give the address where packets are taken.";

const appliedOf = ({ sent }: PendingPacket): false | "unknown" => (sent ? "unknown" : false);
