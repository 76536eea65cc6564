// Owns: packets as their transports see them, recorded on their way. Does not own: what is recorded (traffic.ts).

import type { PacketFlow } from "../packet/index.ts";
import type { PacketTransport } from "./clients.ts";
import { safely } from "./safely.ts";
import type { RecordedRow } from "./traffic-row.ts";
import type { Traffic } from "./traffic.ts";

export type { PacketTransport } from "./clients.ts";

/** What opens a session for each connection, or each HTTP request: a `PacketFlow`. */
export type PacketOpener = Pick<PacketFlow, "open">;

export const recordedPackets = (flow: PacketOpener, traffic: Traffic, transport: PacketTransport): PacketOpener => ({
  open(reception) {
    const { caller, tell } = reception;
    const client = traffic.clients.packets(transport, caller, traffic.now());
    /** Those under way, by the id that replies repeat, as JSON. */
    const running = new Map<string | undefined, RecordedRow>();
    const session = flow.open({
      ...reception,
      ...(tell !== undefined && {
        tell(packet) {
          const row = running.get(packet.id === undefined ? undefined : JSON.stringify(packet.id));
          if (row !== undefined) safely(() => traffic.packetSent(row, packet));
          tell(packet);
        },
      }),
    });
    return {
      async receive(text) {
        const row = safely(() => traffic.packet(client, text, caller));
        if (row === undefined) return await session.receive(text);
        const { id } = row;
        running.set(id, row);
        const reply = await session.receive(text);
        if (running.get(id) === row) running.delete(id);
        safely(() => traffic.packetSent(row, reply));
        return reply;
      },
      async close() {
        await session.close();
        if (transport !== "packets-http") safely(() => traffic.connectionEnded(client));
      },
    };
  },
});
