import { monsterOf, type World } from "../../world/world.ts";
import { enter, gain, heal, lose, meetsEnding, suffer } from "../../rules/hero.ts";
import { itemOf } from "../../world/world.ts";
import { roomId } from "../room-id.ts";
import type { Sheet, Ticket } from "../sheet.ts";
import { noteInRoom, type PlayerTurn, markActive, advanceQuests, sendHome, sheetOf } from "./player-state.ts";

interface ActReply {
  ticket: Ticket;
  sheet: Sheet;
  done: boolean;
  texts: string[];
}

/** Sends the new sheet to the current room if the requesting room is another one, which no longer accepts it. */
function notifyCurrentRoom(turn: PlayerTurn): void {
  if (turn.message.from !== roomId(turn.state.room)) noteInRoom(turn, null);
}

function reply(turn: PlayerTurn, ticket: Ticket, done: boolean, texts: string[]): ActReply {
  notifyCurrentRoom(turn);
  return { ticket, sheet: sheetOf(turn.state), done, texts };
}

/** Takes an item from a room. If the player cannot carry it, the reply returns it. */
export function gainItem(turn: PlayerTurn, world: World, ticket: Ticket): ActReply {
  markActive(turn, world);
  turn.state.revision += 1;
  if (turn.state.items.includes(ticket.item)) return reply(turn, ticket, false, ["You carry it already."]);
  if (!Object.hasOwn(world.items, ticket.item)) return reply(turn, ticket, false, ["It is no more."]);
  const full = gain(world, turn.state, ticket.item);
  if (full !== undefined) return reply(turn, ticket, false, [full]);
  return reply(turn, ticket, true, advanceQuests(turn, world));
}

/** Drops an item that the room has taken back. */
export function lapseItem(turn: PlayerTurn, world: World, item: string): void {
  if (lose(turn.state, item)) noteInRoom(turn, `The ${itemOf(world, item).name} is not with you after all.`);
}

/** Gives up an item. The reply carries it. */
export function releaseItem(turn: PlayerTurn, world: World, ticket: Ticket): ActReply {
  markActive(turn, world);
  turn.state.revision += 1;
  if (!lose(turn.state, ticket.item)) return reply(turn, ticket, false, ["You do not have it any more."]);
  return reply(turn, ticket, true, []);
}

/** Consumes an item. It goes home and grows again there. */
export function consumeItem(turn: PlayerTurn, world: World, ticket: Ticket): ActReply {
  markActive(turn, world);
  turn.state.revision += 1;
  const item = itemOf(world, ticket.item);
  if (item.strike === 0 && turn.state.health >= world.hero.health)
    return reply(turn, ticket, false, [`You are unhurt: keep the ${item.name} for when you bleed.`]);
  if (!lose(turn.state, ticket.item)) return reply(turn, ticket, false, ["You do not have it any more."]);
  sendHome(turn, world, [ticket.item], true);
  const healed = heal(world, turn.state, item.heal);
  return reply(
    turn,
    ticket,
    true,
    item.heal === 0 ? [] : [`You feel better: ${healed} health back, ${turn.state.health} of ${world.hero.health}.`],
  );
}

/** Suffers a blow. A player who falls loses all items and gets full health; the room then moves it to the start. */
export function sufferBlow(turn: PlayerTurn, world: World, ticket: Ticket, damage: number, monster: string) {
  markActive(turn, world);
  turn.state.revision += 1;
  const { died, lost } = suffer(world, turn.state, damage);
  sendHome(turn, world, lost, false);
  notifyCurrentRoom(turn);
  return { ticket, sheet: sheetOf(turn.state), died, damage, monster };
}

/** Records that a monster was defeated with the help of this player. */
export function recordDeed(turn: PlayerTurn, world: World, monster: string, ticket: Ticket | null): ActReply | null {
  const { state } = turn;
  if (turn.message.from === roomId(state.room)) state.monsterPresent = false;
  if (!state.deeds.includes(monster)) state.deeds.push(monster);
  const texts = advanceQuests(turn, world);
  state.revision += 1;
  if (ticket !== null) return reply(turn, ticket, true, texts);
  noteInRoom(turn, [`You have your share in the fall of the ${monsterOf(world, monster).name}.`, ...texts].join(" "));
  return null;
}

export interface Arrival {
  readonly room: string;
  readonly visit: number;
  /** The room where the call waits. */
  readonly back: string;
  readonly call: string;
  readonly text: string;
  readonly monster: boolean;
  /** The revision of the sheet that the new room has; null if it is not known. */
  readonly revision: number | null;
}

/** Moves the player to the room that has admitted it, and lets the previous room remove it. */
export function arriveAt(turn: PlayerTurn, world: World, arrival: Arrival): void {
  const { state, self } = turn;
  if (arrival.visit <= state.visit) {
    // An outdated move: the player has made another move since.
    if (arrival.room !== state.room)
      turn.send(roomId(arrival.room), "farewell", { player: self, visit: arrival.visit, call: null, text: "" });
    // Answers the call there. If the player has returned to that room, its visit is later and it stays.
    turn.send(roomId(arrival.back), "farewell", { player: self, visit: arrival.visit - 1, call: arrival.call, text: arrival.text });
    return;
  }
  markActive(turn, world);
  const before = sheetOf({ ...state, visit: arrival.visit });
  // Changes during the move are missing in the new room's copy.
  const stale = arrival.revision !== state.revision;
  state.visit = arrival.visit;
  state.monsterPresent = arrival.monster;
  const rested = enter(world, state, arrival.room);
  const texts = [...(rested === undefined ? [] : [rested]), ...advanceQuests(turn, world)];
  if (stale || state.items.length !== before.items.length || meetsEnding(world, arrival.room, before)) noteInRoom(turn, null);
  turn.send(roomId(arrival.back), "farewell", {
    player: self,
    visit: arrival.visit - 1,
    call: arrival.call,
    text: [arrival.text, ...texts].join("\n"),
  });
}
