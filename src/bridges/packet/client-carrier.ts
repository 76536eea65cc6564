import type { RequestPacket, ReplyPacket } from "./packet.ts";

/** A packet on its way. */
export interface Outbound {
  readonly packet: RequestPacket;
  /** The whole of it. */
  readonly text: string;
  /** Aborted: nobody waits for the reply any more. */
  readonly signal: AbortSignal;
  readonly progressed: ((packet: ReplyPacket) => void) | undefined;
}

/** What brings a packet to the server, and its reply back. */
export interface Carrier {
  /** Throws `PacketClientError`, and `PacketError` (`unauthorized`) where the server refuses the token. */
  carry(outbound: Outbound): Promise<ReplyPacket>;
  /** Whatever waits is given up. */
  close(): void;
}
