import type { Json, Viewer } from "troupe/contract";
import type { Frozen, RunContext } from "troupe";
import { newStage, type Stage } from "../../rules/stage.ts";
import type { Viewpoint } from "../../rules/describe.ts";
import { folded } from "../../rules/text.ts";
import { homesIn, roomOf, stampOf, type World } from "../../world/world.ts";
import type { Sheet } from "../sheet.ts";
import type { PendingRequest } from "./requests.ts";

/** A player in the room. */
export interface Occupant extends Sheet {
  /** The time of the last turn. */
  seen: number;
  /** Number of the last event that was delivered. Later ones are news. */
  cursor: number;
  asleep: boolean;
  engaged: boolean;
  /** On the way to another room, and no longer visible to others. */
  leaving: boolean;
  /** The destination of the last move, and the call that waits for it. */
  going?: { to: string; call: string };
  /** Start of the blow or move in progress; 0 if there is none. */
  busy: number;
  /** The previous room. */
  came: string | null;
  /** Events that only this player sees. */
  notes: Entry[];
  /** When the room last sent the player `awake`. */
  pinged: number;
}

export interface Entry {
  n: number;
  at: number;
  text: string;
}

interface LogEntry extends Entry {
  /** The actor of the event, who gets no news of it. */
  by: string;
  /** A player who gets a note instead. */
  to?: string;
  /** Speech of a player. It is dropped before other events. */
  speech?: true;
}

export interface RoomState {
  /** The room's id in the world. */
  id: string;
  stage: Stage;
  /** By the player's id. */
  occupants: Record<string, Occupant>;
  log: LogEntry[];
  /** Number of the last event that was dropped from the log. */
  dropped: number;
  /** Number of the next event. */
  next: number;
  /** Requests without a reply yet. */
  asked: PendingRequest[];
  /** Ids of the last requests that failed and were undone while they carried an item. */
  undone: string[];
  /** Consumed items that will grow again. */
  resting: string[];
  /** Whether the timer that finds sleeping players is set. */
  watch: boolean;
  /** The world that this state was last adapted to: its stamp, the items that belong here, and the monster. */
  world: string;
  homes: string[];
  monster: string | null;
}

/** The parts of a turn context that the room's functions use. */
export type RoomTurn = Pick<
  RunContext<RoomState, unknown>,
  "state" | "self" | "key" | "now" | "random" | "send" | "wake" | "cancel" | "answer"
>;

/** A room as `view`, `enabled` and `choices` see it. */
export type RoomView = Frozen<RoomState>;

/** A player without a turn for this long is asleep and not visible. */
export const ASLEEP_MS = 30 * 60_000;
const LOG_LENGTH = 60;
/** The most speech entries of one player, and of all. */
const SPEECH_OF_ONE = 10;
const SPEECH_OF_ALL = 30;
const NOTES_LENGTH = 20;
/** The most notes of all occupants together, so that flooding one player does not fill the room. */
const ALL_NOTES = 200;
const NEWS_LINES = 15;
/** The most lines for events other than speech. */
const EVENT_LINES = 10;

export function newRoom(world: World, key: string): RoomState {
  const none = { occupants: {}, log: [], dropped: 0, next: 1, asked: [], undone: [], resting: [], watch: false };
  return { id: key, stage: newStage(world, key), ...none, world: stampOf(world), ...belongings(world, key) };
}

const belongings = (world: World, room: string) => ({ homes: homesIn(world, room), monster: roomOf(world, room).monster ?? null });

type EarlierState = Omit<RoomState, "occupants" | "dropped" | "asked" | "undone" | "world" | "homes" | "monster"> & {
  occupants: Record<string, Omit<Occupant, "completed" | "ended"> & Partial<Pick<Occupant, "completed" | "ended">>>;
};

/**
 * Migrates a room of an earlier version. Version 1 did not store pending requests, and its sheets lacked `completed` and `ended`, which the
 * players' next sheets have. Version 2 did not store the world that it was adapted to, so it is adapted to the current one.
 */
export function migrateRoom(world: World, state: Json): RoomState {
  const earlier: EarlierState = JSON.parse(JSON.stringify(state));
  const occupants = Object.entries(earlier.occupants).map(([id, one]) => [id, { completed: [], ended: false, ...one }]);
  return {
    asked: [],
    undone: [],
    dropped: 0,
    ...earlier,
    occupants: Object.fromEntries(occupants),
    world: "",
    ...belongings(world, earlier.id),
  };
}

/** The occupant of a viewer. Undefined if the player has not been here yet or was removed after sleeping. */
export function occupantOf(state: RoomView, viewer: Viewer): Frozen<Occupant> | undefined {
  return viewer.self === undefined || !Object.hasOwn(state.occupants, viewer.self) ? undefined : state.occupants[viewer.self];
}

/** The visible other occupants. */
export function othersOf(state: RoomView, self: string | undefined): readonly (readonly [string, Frozen<Occupant>])[] {
  return Object.entries(state.occupants).filter(([id, one]) => id !== self && !one.asleep && !one.leaving);
}

/** The visible other occupant with that name. Matches the whole name only, since a part may belong to another player. */
export function otherNamed(state: RoomView, self: string | undefined, name: string): readonly [string, Frozen<Occupant>] | undefined {
  const wanted = folded(name);
  return othersOf(state, self).find(([, one]) => folded(one.name) === wanted);
}

