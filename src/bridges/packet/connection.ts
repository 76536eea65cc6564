// Owns: packets on one ordered connection: which run now, which wait, replies and progress to a slow reader.
//   Does not own: handling a packet (packet-session.ts), listeners (endpoints.ts).
import type { Caller, Channel, Connection } from "../../core/contract/index.ts";
import type { PacketFlow, PacketSession } from "./packet-flow.ts";
import { PacketError, type ReplyPacket } from "./packet.ts";
import { readPacket } from "./read-packet.ts";
import { type Frame, refuseFrame } from "./reply.ts";

export interface PacketConnectionOptions {
  /** Packets at once: running, queued, or answered but unread. One more is refused as `rate_limited`. Default 1,000. */
  readonly inFlight?: number;
}

const DEFAULT_IN_FLIGHT = 1_000;
/** Extra slots for cancels, which free others, and for heartbeats. */
const RESERVED_SLOTS = 64;
/** Limit on frames that wait to be started. */
const MAX_QUEUED_BYTES = 4_194_304;
/** Starts per turn of the event loop: one read may bring thousands of frames before the channel notices that the client does not read. */
const STARTS_PER_TICK = 8;

/**
 * Packets on one bidirectional stream, one per frame: a line over TCP, a text frame over WebSocket, a message in memory. Replies are sent in
 * order of completion. Frames of a client that does not read are queued and start in order once it reads (C8); only cancels and heartbeats
 * bypass the queue.
 *
 * After `close`, requests that were received are still answered. Once the channel is disconnected, what runs is cancelled.
 */
export function packetConnection(
  flow: Pick<PacketFlow, "open">,
  channel: Channel,
  caller: Caller,
  { inFlight = DEFAULT_IN_FLIGHT }: PacketConnectionOptions = {},
): Connection {
  const queue = new FrameQueue();
  let ended = false;
  let startedThisTick = 0;
  const idle = Promise.withResolvers<void>();
  const settle = (): void => {
    if (ended && (channel.disconnected.aborted || (inFlightPackets.count === 0 && queue.count === 0))) idle.resolve();
  };

  const hasCapacity = (): boolean => channel.ready && startedThisTick < STARTS_PER_TICK && inFlightPackets.count < inFlight;
  const start = (frame: Uint8Array | string): void => {
    if (startedThisTick === 0) setImmediate(onNextTick);
    startedThisTick += 1;
    inFlightPackets.start(frame);
  };
  const startQueued = (): void => {
    while (queue.count > 0 && hasCapacity()) {
      const frame = queue.shift();
      if (frame !== undefined) start(frame);
    }
  };
  const onNextTick = (): void => {
    startedThisTick = 0;
    startQueued();
  };
  const onAnswered = (): void => {
    startQueued();
    settle();
  };
  const inFlightPackets = new InFlightPackets({ flow, channel, caller, maxProgress: inFlight, onAnswered });
  const undoReady = channel.onReady(startQueued);

  const abandon = (): void => {
    ended = true;
    queue.clear();
    undoReady();
    settle();
    void inFlightPackets.close();
  };
  if (channel.disconnected.aborted) abandon();
  else channel.disconnected.addEventListener("abort", abandon, { once: true });

  return {
    receive(frame) {
      if (ended) return;
      startQueued();
      if (queue.count === 0 && hasCapacity()) return start(frame);
      const used = inFlightPackets.count + inFlightPackets.unread + queue.count;
      const tooMany = used >= inFlight;
      const full = tooMany || queue.bytes + frame.length > MAX_QUEUED_BYTES;
      if (!full && channel.ready) return queue.push(frame);
      const read = readPacket(frame);
      if (bypassesQueue(read) && used < inFlight + RESERVED_SLOTS) {
        const cancelled = cancelQueued(queue, read);
        for (const one of cancelled) channel.send(one);
        return inFlightPackets.start(frame, cancelled.length);
      }
      if (!full) return queue.push(frame);
      channel.send(tooMany ? tooManyPackets(read, inFlight, used) : tooManyBytes(read, queue.bytes));
    },
    async close() {
      ended = true;
      settle();
      await idle.promise;
      undoReady();
      channel.disconnected.removeEventListener("abort", abandon);
      await inFlightPackets.close();
    },
  };
}

const bypassesQueue = (read: Frame): boolean => "type" in read && (read.type === "cancel" || read.type === "heartbeat");

/** Cancels queued requests: returns their replies. */
function cancelQueued(queue: FrameQueue, read: Frame): readonly string[] {
  if (!("payload" in read) || read.type !== "cancel" || queue.count === 0) return [];
  const { id } = read.payload;
  return queue.takeRequests(id).map((frame) => refuseFrame(frame, new PacketError("cancelled", "It was cancelled before it began.")));
}

function tooManyPackets(read: Frame, limit: number, used: number): string {
  const why = `At most ${limit} packets of one connection are under way at once: wait for a reply before you send more.`;
  return refuseFrame(read, new PacketError("rate_limited", why, { limit, used, reset: 1 }));
}

function tooManyBytes(read: Frame, used: number): string {
  const why = `At most ${MAX_QUEUED_BYTES} bytes of packets wait on one connection: read the replies before you send more.`;
  return refuseFrame(read, new PacketError("rate_limited", why, { limit: MAX_QUEUED_BYTES, used, reset: 1 }));
}

interface QueuedFrame {
  readonly frame: Uint8Array | string;
  /** Cached: parsing megabytes of frames again for each cancel would be too cheap an attack. */
  cancelTarget: CancelTarget | undefined;
}

