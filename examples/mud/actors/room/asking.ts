import type { ActorId, Bag } from "troupe/contract";
import type { Ticket } from "../sheet.ts";
import type { RoomTurn } from "./room-state.ts";

/** What a room asks of players, by the message that brings the answer. */
const ASKS = {
  admitted: "admit",
  gained: "gain",
  released: "release",
  received: "gain",
  consumed: "consume",
  suffered: "struck",
  praised: "deed",
} as const;

export type What = keyof typeof ASKS;

/** Asked, and not answered yet. An answer that brings nothing back does not say whose call it ends and what was on its way. */
export interface Asked {
  /** Of the message that asks. */
  id: string;
  of: ActorId;
  what: What;
  ticket: Ticket;
}

/** Has a player's own turn decide; the answer comes back to this room. */
export function ask(turn: RoomTurn, of: ActorId, what: What, ticket: Ticket, args: Bag = {}): void {
  const id = turn.send(of, ASKS[what], { ticket, ...args }, { replyAs: what, ...(what === "admitted" && { start: null }) });
  turn.state.asked.push({ id, of, what, ticket });
}
