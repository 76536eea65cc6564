import type { RunContext } from "troupe";
import { itemOf, type World } from "../../world/world.ts";
import { type ReplyArguments, replyArguments, type Shape } from "../message-shapes.ts";
import type { Ticket } from "../sheet.ts";
import type { PendingRequest, RequestKind } from "./requests.ts";
import { depart, isPlayer, LEFT_THE_WORLD } from "./presence.ts";
import { type RoomState, type RoomTurn, announce, deliverNews } from "./room-state.ts";
import { putDown } from "./upkeep.ts";

const MAX_UNDONE = 100;

/** Defines the message with the reply to a request. Calls `onReply` unless the request failed. */
export function replyMessage<T extends { ticket: Ticket }>(
  world: World,
  what: RequestKind,
  shape: Shape<T>,
  onReply: (turn: RoomTurn, reply: T) => void,
) {
  return {
    input: replyArguments(shape),
    run: (turn: RunContext<RoomState, ReplyArguments<T>>): void => {
      const { from, args, state } = turn;
      const { requestId, value, receiverStopped } = args;
      const index = state.asked.findIndex(({ id }) => id === requestId);
      const [request] = index === -1 ? [] : state.asked.splice(index, 1);
      if (value !== null) {
        if (!state.undone.includes(requestId)) return onReply(turn, value);
        // The room had given up on the request, and an operator has replayed it. The item is on the floor, so the player must not have it too.
        if (isPlayer(from) && (what === "gained" || what === "received")) turn.send(from, "lapse", { item: value.ticket.item });
        return;
      }
      if (request !== undefined) undo(turn, world, request, receiverStopped);
      if (receiverStopped && from !== undefined) depart(turn, world, from, true);
    },
  };
}

/** Undoes a failed request: takes back what was under way, and answers the waiting call. */
function undo(turn: RoomTurn, world: World, { id, what, ticket, of }: PendingRequest, receiverStopped: boolean): void {
  const { state } = turn;
  const { call, me, item } = ticket;
  const occupant = state.occupants[me];
  const isBlow = what === "suffered" || what === "praised" || (what === "consumed" && itemOf(world, item).strike > 0);
  if (occupant !== undefined && isBlow && !occupant.leaving) occupant.busy = 0;
  if (occupant !== undefined && what === "entered") {
    occupant.leaving = false;
    occupant.busy = 0;
    announce(turn, me, `${occupant.name} comes back.`);
  }
  if (what === "gained" || what === "received") {
    state.undone = [...state.undone, id].slice(-MAX_UNDONE);
    if (occupant !== undefined) occupant.items = occupant.items.filter((one) => one !== item);
    putDown(turn, world, item);
    announce(turn, what === "received" ? me : "", `The ${itemOf(world, item).name} falls to the floor.`);
  }
  if (what === "received") {
    const name = state.occupants[of]?.name ?? "Nobody";
    return turn.answer(call, {
      ok: deliverNews(turn, me, `${name} cannot take it now: the ${itemOf(world, item).name} lies on the floor.`),
    });
  }
  const message = receiverStopped ? LEFT_THE_WORLD : "That came to nothing, and nothing was lost: look around and try again.";
  turn.answer(call, { refused: { code: "NOT_NOW", message } });
}