/** What a cancel can refer to. `none`: the frame is not a request. */
type CancelTarget = { readonly id: string | undefined } | "none";

/** Frames that wait to be started, in order. */
class FrameQueue {
  #frames: QueuedFrame[] = [];
  #bytes = 0;

  get count(): number {
    return this.#frames.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(frame: Uint8Array | string): void {
    // Copied: a small frame may be a view of a large read buffer, which it would keep in memory.
    const copy = typeof frame === "string" ? frame : new Uint8Array(frame);
    this.#frames.push({ frame: copy, cancelTarget: undefined });
    this.#bytes += frame.length;
  }

  shift(): Uint8Array | string | undefined {
    const first = this.#frames.shift();
    this.#bytes -= first?.frame.length ?? 0;
    return first?.frame;
  }

  /** Removes and returns the requests with that id. Cancels are not requests. */
  takeRequests(id: unknown): readonly (Uint8Array | string)[] {
    const all = this.#frames;
    this.clear();
    const taken: (Uint8Array | string)[] = [];
    for (const one of all) {
      one.cancelTarget ??= cancelTargetOf(one.frame);
      if (one.cancelTarget !== "none" && one.cancelTarget.id === id) taken.push(one.frame);
      else {
        this.#frames.push(one);
        this.#bytes += one.frame.length;
      }
    }
    return taken;
  }

  clear(): void {
    this.#frames = [];
    this.#bytes = 0;
  }
}

function cancelTargetOf(frame: Uint8Array | string): CancelTarget {
  const read = readPacket(frame);
  return "payload" in read && read.type !== "cancel" ? { id: read.id } : "none";
}

interface InFlightPacketsOptions {
  readonly flow: Pick<PacketFlow, "open">;
  readonly channel: Channel;
  readonly caller: Caller;
  /** For how many requests progress is queued while the client does not read. */
  readonly maxProgress: number;
  /** Called after each reply. */
  readonly onAnswered: () => void;
}

/** The running packets of one client. Each is answered on the channel when it is ready, after its progress. */
export class InFlightPackets {
  readonly #channel: Channel;
  readonly #session: PacketSession;
  readonly #progress: ProgressQueue;
  readonly #onAnswered: () => void;
  #count = 0;
  #unread = 0;
  #closed: Promise<void> | undefined;

  constructor({ flow, channel, caller, maxProgress, onAnswered }: InFlightPacketsOptions) {
    this.#channel = channel;
    this.#progress = new ProgressQueue(channel, maxProgress);
    this.#onAnswered = onAnswered;
    this.#session = flow.open({ caller, tell: (packet) => this.#progress.push(packet) });
  }

  get count(): number {
    return this.#count;
  }

  /** Replies that the client has not read. */
  get unread(): number {
    // Counted when sent, since a buffering channel reports only later that it is not ready.
    if (this.#channel.ready) this.#unread = 0;
    return this.#unread;
  }

  /** `cancelled`: how many queued requests this frame, a cancel, has ended already. */
  start(frame: Uint8Array | string, cancelled = 0): void {
    this.#count += 1;
    void this.#run(frame, cancelled);
  }

  /** Cancels what runs. Resolves when it has ended. */
  close(): Promise<void> {
    this.#progress.close();
    return (this.#closed ??= this.#session.close());
  }

  async #run(frame: Uint8Array | string, cancelled: number): Promise<void> {
    try {
      const reply = countingAlso(cancelled, await this.#session.receive(frame));
      this.#progress.discard(reply);
      this.#channel.send(JSON.stringify(reply));
    } catch (cause) {
      this.#channel.send(
        refuseFrame(frame, new PacketError("execution_failed", "Something failed inside the server; its log says what.", {}, { cause })),
      );
    } finally {
      this.#count -= 1;
      this.#unread += 1;
      this.#onAnswered();
    }
  }
}

/** The reply to a cancel, which says how many requests it has ended: those that had not begun count, too. */
function countingAlso(queued: number, reply: ReplyPacket): ReplyPacket {
  const { cancelled } = reply.payload;
  return queued > 0 && typeof cancelled === "number" ? { ...reply, payload: { cancelled: cancelled + queued } } : reply;
}

/** Sends progress to a client. While it does not read, only the newest progress of each request is queued, so memory stays bounded (C8). */
class ProgressQueue {
  readonly #channel: Channel;
  readonly #queued = new Map<string, ReplyPacket>();
  readonly #max: number;
  #undoReady: (() => void) | undefined;

  constructor(channel: Channel, max: number) {
    this.#channel = channel;
    this.#max = max;
  }

  push(packet: ReplyPacket): void {
    if (this.#queued.size === 0 && this.#channel.ready) return this.#channel.send(JSON.stringify(packet));
    const key = keyOf(packet);
    if (this.#queued.size >= this.#max && !this.#queued.has(key)) return;
    this.#queued.set(key, packet);
    this.#undoReady ??= this.#channel.onReady(() => this.#flush());
  }

  /** Drops queued progress of a request whose reply is sent now. */
  discard(reply: ReplyPacket): void {
    if (this.#queued.size > 0) this.#queued.delete(keyOf(reply));
  }

  close(): void {
    this.#queued.clear();
    this.#undoReady?.();
    this.#undoReady = undefined;
  }

  #flush(): void {
    for (const [key, packet] of this.#queued) {
      if (!this.#channel.ready) return;
      this.#queued.delete(key);
      this.#channel.send(JSON.stringify(packet));
    }
  }
}

/** Both: requests may share a trace, and the id is optional. */
const keyOf = ({ id, context }: ReplyPacket): string => JSON.stringify([id, context.trace_id]);
