import type { ActorId, JsonObject } from "troupe/contract";
import type { Ticket } from "../sheet.ts";
import type { RoomTurn } from "./room-state.ts";

/** Requests of a room to players and to other rooms: the action of each request, by the action of its reply. */
const REQUEST_ACTIONS = {
  admitted: "admit",
  gained: "gain",
  released: "release",
  received: "gain",
  consumed: "consume",
  suffered: "struck",
  praised: "deed",
  entered: "arrive",
} as const;

export type RequestKind = keyof typeof REQUEST_ACTIONS;

/** A request without a reply yet. Stored because a refusal does not carry the ticket. */
export interface PendingRequest {
  /** Id of the request message. */
  id: string;
  of: ActorId;
  what: RequestKind;
  ticket: Ticket;
}

/** Asks another actor to decide in a turn of its own. The reply comes back to this room. */
export function sendRequest(turn: RoomTurn, of: ActorId, what: RequestKind, ticket: Ticket, args: JsonObject = {}): void {
  const id = turn.send(of, REQUEST_ACTIONS[what], { ticket, ...args }, { replyAs: what });
  turn.state.asked.push({ id, of, what, ticket });
}
