import { createHash } from "node:crypto";
import type { RunContext } from "troupe";
import type { ActorId } from "troupe/contract";
import { advance, completedOf, type HeroState, newHero } from "../../rules/hero.ts";
import { folded } from "../../rules/text.ts";
import { homesOf, itemOf, type World } from "../../world/world.ts";
import { roomId } from "../room-id.ts";
import type { Sheet } from "../sheet.ts";

export interface PlayerState extends HeroState {
  name: string;
  /** Whether the player has chosen its name. Until then it is provisional. */
  chosen: boolean;
  /** Names whose claims have no reply yet. */
  claiming?: string[];
  /** Whether the player has had its first turn. */
  entered: boolean;
  monsterPresent: boolean;
  revision: number;
  visit: number;
  /** Plays by a handle or an unauthenticated session, and cannot come back after it ends. */
  mortal: boolean;
  /** When the roster was last notified. */
  shownAt: number;
}

export type PlayerTurn = Pick<RunContext<PlayerState, unknown>, "state" | "self" | "now" | "send" | "wake" | "answer" | "message">;

/** The public id of a player. It does not reveal the principal. */
export function aliasOf(self: string): string {
  return createHash("sha256").update(`player ${self}`).digest("hex").slice(0, 12);
}

export function provisionalName(self: string, digits = 6): string {
  return `wanderer-${aliasOf(self).slice(0, digits)}`;
}

/** Whether the caller has no lasting identity. A player that was not started by a call counts as lasting. */
export function isTemporary(principal: string | undefined, called: boolean): boolean {
  return called && (principal === undefined || principal.startsWith("session|"));
}

/** `at` is the time of the start. Visits count from there, so that entries in rooms of an earlier life are older than all of this one. */
export function newPlayer(world: World, self: ActorId, at: number, mortal: boolean): PlayerState {
  return {
    ...newHero(world),
    name: provisionalName(self),
    chosen: false,
    entered: false,
    monsterPresent: false,
    revision: 1,
    visit: at,
    shownAt: 0,
    mortal,
  };
}

export function sheetOf(state: PlayerState): Sheet {
  const { name, health, items, deeds, revision, visit, ended } = state;
  const quests = Object.keys(state.quests);
  const completed = completedOf(state);
  return { name, health, items: [...items], deeds: [...deeds], quests, completed, revision, visit, ended };
}

export function shardOf(name: string): ActorId {
  return `names/${createHash("sha256").update(folded(name)).digest("hex").slice(0, 2)}`;
}

const ROSTER_INTERVAL_MS = 5 * 60_000;
/** Before a handle expires, which would stop its player without a turn. */
const RETIRE_MS = 23 * 3_600_000;

/** Claims the provisional name in the first turn, and notifies the roster from time to time. */
export function markActive(turn: PlayerTurn, world: World): void {
  const { state } = turn;
  if (!state.entered) {
    state.entered = true;
    claimName(turn, state.name, null);
  }
  if (turn.now - state.shownAt < ROSTER_INTERVAL_MS) return;
  state.shownAt = turn.now;
  updateRoster(turn);
  turn.wake("idle", { afterMs: world.pace.idleMs, message: { to: turn.self, action: "idle", args: null } });
  if (state.mortal) turn.wake("retire", { afterMs: RETIRE_MS, message: { to: turn.self, action: "end", args: null } });
}

/** Leaves the world for good: sends items home, frees the name, and removes the player from its room and the roster. */
export function leaveWorld(turn: PlayerTurn, world: World): void {
  const { state, self } = turn;
  sendHome(turn, world, state.items.splice(0), false);
  // A claim may be in progress, and its reply would not be delivered.
  for (const name of new Set([state.name, ...(state.claiming ?? [])])) turn.send(shardOf(name), "free", { name });
  turn.send("roster/main", "gone", { alias: aliasOf(self) });
  turn.send(roomId(state.room), "farewell", { player: self, visit: state.visit, call: null, text: "" });
}

export function updateRoster(turn: PlayerTurn): void {
  turn.send("roster/main", "seen", { alias: aliasOf(turn.self), name: turn.state.name });
}

export function claimName(turn: PlayerTurn, name: string, call: string | null): void {
  turn.state.claiming = [...(turn.state.claiming ?? []), name];
  turn.send(shardOf(name), "claim", { name, call }, { replyAs: "claimed" });
}

export function settleClaim({ state }: Pick<PlayerTurn, "state">, name: string): void {
  const at = state.claiming?.indexOf(name) ?? -1;
  if (at !== -1) state.claiming?.splice(at, 1);
}

/** Sends items to where they belong. `rest` if they were consumed and must grow again first. */
export function sendHome(turn: PlayerTurn, world: World, items: readonly string[], rest: boolean): void {
  for (const item of items) {
    const home = homesOf(world).get(item);
    if (home !== undefined) turn.send(roomId(home.room), "homecoming", { item, rest });
  }
}

/** Advances quests and the ending. Returns texts for the player. */
export function advanceQuests(turn: PlayerTurn, world: World): string[] {
  const { texts, home } = advance(world, turn.state);
  sendHome(turn, world, home, false);
  const actReply =
    home.length === 0 ? [] : [`(${home.map((item) => itemOf(world, item).name).join(", ")}: back where the next hero will find them.)`];
  return [...texts, ...actReply];
}

/** Answers a call through the room, which adds its news and updates its sheet first. */
export function answerThroughRoom(turn: PlayerTurn, call: string, text: string): void {
  turn.state.revision += 1;
  turn.send(roomId(turn.state.room), "sync", { sheet: sheetOf(turn.state), call, text }, { replyAs: "synced" });
}

/** Sends the new sheet to the room, and a text that the player gets with the news of its next turn. */
export function noteInRoom(turn: PlayerTurn, text: string | null): void {
  turn.state.revision += 1;
  turn.send(roomId(turn.state.room), "note", { sheet: sheetOf(turn.state), text });
}
