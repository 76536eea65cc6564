import { createHash } from "node:crypto";
import type { RunContext } from "troupe";
import type { ActorId } from "troupe/contract";
import { advance, completedOf, type HeroState, newHero } from "../../rules/hero.ts";
import { folded } from "../../rules/words.ts";
import { homesOf, itemOf, type World } from "../../world/world.ts";
import { roomId } from "../room-id.ts";
import type { Sheet } from "../sheet.ts";

export interface PlayerState extends HeroState {
  name: string;
  /** Whether the name was chosen; until then it is a provisional one. */
  chosen: boolean;
  /** Names that were claimed and not answered for: they are this player's until then. */
  claiming?: string[];
  /** Whether the world knows this player yet. */
  entered: boolean;
  monsterPresent: boolean;
  revision: number;
  visit: number;
  /** Plays by a handle or an unauthenticated session, and cannot come back once that is gone. */
  mortal: boolean;
  /** When the others were last told that this player is about. */
  shownAt: number;
}

export type PlayerTurn = Pick<RunContext<PlayerState, unknown>, "state" | "self" | "now" | "send" | "wake" | "answer" | "message">;

/** Stands for a player towards others: says nothing about the principal. */
export function aliasOf(self: string): string {
  return createHash("sha256").update(`player ${self}`).digest("hex").slice(0, 12);
}

export function provisionalName(self: string, digits = 6): string {
  return `wanderer-${aliasOf(self).slice(0, digits)}`;
}

/** Whether the caller who plays has no identity that lasts. A player that no call began is taken for one that has. */
export function isPassing(principal: string | undefined, called: boolean): boolean {
  return called && (principal === undefined || principal.startsWith("session|"));
}

/** `at`: when it began. Its visits count from there, so that what rooms still have of an earlier life is older than all of this one. */
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

const SHOWN_EVERY_MS = 5 * 60_000;
/** Before a handle expires, which ends its player without another word. */
const RETIRE_MS = 23 * 3_600_000;

/** The first turn of a player claims its provisional name; and now and then the others hear that it is about. */
export function present(turn: PlayerTurn, world: World): void {
  const { state } = turn;
  if (!state.entered) {
    state.entered = true;
    claimName(turn, state.name, null);
  }
  if (turn.now - state.shownAt < SHOWN_EVERY_MS) return;
  state.shownAt = turn.now;
  show(turn);
  turn.wake("idle", { afterMs: world.pace.idleMs, message: { to: turn.self, action: "idle", args: null } });
  if (state.mortal) turn.wake("retire", { afterMs: RETIRE_MS, message: { to: turn.self, action: "end", args: null } });
}

/** Leaves the world for good: what was carried goes home, the name is free, the room forgets. */
export function retire(turn: PlayerTurn, world: World): void {
  const { state, self } = turn;
  sendHome(turn, world, state.items.splice(0), false);
  // A claim may be under way, and there is no player any more to get its reply.
  for (const name of new Set([state.name, ...(state.claiming ?? [])])) turn.send(shardOf(name), "free", { name });
  turn.send("roster/main", "gone", { alias: aliasOf(self) });
  turn.send(roomId(state.room), "farewell", { player: self, visit: state.visit, call: null, text: "" });
}

export function show(turn: PlayerTurn): void {
  turn.send("roster/main", "seen", { alias: aliasOf(turn.self), name: turn.state.name });
}

export function claimName(turn: PlayerTurn, name: string, call: string | null): void {
  turn.state.claiming = [...(turn.state.claiming ?? []), name];
  turn.send(shardOf(name), "claim", { name, call }, { replyAs: "claimed" });
}

export function claimAnswered({ state }: Pick<PlayerTurn, "state">, name: string): void {
  const at = state.claiming?.indexOf(name) ?? -1;
  if (at !== -1) state.claiming?.splice(at, 1);
}

/** Items on their way to where they belong. `rest`: they were used up, and grow again first. */
export function sendHome(turn: PlayerTurn, world: World, items: readonly string[], rest: boolean): void {
  for (const item of items) {
    const home = homesOf(world).get(item);
    if (home !== undefined) turn.send(roomId(home.room), "homecoming", { item, rest });
  }
}

/** Quests and the ending, after something was found or done: what to tell. */
export function progress(turn: PlayerTurn, world: World): string[] {
  const { texts, home } = advance(world, turn.state);
  sendHome(turn, world, home, false);
  const returned =
    home.length === 0 ? [] : [`(${home.map((item) => itemOf(world, item).name).join(", ")}: back where the next hero will find them.)`];
  return [...texts, ...returned];
}

/** The room opens the answer with its news, and knows the new sheet before the caller reads it. */
export function answerThroughRoom(turn: PlayerTurn, call: string, text: string): void {
  turn.state.revision += 1;
  turn.send(roomId(turn.state.room), "sync", { sheet: sheetOf(turn.state), call, text }, { replyAs: "synced" });
}

/** Tells the room what changed, and this player alone a text, with the news of its next turn. */
export function noteInRoom(turn: PlayerTurn, text: string | null): void {
  turn.state.revision += 1;
  turn.send(roomId(turn.state.room), "note", { sheet: sheetOf(turn.state), text });
}
