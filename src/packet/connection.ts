import type { Caller, Channel, Connection } from "../contract/index.ts";
import { PacketError } from "./packet-error.ts";
import type { PacketFlow } from "./packet-flow.ts";
import { readPacket } from "./read-packet.ts";
import { type Frame, refuseFrame } from "./refused-frame.ts";
import { UnderWay } from "./under-way.ts";

export interface PacketConnectionOptions {
  /** Packets under way at once; one more is answered `rate_limited`. Default 1,000. */
  readonly inFlight?: number;
}

const IN_FLIGHT = 1_000;
/** Beyond the bound there is room for what frees it, and for who asks whether we live. */
const RESERVE = 64;

/**
 * Packets on one ordered stream both ways, one a frame: a line over TCP, a text
 * frame over WebSocket, a message in memory. Replies leave as they become ready,
 * not in the order of their requests.
 *
 * A client whose side has ended (`close`) is still answered what it asked for;
 * for one that is gone (`channel.gone`) what runs is cancelled.
 */
export function packetConnection(
  flow: Pick<PacketFlow, "open">,
  channel: Channel,
  caller: Caller,
  { inFlight = IN_FLIGHT }: PacketConnectionOptions = {},
): Connection {
  let ended = false;
  const quiet = Promise.withResolvers<void>();
  const settle = (): void => {
    if (ended && (underWay.count === 0 || channel.gone.aborted)) quiet.resolve();
  };
  const underWay = new UnderWay({ flow, channel, caller, held: inFlight, onAnswered: settle });

  const abandon = (): void => {
    ended = true;
    settle();
    void underWay.close();
  };
  if (channel.gone.aborted) abandon();
  else channel.gone.addEventListener("abort", abandon, { once: true });

  return {
    receive(frame) {
      if (ended) return;
      if (underWay.count >= inFlight) {
        const read = readPacket(frame);
        if (underWay.count >= inFlight + RESERVE || !frees(read)) return channel.send(busy(read, inFlight, underWay.count));
      }
      underWay.begin(frame);
    },
    async close() {
      ended = true;
      settle();
      await quiet.promise;
      channel.gone.removeEventListener("abort", abandon);
      await underWay.close();
    },
  };
}

const frees = (read: Frame): boolean => "type" in read && (read.type === "cancel" || read.type === "heartbeat");

function busy(read: Frame, limit: number, used: number): string {
  const why = `At most ${limit} packets of one connection are under way at once: wait for a reply before you send more.`;
  return refuseFrame(read, new PacketError("rate_limited", why, { limit, used, reset: 1 }));
}