/** The viewpoint of a player for descriptions. A player unknown to the room carries nothing. */
export function viewpointOf(state: RoomView, self: string | undefined): Viewpoint {
  const mine = self === undefined ? undefined : state.occupants[self];
  const others = othersOf(state, self).map(([, one]) => one);
  return {
    items: mine?.items ?? [],
    deeds: mine?.deeds ?? [],
    quests: mine?.quests ?? [],
    others: others.map((one) => one.name),
    theirs: others.flatMap((one) => one.items),
  };
}

/** Logs an event for all occupants except its actor. All of them can read `text`. */
export function announce(
  turn: Pick<RoomTurn, "state" | "now">,
  by: string,
  text: string,
  options: Pick<LogEntry, "to" | "speech"> = {},
): void {
  const { state } = turn;
  state.log.push({ n: state.next, at: turn.now, by, text, ...options });
  state.next += 1;
  if (options.speech === true) {
    const speech = state.log.filter((entry) => entry.speech === true);
    const ofPlayer = speech.filter((entry) => entry.by === by);
    if (ofPlayer.length > SPEECH_OF_ONE) drop(state, ofPlayer[0]?.n);
    else if (speech.length > SPEECH_OF_ALL) drop(state, speech[0]?.n);
  }
  if (state.log.length > LOG_LENGTH) drop(state, state.log[0]?.n);
}

function drop(state: RoomState, n: number | undefined): void {
  if (n === undefined) return;
  state.log = state.log.filter((entry) => entry.n !== n);
  state.dropped = Math.max(state.dropped, n);
}

/** Adds a note that only one occupant sees. */
export function addNote(turn: Pick<RoomTurn, "state" | "now">, occupant: Occupant, text: string): void {
  occupant.notes.push({ n: turn.state.next, at: turn.now, text });
  turn.state.next += 1;
  if (occupant.notes.length > NOTES_LENGTH) occupant.notes.splice(0, occupant.notes.length - NOTES_LENGTH);
  const noted = Object.values(turn.state.occupants).filter((one) => one.notes.length > 0);
  if (noted.reduce((sum, one) => sum + one.notes.length, 0) <= ALL_NOTES) return;
  const firstOf = (one: Occupant): number => one.notes[0]?.n ?? Number.POSITIVE_INFINITY;
  noted.reduce((a, b) => (firstOf(a) <= firstOf(b) ? a : b)).notes.shift();
}

/** The events since the occupant's last turn, oldest first. Does not mark them as delivered. */
export function newsFor(state: RoomView, self: string | undefined): readonly Frozen<Entry & Pick<LogEntry, "speech">>[] {
  const mine = self === undefined ? undefined : state.occupants[self];
  if (mine === undefined) return [];
  const visible = [...state.log.filter((entry) => entry.by !== self && entry.to !== self), ...mine.notes];
  return visible.filter((entry) => entry.n > mine.cursor).toSorted((a, b) => a.n - b.n);
}

const line = (entry: { readonly text: string }): string => `- ${entry.text}`;

/** `text` with the events since the occupant's last turn before and after it. `after` is the number of the last event before it; null if all were. */
export function withNews(state: RoomView, self: string | undefined, text: string, after: number | null = null): string {
  const news = newsFor(state, self);
  if (news.length === 0) return text;
  const events = news.filter((entry) => entry.speech !== true).slice(-EVENT_LINES);
  const others = news.filter((entry) => !events.includes(entry)).slice(events.length - NEWS_LINES);
  const reported = [...events, ...others].toSorted((a, b) => a.n - b.n);
  // Dropped events were not counted.
  const lost = state.dropped > (state.occupants[self ?? ""]?.cursor ?? 0);
  const more = lost || news.length > reported.length ? ["- (and more than is told here)"] : [];
  const isEarlier = ({ n }: { readonly n: number }): boolean => after === null || n <= after;
  const earlier = [...more, ...reported.filter(isEarlier).map(line)];
  const later = reported.filter((entry) => !isEarlier(entry)).map(line);
  return [
    ...(earlier.length === 0 ? [] : ["Since your last turn:", ...earlier, ""]),
    text,
    ...(later.length === 0 ? [] : ["", "Meanwhile:", ...later]),
  ].join("\n");
}

/** Sets the timer that finds sleeping players, if it is not set. While all are asleep, it is not. */
export function watchSleepers(turn: Pick<RoomTurn, "state" | "self" | "wake">): void {
  if (turn.state.watch) return;
  turn.state.watch = true;
  turn.wake("doze", { afterMs: ASLEEP_MS, message: { to: turn.self, action: "doze", args: null } });
}

/** The result text of an occupant's turn, with its news. Marks the news as delivered and the occupant as awake. */
export function deliverNews(
  turn: Pick<RoomTurn, "state" | "now" | "self" | "wake">,
  self: string,
  text: string,
  after: number | null = null,
): string {
  const result = withNews(turn.state, self, text, after);
  const mine = turn.state.occupants[self];
  if (mine !== undefined) {
    mine.cursor = turn.state.next - 1;
    mine.notes = [];
    mine.seen = turn.now;
    mine.asleep = false;
    watchSleepers(turn);
  }
  return result;
}

/** Stores a sheet unless the room has a newer one. */
export function updateSheet(state: RoomState, self: string, sheet: Sheet): void {
  const mine = state.occupants[self];
  if (mine === undefined || mine.visit !== sheet.visit || mine.revision > sheet.revision) return;
  Object.assign(mine, sheet);
}
