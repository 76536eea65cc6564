import type { ActorId } from "troupe/contract";
import { putHome, monsterHere, restoreMonster, takeFromFloor, woundMonster } from "../../rules/stage.ts";
import { homesOf, itemOf, monsterOf, roomOf, type World } from "../../world/world.ts";
import { listed } from "../../rules/text.ts";
import { roomId } from "../room-id.ts";
import type { Ticket } from "../sheet.ts";
import { sendRequest } from "./requests.ts";
import { isFighting, isPlayer, announceMonster } from "./presence.ts";
import { type Occupant, type RoomTurn, announce } from "./room-state.ts";

/** Starts the timer that returns an item home, if it lies on a floor where it does not belong. */
export function scheduleReturn(turn: RoomTurn, world: World, item: string): void {
  const home = homesOf(world).get(item);
  if (home?.room === turn.key && home.place === "floor") return;
  turn.wake(`stray-${item}`, { afterMs: world.pace.returnMs, message: { to: turn.self, action: "stray", args: { item } } });
}

/** Puts an item on the floor, if the world still has it. */
export function putDown(turn: RoomTurn, world: World, item: string): void {
  if (!homesOf(world).has(item)) return;
  turn.state.stage.floor.push(item);
  scheduleReturn(turn, world, item);
}

/** Returns an item home after it lay too long where it does not belong. */
export function returnHome(turn: RoomTurn, world: World, item: string): void {
  const home = homesOf(world).get(item);
  if (home === undefined || !takeFromFloor(turn.state.stage, item)) return;
  announce(turn, "", `The ${itemOf(world, item).name} fades away, back to where it belongs.`);
  if (home.room === turn.key) putHome(world, turn.key, turn.state.stage, item);
  else turn.send(roomId(home.room), "homecoming", { item, rest: false });
}

/** Puts back an item that belongs here. A consumed one grows again first. */
export function homecoming(turn: RoomTurn, world: World, item: string, rest: boolean): void {
  const { state } = turn;
  if (state.resting.includes(item)) return;
  if (rest) {
    state.resting.push(item);
    turn.wake(`regrow-${item}`, { afterMs: world.pace.regrowMs, message: { to: turn.self, action: "regrow", args: { item } } });
    return;
  }
  if (!putHome(world, turn.key, state.stage, item)) putDown(turn, world, item);
}

export function regrow(turn: RoomTurn, world: World, item: string): void {
  const index = turn.state.resting.indexOf(item);
  if (index === -1) return;
  turn.state.resting.splice(index, 1);
  homecoming(turn, world, item, false);
}

/** Defeats the monster. It counts for all who fought it. The slayer's own turn answers the call. */
export function victory(turn: RoomTurn, world: World, ticket: Ticket): void {
  const { state, key } = turn;
  const { monster } = roomOf(world, key);
  if (monster === undefined) return;
  const { left } = woundMonster(state.stage, state.stage.monsterHealth);
  for (const item of left) scheduleReturn(turn, world, item);
  const { name } = monsterOf(world, monster);
  const slayer = state.occupants[ticket.me];
  announce(turn, ticket.me, `${slayer?.name ?? "Somebody"} defeats the ${name}.`);
  turn.wake("respawn", { afterMs: world.pace.respawnMs, message: { to: turn.self, action: "respawn", args: null } });
  const found = left.length === 0 ? "" : ` It leaves behind: ${listed(left.map((item) => itemOf(world, item).name))}.`;
  const text = `${ticket.text}\nYou have defeated the ${name}!${found}`;
  if (slayer !== undefined) slayer.busy = turn.now;
  const fighters = Object.entries(state.occupants).filter(([id, one]) => isFighting(turn, one) || id === ticket.me);
  for (const [id, one] of fighters) {
    one.engaged = false;
    if (!isPlayer(id)) continue;
    if (!one.deeds.includes(monster)) one.deeds.push(monster);
    if (id === ticket.me) sendRequest(turn, id, "praised", { ...ticket, text, after: state.next - 1 }, { monster });
    else turn.send(id, "deed", { monster, ticket: null });
  }
  announceMonster(
    turn,
    false,
    fighters.map(([id]) => id),
  );
}

export function respawn(turn: RoomTurn, world: World): void {
  const { monster } = roomOf(world, turn.key);
  if (monster === undefined || monsterHere(world, turn.key, turn.state.stage) !== undefined) return;
  restoreMonster(world, turn.key, turn.state.stage);
  announce(turn, "", `The ${monsterOf(world, monster).name} is back.`);
  announceMonster(turn, true, []);
}

/** Requests the player's turn that suffers a blow of the monster. The damage is decided here; a miss is a blow of 0. */
export function requestBlow(turn: RoomTurn, one: Occupant, ticket: Ticket, monster: string, damage: number): void {
  one.busy = turn.now;
  const me: ActorId | undefined = isPlayer(ticket.me) ? ticket.me : undefined;
  if (me !== undefined) sendRequest(turn, me, "suffered", ticket, { damage, monster });
}
