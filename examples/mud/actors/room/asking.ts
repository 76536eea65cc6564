import type { ActorId, JsonObject } from "troupe/contract";
import type { Ticket } from "../sheet.ts";
import type { RoomTurn } from "./room-state.ts";

/** What a room asks of players, and of the room one of them goes to, by the message that brings the answer. */
const ASKS = {
  admitted: "admit",
  gained: "gain",
  released: "release",
  received: "gain",
  consumed: "consume",
  suffered: "struck",
  praised: "deed",
  entered: "arrive",
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

/** Has the other's own turn decide; the answer comes back to this room. */
export function ask(turn: RoomTurn, of: ActorId, what: What, ticket: Ticket, args: JsonObject = {}): void {
  const id = turn.send(of, ASKS[what], { ticket, ...args }, { replyAs: what });
  turn.state.asked.push({ id, of, what, ticket });
}
