import type { ActorId } from "troupe/contract";
import { describeRoom } from "../../rules/describe.ts";
import { meetsEnding } from "../../rules/hero.ts";
import { monsterHere, restoreMonster, returnsFor } from "../../rules/stage.ts";
import { roomOf, type World } from "../../world/world.ts";
import { roomId } from "../room-id.ts";
import type { Sheet } from "../sheet.ts";
import { ask } from "./asking.ts";
import { beholder, newsFor, type Occupant, type RoomState, type RoomTurn, tellAll, toldWithNews } from "./room-state.ts";

/** Who has done nothing for this long is asleep, and not seen. */
const ASLEEP_MS = 30 * 60_000;
/** A step or a blow that is not over by then never will be: its message is a dead letter. */
const STUCK_MS = 10_000;
const PING_MS = 10 * 60_000;
export const LEFT_THE_WORLD = "Your player has left the world. Look around: a new one begins at the start, with empty hands.";
const MOST_OCCUPANTS = 500;

export const isPlayer = (id: string | undefined): id is ActorId => id !== undefined && id.startsWith("player/");

/** Adds somebody, or brings back who slept too long. */
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
  if (!state.watch) {
    state.watch = true;
    turn.wake("doze", { afterMs: ASLEEP_MS, message: { to: turn.self, action: "doze", args: null } });
  }
  const all = Object.entries(state.occupants);
  if (all.length > MOST_OCCUPANTS) {
    const oldest = all.reduce((a, b) => (a[1].seen <= b[1].seen ? a : b));
    delete state.occupants[oldest[0]];
  }
  // Read again: what was stored is a draft of its own.
  return state.occupants[self] ?? fresh;
}

/** Whether the room, asked by this one, would tell the same if it did not know it. */
function isAsNew(world: World, one: Occupant): boolean {
  const { items, deeds, quests, notes, health } = one;
  return [items, deeds, quests, notes].every(({ length }) => length === 0) && health === world.hero.health;
}

/** Marks who sleeps, and forgets sleepers who are as when they began. Where a monster lives everybody is kept: they hear of its comings and goings. */
export function doze(turn: RoomTurn, world: World): void {
  const { state } = turn;
  const keep = roomOf(world, turn.key).monster !== undefined;
  let awake = false;
  for (const [id, one] of Object.entries(state.occupants)) {
    one.asleep = turn.now - one.seen >= ASLEEP_MS;
    if (!one.asleep) awake = true;
    else if (one.engaged) disengage(turn, world, one);
    if (one.asleep && !keep && isAsNew(world, one)) delete state.occupants[id];
  }
  state.watch = awake;
  if (awake) turn.wake("doze", { afterMs: ASLEEP_MS, message: { to: turn.self, action: "doze", args: null } });
}

/** Whether a step or blow of this one is under way. */
export function isBusy(turn: Pick<RoomTurn, "now">, one: Occupant): boolean {
  return one.busy > 0 && turn.now - one.busy < STUCK_MS;
}

/** Now and then a room tells a player that it is about: the player lets the others know, and keeps what it carries. */
export function ping(turn: RoomTurn, self: ActorId): void {
  const one = turn.state.occupants[self];
  if (one === undefined || turn.now - one.pinged < PING_MS) return;
  one.pinged = turn.now;
  turn.send(self, "awake", {});
}

/** In a fight, or with a first blow on its way: the fight is listed once that was suffered. */
export function isFighting(turn: Pick<RoomTurn, "now">, one: Occupant): boolean {
  return one.engaged || (isBusy(turn, one) && !one.leaving);
}

function disengage(turn: Pick<RoomTurn, "state" | "key" | "now">, world: World, one: Occupant): void {
  one.engaged = false;
  const { state } = turn;
  if (state.stage.monsterHealth === 0 || Object.values(state.occupants).some((other) => isFighting(turn, other))) return;
  // Nobody fights it any more: its wounds close.
  restoreMonster(world, turn.key, state.stage);
}

/**
 * Hands somebody on to another room: this room's turn sends them, the other admits them and tells the player, whose
 * turn says farewell here. Until then they can still act here, so a step that is lost strands nobody, and what is listed
 * for them stays as it was: one step changes each list once. `sheet` is what goes with them where it differs already.
 */
export function handOn(
  turn: RoomTurn,
  self: ActorId,
  to: string,
  call: string,
  step: { readonly text: string; readonly after?: number | null; readonly how: string; readonly died: boolean; readonly sheet?: Sheet },
): void {
  const one = turn.state.occupants[self];
  if (one === undefined) return;
  const lead = toldWithNews(turn, self, step.text, step.after);
  one.leaving = true;
  one.going = { to, call };
  one.busy = turn.now;
  const sheet = step.sheet ?? sheetOf(one);
  const mine = { call, me: self, item: "", to: null, text: "", after: null };
  const arrival = { player: self, sheet: { ...sheet, visit: sheet.visit + 1 }, from: turn.key, call, lead, how: step.how, died: step.died };
  ask(turn, roomId(to), "entered", mine, arrival);
}

/** The other end of `handOn`. */
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
  // Whoever else stands here may have lost its connection, and must not keep the monster from this one.
  if (returnsFor(world, turn.key, state.stage, sheet.deeds)) {
    restoreMonster(world, turn.key, state.stage);
    turn.cancel("respawn");
    tellMonster(turn, true, [args.player]);
  }
  tellAll(turn, args.player, args.how);
  if (known === undefined || known.visit < sheet.visit) admit(turn, args.player, sheet, args.died ? null : args.from);
  const seen = describeRoom(world, turn.key, state.stage, beholder(state, args.player));
  // The player's own turn comes to the ending and sends everything home; lists show it at once, so that one step changes each list once.
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

/** The player is elsewhere now: this room forgets it, and answers the call that began here. */
export function farewell(
  turn: RoomTurn,
  world: World,
  args: { readonly player: ActorId; readonly visit: number; readonly call: string | null; readonly text: string },
): void {
  const one = turn.state.occupants[args.player];
  if (one !== undefined && one.visit <= args.visit) {
    // What was said to this one in between is said again where it went.
    if (args.call !== null)
      for (const entry of newsFor(turn.state, args.player))
        if (one.notes.some((note) => note.n === entry.n)) turn.send(args.player, "heard", { text: entry.text });
    depart(turn, world, args.player, args.call === null);
  }
  if (args.call !== null) turn.answer(args.call, { ok: args.text });
}

/** Somebody is no longer here. `seen`: out of the world, and not by a way. */
export function depart(turn: RoomTurn, world: World, player: string, seen: boolean): void {
  const one = turn.state.occupants[player];
  if (one === undefined) return;
  if (seen) {
    tellAll(turn, player, `${one.name} fades from sight.`);
    // A step was under way: the other room has nobody either, and the player will not say when it is over.
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

/** Tells everybody whether a monster is here: players say so in their own state. */
export function tellMonster(turn: RoomTurn, present: boolean, but: readonly string[]): void {
  for (const id of Object.keys((turn.state satisfies RoomState).occupants))
    if (isPlayer(id) && !but.includes(id)) turn.send(id, "monster", { present, room: turn.key });
}
