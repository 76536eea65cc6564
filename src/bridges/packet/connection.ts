import type { Caller, Channel, Connection } from "../../core/contract/index.ts";
import type { PacketFlow, PacketSession } from "./packet-flow.ts";
import { PacketError, type ReplyPacket } from "./packet.ts";
import { readPacket } from "./read-packet.ts";
import { type Frame, refuseFrame } from "./reply.ts";

export interface PacketConnectionOptions {
  /** Packets at once: under way, held, or answered and not read; one more is answered `rate_limited`. Default 1,000. */
  readonly inFlight?: number;
}

const IN_FLIGHT = 1_000;
/** Beyond the bound there is room for what frees it, and for who asks whether we live. */
const RESERVE = 64;
/** Of frames that have not begun. */
const HELD_BYTES = 4_194_304;
/** Begun in one turn of the event loop: one read may bring thousands before the channel can say that nobody reads the replies. */
const TURN = 8;

/**
 * Packets on one ordered stream both ways, one a frame: a line over TCP, a text
 * frame over WebSocket, a message in memory. Replies leave as they become ready,
 * not in the order of their requests. What a client sends that does not read is held,
 * and begins in order once it reads (C8); only a cancel and a heartbeat go ahead.
 *
 * A client whose side has ended (`close`) is still answered what it asked for;
 * for one that is gone (`channel.disconnected`) what runs is cancelled.
 */
export function packetConnection(
  flow: Pick<PacketFlow, "open">,
  channel: Channel,
  caller: Caller,
  { inFlight = IN_FLIGHT }: PacketConnectionOptions = {},
): Connection {
  const held = new HeldFrames();
  let ended = false;
  let begun = 0;
  const quiet = Promise.withResolvers<void>();
  const settle = (): void => {
    if (ended && (channel.disconnected.aborted || (underWay.count === 0 && held.count === 0))) quiet.resolve();
  };

  const free = (): boolean => channel.ready && begun < TURN && underWay.count < inFlight;
  const begin = (frame: Uint8Array | string): void => {
    if (begun === 0) setImmediate(turn);
    begun += 1;
    underWay.begin(frame);
  };
  const proceed = (): void => {
    while (held.count > 0 && free()) {
      const frame = held.shift();
      if (frame !== undefined) begin(frame);
    }
  };
  const turn = (): void => {
    begun = 0;
    proceed();
  };
  const onAnswered = (): void => {
    proceed();
    settle();
  };
  const underWay = new UnderWay({ flow, channel, caller, held: inFlight, onAnswered });
  const undoReady = channel.onReady(proceed);

  const abandon = (): void => {
    ended = true;
    held.clear();
    undoReady();
    settle();
    void underWay.close();
  };
  if (channel.disconnected.aborted) abandon();
  else channel.disconnected.addEventListener("abort", abandon, { once: true });

  return {
    receive(frame) {
      if (ended) return;
      proceed();
      if (held.count === 0 && free()) return begin(frame);
      const used = underWay.count + underWay.untaken + held.count;
      const tooMany = used >= inFlight;
      const full = tooMany || held.bytes + frame.length > HELD_BYTES;
      if (!full && channel.ready) return held.push(frame);
      const read = readPacket(frame);
      if (frees(read) && used < inFlight + RESERVE) {
        for (const one of calledOff(held, read)) channel.send(one);
        return underWay.begin(frame);
      }
      if (!full) return held.push(frame);
      channel.send(tooMany ? busy(read, inFlight, used) : stuffed(read, held.bytes));
    },
    async close() {
      ended = true;
      settle();
      await quiet.promise;
      undoReady();
      channel.disconnected.removeEventListener("abort", abandon);
      await underWay.close();
    },
  };
}

const frees = (read: Frame): boolean => "type" in read && (read.type === "cancel" || read.type === "heartbeat");

