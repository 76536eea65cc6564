import type { ActorId } from "troupe/contract";
import { monsterHere } from "../../rules/stage.ts";
import { itemOf, monsterOf, roomOf, type World } from "../../world/world.ts";
import { fields, flag, list, number, text, type Shape } from "../shape.ts";
import { sheet, type Sheet, ticket, type Ticket } from "../sheet.ts";
import { ask } from "./asking.ts";
import { handOn, isPlayer } from "./presence.ts";
import { type RoomTurn, tellAll, tellOne, toldWithNews, updateSheet } from "./room-state.ts";
import { putDown, victory } from "./upkeep.ts";

/** What a player's turn sends back for a ticket. */
export interface Returned {
  ticket: Ticket;
  sheet: Sheet;
  /** Whether it was done. */
  done: boolean;
  /** What to tell, or why it was not done. */
  texts: string[];
}

export const returned: Shape<Returned> = fields({ ticket, sheet, done: flag, texts: list(text) });
export interface Suffering {
  ticket: Ticket;
  sheet: Sheet;
  died: boolean;
  damage: number;
  monster: string;
}

export const suffering: Shape<Suffering> = fields({ ticket, sheet, died: flag, damage: number, monster: text });

const nameOf = (world: World, item: string): string => itemOf(world, item).name;

function finish(turn: RoomTurn, { call, me, after }: Ticket, told: string): void {
  turn.answer(call, { ok: toldWithNews(turn, me, told, after) });
}

/** A blow is over. What was handed over meanwhile ends no blow, and no step. */
function rest(turn: RoomTurn, { me }: Ticket): void {
  const one = turn.state.occupants[me];
  if (one !== undefined && !one.leaving) one.busy = 0;
}

function fail(turn: RoomTurn, { call }: Ticket, why: string): void {
  turn.answer(call, { refused: { code: "REFUSED", message: why } });
}

const told = (first: string, texts: readonly string[]): string => [first, ...texts].join("\n");

/** `pick_up`, second half. */
export function gained(turn: RoomTurn, world: World, back: Returned): void {
  const { item, me } = back.ticket;
  updateSheet(turn.state, me, back.sheet);
  if (back.done) return finish(turn, back.ticket, told(`You pick up the ${nameOf(world, item)}.`, back.texts));
  putDown(turn, world, item);
  tellAll(turn, me, `${back.sheet.name} puts the ${nameOf(world, item)} back.`);
  fail(turn, back.ticket, back.texts.join(" "));
}

/** `drop` and `give`, second half: the item is in this message. */
export function released(turn: RoomTurn, world: World, back: Returned): void {
  const { item, me, to } = back.ticket;
  if (to === null || !back.done) updateSheet(turn.state, me, back.sheet);
  if (!back.done) return fail(turn, back.ticket, back.texts.join(" "));
  if (to !== null && isPlayer(to) && turn.state.occupants[to] !== undefined) {
    ask(turn, to, "received", back.ticket, { giver: { ...back.sheet } });
    return;
  }
  updateSheet(turn.state, me, back.sheet);
  putDown(turn, world, item);
  tellAll(turn, me, `${back.sheet.name} drops the ${nameOf(world, item)}.`);
  finish(turn, back.ticket, `You drop the ${nameOf(world, item)}.`);
}

export interface Receipt extends Returned {
  giver: Sheet;
}

export const receipt: Shape<Receipt> = fields({ ticket, sheet, done: flag, texts: list(text), giver: sheet });

/** `give`, third part: the item is with the receiver, or back in this message. */
export function received(turn: RoomTurn, world: World, back: Receipt): void {
  const { item, me, to } = back.ticket;
  updateSheet(turn.state, me, back.giver);
  if (to !== null) updateSheet(turn.state, to, back.sheet);
  if (back.done) {
    const receiver = to === null ? undefined : turn.state.occupants[to];
    const gift = `${back.giver.name} gives the ${nameOf(world, item)} to ${back.sheet.name}.`;
    tellAll(turn, me, gift, to === null || receiver === undefined ? {} : { to });
    // For the receiver's eyes: no chatter takes it away.
    if (receiver !== undefined) tellOne(turn, receiver, `${back.giver.name} gives you the ${nameOf(world, item)}.`);
    return finish(turn, back.ticket, `You give the ${nameOf(world, item)} to ${back.sheet.name}.`);
  }
  putDown(turn, world, item);
  tellAll(turn, me, `${back.giver.name} drops the ${nameOf(world, item)}.`);
  finish(turn, back.ticket, `${back.sheet.name} cannot carry any more: the ${nameOf(world, item)} lies on the floor.`);
}

/** `use`, second half. */
export function consumed(turn: RoomTurn, world: World, back: Returned): void {
  const { item, me } = back.ticket;
  updateSheet(turn.state, me, back.sheet);
  const { strike, name } = itemOf(world, item);
  if (strike > 0) rest(turn, back.ticket);
  if (!back.done) return fail(turn, back.ticket, back.texts.join(" "));
  tellAll(turn, me, `${back.sheet.name} uses the ${name}.`);
  const monster = monsterHere(world, turn.key, turn.state.stage);
  if (strike === 0) return finish(turn, back.ticket, told(`You use the ${name}.`, back.texts));
  if (monster === undefined) return finish(turn, back.ticket, `You use the ${name}, but there is nothing left to strike.`);
  const one = turn.state.occupants[me];
  if (one !== undefined) one.engaged = true;
  const left = Math.max(0, turn.state.stage.monsterHealth - strike);
  const wound = `The ${name} costs the ${monsterOf(world, monster).name} ${turn.state.stage.monsterHealth - left} health: ${left} of ${monsterOf(world, monster).health} left.`;
  if (left === 0) return victory(turn, world, { ...back.ticket, text: wound });
  turn.state.stage.monsterHealth = left;
  finish(turn, back.ticket, wound);
}

/** `battle` and a failed `flee`, second half: the blow was suffered. */
export function suffered(turn: RoomTurn, world: World, back: Suffering): void {
  const { me, text: lead, call } = back.ticket;
  const one = turn.state.occupants[me];
  const name = monsterOf(world, back.monster).name;
  const blow = back.damage === 0 ? `The ${name} misses you.` : `The ${name} hits you for ${back.damage}.`;
  if (!back.died) {
    updateSheet(turn.state, me, back.sheet);
    rest(turn, back.ticket);
    if (one !== undefined) one.engaged = monsterHere(world, turn.key, turn.state.stage) !== undefined;
    return finish(turn, back.ticket, `${lead}\n${blow} You have ${back.sheet.health} of ${world.hero.health} health.`);
  }
  const self: ActorId | undefined = isPlayer(me) ? me : undefined;
  tellAll(turn, me, `${back.sheet.name} falls to the ${name}.`);
  const fate = `${lead}\n${blow} You fall, and everything goes dark. What you carried finds its way back to where it belongs. You wake up in ${roomOf(world, world.start).name}.`;
  if (self === undefined || one === undefined)
    return turn.answer(call, { refused: { code: "NOT_NOW", message: "You fell, but not here: look around." } });
  handOn(turn, self, world.start, call, {
    text: fate,
    after: back.ticket.after,
    how: `${one.name} wakes up here, pale and empty-handed.`,
    died: true,
    sheet: back.sheet,
  });
}

/** The monster fell: the player knows. */
export function praised(turn: RoomTurn, back: Returned): void {
  updateSheet(turn.state, back.ticket.me, back.sheet);
  rest(turn, back.ticket);
  finish(turn, back.ticket, told(back.ticket.text, back.texts));
}
