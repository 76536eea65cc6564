import type { ActorId } from "troupe/contract";
import { describeRoom } from "../../rules/describe.ts";
import { meetsEnding } from "../../rules/hero.ts";
import { monsterHere, restoreMonster, returnsFor } from "../../rules/stage.ts";
import { roomOf, type World } from "../../world/world.ts";
import { roomId } from "../room-id.ts";
import type { Sheet } from "../sheet.ts";
import { sendRequest } from "./requests.ts";
import {
  viewpointOf,
  newsFor,
  type Occupant,
  type RoomState,
  type RoomTurn,
  announce,
  ASLEEP_MS,
  deliverNews,
  watchSleepers,
} from "./room-state.ts";

/** A move or blow that has not ended by then never will: its message is a dead letter. */
const STUCK_MS = 10_000;
const PING_MS = 10 * 60_000;
export const LEFT_THE_WORLD = "Your player has left the world. Look around: a new one begins at the start, with empty hands.";
const MAX_OCCUPANTS = 500;

export const isPlayer = (id: string | undefined): id is ActorId => id !== undefined && id.startsWith("player/");

/** Adds an occupant. */
export function admit(turn: RoomTurn, self: string, sheet: Sheet, came: string | null): Occupant {
  const { state } = turn;
  const fresh: Occupant = {
    ...sheet,
    seen: turn.now,
    cursor: state.next - 1,
    asleep: false,
    engaged: false,
    leaving: false,
    busy: 0,
    came,
    notes: [],
    pinged: turn.now,
  };
  state.occupants[self] = fresh;
  watchSleepers(turn);
  if (Object.keys(state.occupants).length > MAX_OCCUPANTS) {
    const oldest = Object.entries(state.occupants).reduce((a, b) => (a[1].seen <= b[1].seen ? a : b));
    delete state.occupants[oldest[0]];
  }
  // Read again, since the state returns a draft and not the stored object.
  return state.occupants[self] ?? fresh;
}

/** Whether the room would describe itself to this player in the same way if it did not know the player. */
function isForgettable(world: World, one: Occupant): boolean {
  const { items, deeds, quests, notes, health } = one;
  return [items, deeds, quests, notes].every(({ length }) => length === 0) && health === world.hero.health;
}

/** Marks sleeping players and removes those without anything to remember. A room with a monster removes none, since it notifies its players of the monster. */
export function doze(turn: RoomTurn, world: World): void {
  const { state } = turn;
  const hasMonster = roomOf(world, turn.key).monster !== undefined;
  let awake = false;
  for (const [id, one] of Object.entries(state.occupants)) {
    // Not woken here: a player whom a note has admitted is asleep since then.
    if (turn.now - one.seen >= ASLEEP_MS) one.asleep = true;
    if (!one.asleep) awake = true;
    else if (one.engaged) disengage(turn, world, one);
    if (one.asleep && !hasMonster && isForgettable(world, one)) delete state.occupants[id];
  }
  state.watch = false;
  if (awake) watchSleepers(turn);
}

/** Whether a move or blow of the occupant is in progress. */
export function isBusy(turn: Pick<RoomTurn, "now">, one: Occupant): boolean {
  return one.busy > 0 && turn.now - one.busy < STUCK_MS;
}

/** Tells a player from time to time that it is active, which renews its roster entry and its idle timer. */
export function ping(turn: RoomTurn, self: ActorId): void {
  const one = turn.state.occupants[self];
  if (one === undefined || turn.now - one.pinged < PING_MS) return;
  one.pinged = turn.now;
  turn.send(self, "awake", {});
}

/** Whether the occupant is in a fight, or its first blow is in progress. */
export function isFighting(turn: Pick<RoomTurn, "now">, one: Occupant): boolean {
  return one.engaged || (isBusy(turn, one) && !one.leaving);
}

function disengage(turn: Pick<RoomTurn, "state" | "key" | "now">, world: World, one: Occupant): void {
  one.engaged = false;
  const { state } = turn;
  if (state.stage.monsterHealth === 0 || Object.values(state.occupants).some((other) => isFighting(turn, other))) return;
  // The last fighter has left, so the monster recovers.
  restoreMonster(world, turn.key, state.stage);
}

/**
 * Moves a player to another room. This room requests it, the other room admits the player and notifies it, and the player's turn sends
 * `farewell` to this room. Until then the player can act here, so a lost message strands no player, and the lists of the player change
 * only once. `sheet` replaces the stored one if it has changed.
 */