/** What a cancel means that has not begun, answered. */
function calledOff(held: HeldFrames, read: Frame): readonly string[] {
  if (!("payload" in read) || read.type !== "cancel" || held.count === 0) return [];
  const { id } = read.payload;
  return held.takeRequests(id).map((frame) => refuseFrame(frame, new PacketError("cancelled", "It was cancelled before it began.")));
}

function busy(read: Frame, limit: number, used: number): string {
  const why = `At most ${limit} packets of one connection are under way at once: wait for a reply before you send more.`;
  return refuseFrame(read, new PacketError("rate_limited", why, { limit, used, reset: 1 }));
}

function stuffed(read: Frame, used: number): string {
  const why = `At most ${HELD_BYTES} bytes of packets wait on one connection: read the replies before you send more.`;
  return refuseFrame(read, new PacketError("rate_limited", why, { limit: HELD_BYTES, used, reset: 1 }));
}

interface Held {
  readonly frame: Uint8Array | string;
  readonly size: number;
  /** Read once, however many cancels ask for it: there may be megabytes of frames, and a cancel is short. */
  meant: Meant | undefined;
}

/** What a cancel can name. `none`: the frame is no request. */
interface Meant {
  readonly id?: string | undefined;
  readonly none?: true;
}

/** Frames that have come and not begun, the first first. */
class HeldFrames {
  #frames: Held[] = [];
  #bytes = 0;

  get count(): number {
    return this.#frames.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(frame: Uint8Array | string): void {
    // A frame may be a few bytes of a whole read, which would be held with them.
    const own = typeof frame === "string" ? frame : new Uint8Array(frame);
    this.#frames.push({ frame: own, size: frame.length, meant: undefined });
    this.#bytes += frame.length;
  }

  shift(): Uint8Array | string | undefined {
    const first = this.#frames.shift();
    this.#bytes -= first?.size ?? 0;
    return first?.frame;
  }

  /** Takes out the requests of that id; a cancel is none. */
  takeRequests(id: unknown): readonly (Uint8Array | string)[] {
    const all = this.#frames;
    this.clear();
    const taken: (Uint8Array | string)[] = [];
    for (const one of all) {
      one.meant ??= meantBy(one.frame);
      if (one.meant.none === undefined && one.meant.id === id) taken.push(one.frame);
      else {
        this.#frames.push(one);
        this.#bytes += one.size;
      }
    }
    return taken;
  }

  clear(): void {
    this.#frames = [];
    this.#bytes = 0;
  }
}

function meantBy(frame: Uint8Array | string): Meant {
  const read = readPacket(frame);
  return "payload" in read && read.type !== "cancel" ? { id: read.id } : { none: true };
}

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

/**
 * The way of progress to a client: where it does not read, only the newest of
 * each request is held, so a slow reader costs what it has under way (C8).
 */
export class ProgressOutlet {
  readonly #channel: Channel;
  readonly #held = new Map<string, ReplyPacket>();
  readonly #most: number;
  #undoReady: (() => void) | undefined;

  constructor(channel: Channel, most: number) {
    this.#channel = channel;
    this.#most = most;
  }

  tell(packet: ReplyPacket): void {
    if (this.#held.size === 0 && this.#channel.ready) return this.#channel.send(JSON.stringify(packet));
    const key = keyOf(packet);
    if (this.#held.size >= this.#most && !this.#held.has(key)) return;
    this.#held.set(key, packet);
    this.#undoReady ??= this.#channel.onReady(() => this.#flush());
  }

  /** Its reply is on its way: progress would come too late. */
  over(reply: ReplyPacket): void {
    if (this.#held.size > 0) this.#held.delete(keyOf(reply));
  }

  close(): void {
    this.#held.clear();
    this.#undoReady?.();
    this.#undoReady = undefined;
  }

  #flush(): void {
    for (const [key, packet] of this.#held) {
      if (!this.#channel.ready) return;
      this.#held.delete(key);
      this.#channel.send(JSON.stringify(packet));
    }
  }
}

/** A trace may be shared by requests, and an id may be missing. */
const keyOf = ({ id, context }: ReplyPacket): string => JSON.stringify([id, context.trace_id]);
