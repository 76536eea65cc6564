import type { RunContext } from "troupe";
import { itemOf, type World } from "../../world/world.ts";
import { type Brought, brought, type Shape } from "../shape.ts";
import type { Ticket } from "../sheet.ts";
import type { Asked, What } from "./asking.ts";
import { depart, isPlayer, LEFT_THE_WORLD } from "./presence.ts";
import { type RoomState, type RoomTurn, tellAll, toldWithNews } from "./room-state.ts";
import { putDown } from "./upkeep.ts";

const UNDONE_KEPT = 100;

/** The message that brings the answer to `ask`: `then` where there is one. */
export function answers<T extends { ticket: Ticket }>(world: World, what: What, shape: Shape<T>, then: (turn: RoomTurn, back: T) => void) {
  return {
    input: brought(shape),
    run: (turn: RunContext<RoomState, Brought<T>>): void => {
      const { from, args, state } = turn;
      const { back } = args;
      const index = state.asked.findIndex(({ id }) => id === args.of);
      const [asked] = index === -1 ? [] : state.asked.splice(index, 1);
      if (back !== null) {
        if (!state.undone.includes(args.of)) return then(turn, back);
        // Given up, and tried again by hand since: what lies here already cannot be there as well.
        if (isPlayer(from) && (what === "gained" || what === "received")) turn.send(from, "lapse", { item: back.ticket.item });
        return;
      }
      if (asked !== undefined) undo(turn, world, asked, args.gone);
      if (args.gone && from !== undefined) depart(turn, world, from, true);
    },
  };
}

/** No turn of the other took it: what was on its way to it is here, and whoever waits is told. */
function undo(turn: RoomTurn, world: World, { id, what, ticket, of }: Asked, gone: boolean): void {
  const { state } = turn;
  const { call, me, item } = ticket;
  const mine = state.occupants[me];
  const blow = what === "suffered" || what === "praised" || (what === "consumed" && itemOf(world, item).strike > 0);
  if (mine !== undefined && blow && !mine.leaving) mine.busy = 0;
  if (mine !== undefined && what === "entered") {
    mine.leaving = false;
    mine.busy = 0;
    tellAll(turn, me, `${mine.name} comes back.`);
  }
  if (what === "gained" || what === "received") {
    state.undone = [...state.undone, id].slice(-UNDONE_KEPT);
    if (mine !== undefined) mine.items = mine.items.filter((one) => one !== item);
    putDown(turn, world, item);
    tellAll(turn, what === "received" ? me : "", `The ${itemOf(world, item).name} falls to the floor.`);
  }
  if (what === "received") {
    const name = state.occupants[of]?.name ?? "Nobody";
    return turn.answer(call, {
      ok: toldWithNews(turn, me, `${name} cannot take it now: the ${itemOf(world, item).name} lies on the floor.`),
    });
  }
  const message = gone ? LEFT_THE_WORLD : "That came to nothing, and nothing was lost: look around and try again.";
  turn.answer(call, { refused: { code: "NOT_NOW", message } });
}
