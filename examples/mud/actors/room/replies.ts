import type { ActorId } from "troupe/contract";
import { monsterHere } from "../../rules/stage.ts";
import { itemOf, monsterOf, roomOf, type World } from "../../world/world.ts";
import { fields, flag, list, number, text, type Shape } from "../message-shapes.ts";
import { sheet, type Sheet, ticket, type Ticket } from "../sheet.ts";
import { sendRequest } from "./requests.ts";
import { leaveFor, isPlayer } from "./presence.ts";
import { type RoomTurn, announce, addNote, deliverNews, updateSheet } from "./room-state.ts";
import { putDown, victory } from "./upkeep.ts";

/** The reply of a player's turn to an act. */
export interface ActReply {
  ticket: Ticket;
  sheet: Sheet;
  /** Whether the act succeeded. */
  done: boolean;
  /** The text of the answer, or the reasons of the refusal. */
  texts: string[];
}

export const actReply: Shape<ActReply> = fields({ ticket, sheet, done: flag, texts: list(text) });
export interface BlowReply {
  ticket: Ticket;
  sheet: Sheet;
  died: boolean;
  damage: number;
  monster: string;
}

export const blowReply: Shape<BlowReply> = fields({ ticket, sheet, died: flag, damage: number, monster: text });

const nameOf = (world: World, item: string): string => itemOf(world, item).name;

function finish(turn: RoomTurn, { call, me, after }: Ticket, result: string): void {
  turn.answer(call, { ok: deliverNews(turn, me, result, after) });
}

/** Ends the blow of an occupant, but not a move. */
function endBlow(turn: RoomTurn, { me }: Ticket): void {
  const one = turn.state.occupants[me];
  if (one !== undefined && !one.leaving) one.busy = 0;
}

function fail(turn: RoomTurn, { call }: Ticket, reason: string): void {
  turn.answer(call, { refused: { code: "REFUSED", message: reason } });
}

const lines = (first: string, texts: readonly string[]): string => [first, ...texts].join("\n");

/** Ends `pick_up`, after the player's turn. */
export function gained(turn: RoomTurn, world: World, back: ActReply): void {
  const { item, me } = back.ticket;
  updateSheet(turn.state, me, back.sheet);
  if (back.done) return finish(turn, back.ticket, lines(`You pick up the ${nameOf(world, item)}.`, back.texts));
  putDown(turn, world, item);
  announce(turn, me, `${back.sheet.name} puts the ${nameOf(world, item)} back.`);
  fail(turn, back.ticket, back.texts.join(" "));
}

/** Continues `drop` and `give`, after the turn of the player who has released the item. */
export function released(turn: RoomTurn, world: World, back: ActReply): void {
  const { item, me, to } = back.ticket;
  if (to === null || !back.done) updateSheet(turn.state, me, back.sheet);
  if (!back.done) return fail(turn, back.ticket, back.texts.join(" "));
  if (to !== null && isPlayer(to) && turn.state.occupants[to] !== undefined) {
    sendRequest(turn, to, "received", back.ticket, { giver: { ...back.sheet } });
    return;
  }
  updateSheet(turn.state, me, back.sheet);
  putDown(turn, world, item);
  announce(turn, me, `${back.sheet.name} drops the ${nameOf(world, item)}.`);
  finish(turn, back.ticket, `You drop the ${nameOf(world, item)}.`);
}

export interface GiftReply extends ActReply {
  giver: Sheet;
}

export const giftReply: Shape<GiftReply> = fields({ ticket, sheet, done: flag, texts: list(text), giver: sheet });