export function leaveFor(
  turn: RoomTurn,
  self: ActorId,
  to: string,
  call: string,
  step: { readonly text: string; readonly after?: number | null; readonly how: string; readonly died: boolean; readonly sheet?: Sheet },
): void {
  const one = turn.state.occupants[self];
  if (one === undefined) return;
  const text = deliverNews(turn, self, step.text, step.after);
  one.leaving = true;
  one.going = { to, call };
  one.busy = turn.now;
  const sheet = step.sheet ?? sheetOf(one);
  const mine = { call, me: self, item: "", to: null, text: "", after: null };
  const arrival = {
    player: self,
    sheet: { ...sheet, visit: sheet.visit + 1 },
    from: turn.key,
    call,
    lead: text,
    how: step.how,
    died: step.died,
  };
  sendRequest(turn, roomId(to), "entered", mine, arrival);
}

/** Admits a player that another room sent with `leaveFor`. */
export function arrive(
  turn: RoomTurn,
  world: World,
  args: {
    readonly player: ActorId;
    readonly sheet: Sheet;
    readonly from: string;
    readonly call: string;
    readonly lead: string;
    readonly how: string;
    readonly died: boolean;
  },
): void {
  const { state } = turn;
  const known = state.occupants[args.player];
  const room = roomOf(world, turn.key);
  const sheet = room.rest ? { ...args.sheet, health: world.hero.health } : args.sheet;
  // Even if other players are here: they may have lost their connection, and must not block the monster for this one.
  if (returnsFor(world, turn.key, state.stage, sheet.deeds)) {
    restoreMonster(world, turn.key, state.stage);
    turn.cancel("respawn");
    announceMonster(turn, true, [args.player]);
  }
  announce(turn, args.player, args.how);
  if (known === undefined || known.visit < sheet.visit) admit(turn, args.player, sheet, args.died ? null : args.from);
  const seen = describeRoom(world, turn.key, state.stage, viewpointOf(state, args.player));
  // The player's own turn reaches the ending and sends all items home. The copy changes now, so that the move changes each list only once.
  const one = state.occupants[args.player];
  if (one !== undefined && meetsEnding(world, turn.key, sheet)) one.items = [];
  turn.send(args.player, "arrived", {
    room: turn.key,
    visit: sheet.visit,
    back: args.from,
    call: args.call,
    text: `${args.lead}\n\n${seen}`,
    monster: monsterHere(world, turn.key, state.stage) !== undefined,
    revision: sheet.revision,
  });
}

/** Removes a player who is in another room now, and answers the call that began here. */
export function farewell(
  turn: RoomTurn,
  world: World,
  args: { readonly player: ActorId; readonly visit: number; readonly call: string | null; readonly text: string },
): void {
  const one = turn.state.occupants[args.player];
  if (one !== undefined && one.visit <= args.visit) {
    // Notes that arrived in the meantime are sent on to the player's new room.
    if (args.call !== null)
      for (const entry of newsFor(turn.state, args.player))
        if (one.notes.some((note) => note.n === entry.n)) turn.send(args.player, "heard", { text: entry.text });
    depart(turn, world, args.player, args.call === null);
  }
  if (args.call !== null) turn.answer(args.call, { ok: args.text });
}

/** Removes an occupant. `visibly` if it leaves the world and not through an exit. */
export function depart(turn: RoomTurn, world: World, player: string, visibly: boolean): void {
  const one = turn.state.occupants[player];
  if (one === undefined) return;
  if (visibly) {
    announce(turn, player, `${one.name} fades from sight.`);
    // A move was in progress. The other room must remove the player too, and the player will not answer the call.
    if (one.leaving && one.going !== undefined) {
      const { to, call } = one.going;
      turn.send(roomId(to), "farewell", { player, visit: one.visit + 1, call: null, text: "" });
      turn.answer(call, { refused: { code: "NOT_NOW", message: LEFT_THE_WORLD } });
    }
  }
  disengage(turn, world, one);
  delete turn.state.occupants[player];
}

function sheetOf(one: Occupant): Sheet {
  const { name, health, items, deeds, quests, completed, revision, visit, ended } = one;
  return { name, health, items: [...items], deeds: [...deeds], quests: [...quests], completed: [...completed], revision, visit, ended };
}

/** Notifies the players here whether the monster is present, which is part of their state. `but` is left out. */
export function announceMonster(turn: RoomTurn, present: boolean, but: readonly string[]): void {
  for (const id of Object.keys((turn.state satisfies RoomState).occupants))
    if (isPlayer(id) && !but.includes(id)) turn.send(id, "monster", { present, room: turn.key });
}
