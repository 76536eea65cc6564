import type { Caller, Channel, Connection } from "../../core/contract/index.ts";
import { HeldFrames } from "./held-frames.ts";
import { PacketError } from "./packet-error.ts";
import type { PacketFlow } from "./packet-flow.ts";
import { readPacket } from "./read-packet.ts";
import { type Frame, refuseFrame } from "./refused-frame.ts";
import { UnderWay } from "./under-way.ts";

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