/** Ends `give`, after the receiver's turn. The item is with the receiver, or back here if it was not taken. */
export function received(turn: RoomTurn, world: World, back: GiftReply): void {
  const { item, me, to } = back.ticket;
  updateSheet(turn.state, me, back.giver);
  if (to !== null) updateSheet(turn.state, to, back.sheet);
  if (back.done) {
    const receiver = to === null ? undefined : turn.state.occupants[to];
    const gift = `${back.giver.name} gives the ${nameOf(world, item)} to ${back.sheet.name}.`;
    announce(turn, me, gift, to === null || receiver === undefined ? {} : { to });
    // A note, so that speech does not displace it.
    if (receiver !== undefined) addNote(turn, receiver, `${back.giver.name} gives you the ${nameOf(world, item)}.`);
    return finish(turn, back.ticket, `You give the ${nameOf(world, item)} to ${back.sheet.name}.`);
  }
  putDown(turn, world, item);
  announce(turn, me, `${back.giver.name} drops the ${nameOf(world, item)}.`);
  finish(turn, back.ticket, `${back.sheet.name} cannot carry any more: the ${nameOf(world, item)} lies on the floor.`);
}

/** Ends `use`, after the player's turn. */
export function consumed(turn: RoomTurn, world: World, back: ActReply): void {
  const { item, me } = back.ticket;
  updateSheet(turn.state, me, back.sheet);
  const { strike, name } = itemOf(world, item);
  if (strike > 0) endBlow(turn, back.ticket);
  if (!back.done) return fail(turn, back.ticket, back.texts.join(" "));
  announce(turn, me, `${back.sheet.name} uses the ${name}.`);
  const monster = monsterHere(world, turn.key, turn.state.stage);
  if (strike === 0) return finish(turn, back.ticket, lines(`You use the ${name}.`, back.texts));
  if (monster === undefined) return finish(turn, back.ticket, `You use the ${name}, but there is nothing left to strike.`);
  const one = turn.state.occupants[me];
  if (one !== undefined) one.engaged = true;
  const left = Math.max(0, turn.state.stage.monsterHealth - strike);
  const wound = `The ${name} costs the ${monsterOf(world, monster).name} ${turn.state.stage.monsterHealth - left} health: ${left} of ${monsterOf(world, monster).health} left.`;
  if (left === 0) return victory(turn, world, { ...back.ticket, text: wound });
  turn.state.stage.monsterHealth = left;
  finish(turn, back.ticket, wound);
}

/** Ends `battle` and a failed `flee`, after the player's turn that suffered the blow. */
export function suffered(turn: RoomTurn, world: World, back: BlowReply): void {
  const { me, text: firstLine, call } = back.ticket;
  const one = turn.state.occupants[me];
  const name = monsterOf(world, back.monster).name;
  const blow = back.damage === 0 ? `The ${name} misses you.` : `The ${name} hits you for ${back.damage}.`;
  if (!back.died) {
    updateSheet(turn.state, me, back.sheet);
    endBlow(turn, back.ticket);
    if (one !== undefined) one.engaged = monsterHere(world, turn.key, turn.state.stage) !== undefined;
    return finish(turn, back.ticket, `${firstLine}\n${blow} You have ${back.sheet.health} of ${world.hero.health} health.`);
  }
  const self: ActorId | undefined = isPlayer(me) ? me : undefined;
  announce(turn, me, `${back.sheet.name} falls to the ${name}.`);
  const fate = `${firstLine}\n${blow} You fall, and everything goes dark. What you carried finds its way back to where it belongs. You wake up in ${roomOf(world, world.start).name}.`;
  if (self === undefined || one === undefined)
    return turn.answer(call, { refused: { code: "NOT_NOW", message: "You fell, but not here: look around." } });
  leaveFor(turn, self, world.start, call, {
    text: fate,
    after: back.ticket.after,
    how: `${one.name} wakes up here, pale and empty-handed.`,
    died: true,
    sheet: back.sheet,
  });
}

/** Ends the act that defeated the monster, after the player's turn. */
export function praised(turn: RoomTurn, back: ActReply): void {
  updateSheet(turn.state, back.ticket.me, back.sheet);
  endBlow(turn, back.ticket);
  finish(turn, back.ticket, lines(back.ticket.text, back.texts));
}
