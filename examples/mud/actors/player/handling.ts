import { monsterOf, type World } from "../../world/world.ts";
import { enter, gain, heal, lose, meetsEnding, suffer } from "../../rules/hero.ts";
import { itemOf } from "../../world/world.ts";
import { roomId } from "../room-id.ts";
import type { Sheet, Ticket } from "../sheet.ts";
import { noteInRoom, type PlayerTurn, present, progress, sendHome, sheetOf } from "./player-state.ts";

interface Back {
  ticket: Ticket;
  sheet: Sheet;
  done: boolean;
  texts: string[];
}

/** A room that this player has left since it asked takes no sheet any more: the one it is in now is told. */
function tellElsewhere(turn: PlayerTurn): void {
  if (turn.message.from !== roomId(turn.state.room)) noteInRoom(turn, null);
}

function back(turn: PlayerTurn, ticket: Ticket, done: boolean, texts: string[]): Back {
  tellElsewhere(turn);
  return { ticket, sheet: sheetOf(turn.state), done, texts };
}

/** A room gives an item: into the hands, or back with the reply. */
export function gainItem(turn: PlayerTurn, world: World, ticket: Ticket): Back {
  present(turn, world);
  turn.state.revision += 1;
  if (turn.state.items.includes(ticket.item)) return back(turn, ticket, false, ["You carry it already."]);
  if (!Object.hasOwn(world.items, ticket.item)) return back(turn, ticket, false, ["It is no more."]);
  const full = gain(world, turn.state, ticket.item);
  if (full !== undefined) return back(turn, ticket, false, [full]);
  return back(turn, ticket, true, progress(turn, world));
}

/** A room has the item it gave: it is not here. */
export function lapseItem(turn: PlayerTurn, world: World, item: string): void {
  if (lose(turn.state, item)) noteInRoom(turn, `The ${itemOf(world, item).name} is not with you after all.`);
}

/** A room asks for an item: it travels with the reply. */
export function releaseItem(turn: PlayerTurn, world: World, ticket: Ticket): Back {
  present(turn, world);
  turn.state.revision += 1;
  if (!lose(turn.state, ticket.item)) return back(turn, ticket, false, ["You do not have it any more."]);
  return back(turn, ticket, true, []);
}

/** An item is used up: it goes home, to grow again there. */
export function consumeItem(turn: PlayerTurn, world: World, ticket: Ticket): Back {
  present(turn, world);
  turn.state.revision += 1;
  const item = itemOf(world, ticket.item);
  if (item.strike === 0 && turn.state.health >= world.hero.health)
    return back(turn, ticket, false, [`You are unhurt: keep the ${item.name} for when you bleed.`]);
  if (!lose(turn.state, ticket.item)) return back(turn, ticket, false, ["You do not have it any more."]);
  sendHome(turn, world, [ticket.item], true);
  const healed = heal(world, turn.state, item.heal);
  return back(
    turn,
    ticket,
    true,
    item.heal === 0 ? [] : [`You feel better: ${healed} health back, ${turn.state.health} of ${world.hero.health}.`],
  );
}

/** A monster's blow. Who falls loses what it carried, and is whole again; the room sends it on. */
export function sufferBlow(turn: PlayerTurn, world: World, ticket: Ticket, damage: number, monster: string) {
  present(turn, world);
  turn.state.revision += 1;
  const { died, lost } = suffer(world, turn.state, damage);
  sendHome(turn, world, lost, false);
  tellElsewhere(turn);
  return { ticket, sheet: sheetOf(turn.state), died, damage, monster };
}

/** A monster fell, and this player fought it. */
export function recordDeed(turn: PlayerTurn, world: World, monster: string, ticket: Ticket | null): Back | null {
  const { state } = turn;
  if (turn.message.from === roomId(state.room)) state.monsterPresent = false;
  if (!state.deeds.includes(monster)) state.deeds.push(monster);
  const texts = progress(turn, world);
  state.revision += 1;
  if (ticket !== null) return back(turn, ticket, true, texts);
  noteInRoom(turn, [`You have your share in the fall of the ${monsterOf(world, monster).name}.`, ...texts].join(" "));
  return null;
}

export interface ActorImport {
  readonly room: string;
  readonly visit: number;
  /** Where the call waits. */
  readonly back: string;
  readonly call: string;
  readonly text: string;
  readonly monster: boolean;
  /** Of the sheet that the new room was given; null: not told. */
  readonly revision: number | null;
}

/** The new room has admitted this player: now it is there, and the old one may forget it. */
export function arriveAt(turn: PlayerTurn, world: World, arrival: ActorImport): void {
  const { state, self } = turn;
  if (arrival.visit <= state.visit) {
    // A step that came too late: this player has gone another way since.
    if (arrival.room !== state.room)
      turn.send(roomId(arrival.room), "farewell", { player: self, visit: arrival.visit, call: null, text: "" });
    // The call waits there. Whoever came back since is there by a later visit, and stays.
    turn.send(roomId(arrival.back), "farewell", { player: self, visit: arrival.visit - 1, call: arrival.call, text: arrival.text });
    return;
  }
  present(turn, world);
  const before = sheetOf({ ...state, visit: arrival.visit });
  // What changed while the step was under way changed in the old room's copy at best.
  const stale = arrival.revision !== state.revision;
  state.visit = arrival.visit;
  state.monsterPresent = arrival.monster;
  const rested = enter(world, state, arrival.room);
  const texts = [...(rested === undefined ? [] : [rested]), ...progress(turn, world)];
  if (stale || state.items.length !== before.items.length || meetsEnding(world, arrival.room, before)) noteInRoom(turn, null);
  turn.send(roomId(arrival.back), "farewell", {
    player: self,
    visit: arrival.visit - 1,
    call: arrival.call,
    text: [arrival.text, ...texts].join("\n"),
  });
}
