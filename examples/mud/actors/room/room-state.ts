import type { Json, Viewer } from "troupe/contract";
import type { Frozen, RunContext } from "troupe";
import { newStage, type Stage } from "../../rules/stage.ts";
import type { Beholder } from "../../rules/describe.ts";
import { folded } from "../../rules/words.ts";
import { homesIn, roomOf, stampOf, type World } from "../../world/world.ts";
import type { Sheet } from "../sheet.ts";
import type { Asked } from "./asking.ts";

/** Somebody in the room. */
export interface Occupant extends Sheet {
  /** Of the last turn. */
  seen: number;
  /** The last thing that was told: what came after is news. */
  cursor: number;
  asleep: boolean;
  engaged: boolean;
  /** On the way to another room: the others no longer see this one. */
  leaving: boolean;
  /** Where to, and the call that waits for it: of the last step. */
  going?: { to: string; call: string };
  /** Since when a blow or a step is under way; 0: none is. */
  busy: number;
  /** The room this one came from. */
  came: string | null;
  /** For this one's eyes only. */
  notes: Entry[];
  /** When the player was last told that it is awake. */
  pinged: number;
}

export interface Entry {
  n: number;
  at: number;
  text: string;
}

interface LogEntry extends Entry {
  /** Whose doing: this one needs no news of it. */
  by: string;
  /** Whom it is told in other words: by a note. */
  to?: string;
  /** Words of a player, which make way for what happens. */
  speech?: true;
}

export interface RoomState {
  /** The room's id in the world. */
  id: string;
  stage: Stage;
  /** By the player's id. */
  occupants: Record<string, Occupant>;
  log: LogEntry[];
  /** Number of the last thing the log had no room for. */
  dropped: number;
  /** Number of the next thing that happens. */
  next: number;
  /** What players were asked and have not answered. */
  asked: Asked[];
  /** Messages that nobody took while they had something on its way: the last ones. */
  undone: string[];
  /** Used up, growing again. */
  resting: string[];
  /** Whether the wake is set that finds out who sleeps. */
  watch: boolean;
  /** Of the world this state was last fitted to: its stamp, what belongs here in it, and which monster lives here. */
  world: string;
  homes: string[];
  monster: string | null;
}

/** What the room's own functions need of a turn. */
export type RoomTurn = Pick<
  RunContext<RoomState, unknown>,
  "state" | "self" | "key" | "now" | "random" | "send" | "wake" | "cancel" | "answer"
>;

/** A room as `view`, `enabled` and `choices` see it. */
export type Seen = Frozen<RoomState>;

const LOG_LENGTH = 60;
/** Of these, words of one player, and of all. */
const SPEECH_OF_ONE = 10;
const SPEECH_OF_ALL = 30;
const NOTES_LENGTH = 20;
/** Over all occupants: whoever floods one with words must not fill the room for all. */
const ALL_NOTES = 200;
const NEWS_LINES = 15;
/** So many of them are what happened, where there is so much, and not what was said. */
const EVENT_LINES = 10;

export function newRoom(world: World, key: string): RoomState {
  const none = { occupants: {}, log: [], dropped: 0, next: 1, asked: [], undone: [], resting: [], watch: false };
  return { id: key, stage: newStage(world, key), ...none, world: stampOf(world), ...belongings(world, key) };
}

const belongings = (world: World, room: string) => ({ homes: homesIn(world, room), monster: roomOf(world, room).monster ?? null });

type Earlier = Omit<RoomState, "occupants" | "dropped" | "asked" | "undone" | "world" | "homes" | "monster"> & {
  occupants: Record<string, Omit<Occupant, "completed" | "ended"> & Partial<Pick<Occupant, "completed" | "ended">>>;
};

/**
 * A room of an earlier version. That of version 1 did not note what it asked, and its sheets did not tell of the ending: the
 * players' next ones do. That of version 2 did not note which world it was fitted to: it is taken for this one, but for what
 * is in it no more.
 */
export function fromEarlier(world: World, state: Json): RoomState {
  const earlier: Earlier = JSON.parse(JSON.stringify(state));
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

/** The occupant a viewer is; undefined where this one has not been here yet, or slept too long. */
export function me(state: Seen, viewer: Viewer): Frozen<Occupant> | undefined {
  return viewer.self === undefined || !Object.hasOwn(state.occupants, viewer.self) ? undefined : state.occupants[viewer.self];
}

/** The others one can see and hear. */
export function othersOf(state: Seen, self: string | undefined): readonly (readonly [string, Frozen<Occupant>])[] {
  return Object.entries(state.occupants).filter(([id, one]) => id !== self && !one.asleep && !one.leaving);
}

/** The other of that name whom one can see: its whole name, for a part may be another's. */
export function otherCalled(state: Seen, self: string | undefined, name: string): readonly [string, Frozen<Occupant>] | undefined {
  const wanted = folded(name);
  return othersOf(state, self).find(([, one]) => folded(one.name) === wanted);
}

/** Who looks, for the descriptions. Whoever is unknown here carries nothing. */
export function beholder(state: Seen, self: string | undefined): Beholder {
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

/** Tells everybody here, but for the one who did it. `text` must be fit for anybody's eyes. */
export function tellAll(turn: Pick<RoomTurn, "state" | "now">, by: string, text: string, how: Pick<LogEntry, "to" | "speech"> = {}): void {
  const { state } = turn;
  state.log.push({ n: state.next, at: turn.now, by, text, ...how });
  state.next += 1;
  if (how.speech === true) {
    const said = state.log.filter((entry) => entry.speech === true);
    const own = said.filter((entry) => entry.by === by);
    if (own.length > SPEECH_OF_ONE) drop(state, own[0]?.n);
    else if (said.length > SPEECH_OF_ALL) drop(state, said[0]?.n);
  }
  if (state.log.length > LOG_LENGTH) drop(state, state.log[0]?.n);
}

function drop(state: RoomState, n: number | undefined): void {
  if (n === undefined) return;
  state.log = state.log.filter((entry) => entry.n !== n);
  state.dropped = Math.max(state.dropped, n);
}

/** Tells one. */
export function tellOne(turn: Pick<RoomTurn, "state" | "now">, occupant: Occupant, text: string): void {
  occupant.notes.push({ n: turn.state.next, at: turn.now, text });
  turn.state.next += 1;
  if (occupant.notes.length > NOTES_LENGTH) occupant.notes.splice(0, occupant.notes.length - NOTES_LENGTH);
  const noted = Object.values(turn.state.occupants).filter((one) => one.notes.length > 0);
  if (noted.reduce((sum, one) => sum + one.notes.length, 0) <= ALL_NOTES) return;
  const firstOf = (one: Occupant): number => one.notes[0]?.n ?? Number.POSITIVE_INFINITY;
  noted.reduce((a, b) => (firstOf(a) <= firstOf(b) ? a : b)).notes.shift();
}

/** What happened since the occupant's last turn, oldest first. Reading it changes nothing. */
export function newsFor(state: Seen, self: string | undefined): readonly Frozen<Entry & Pick<LogEntry, "speech">>[] {
  const mine = self === undefined ? undefined : state.occupants[self];
  if (mine === undefined) return [];
  const heard = [...state.log.filter((entry) => entry.by !== self && entry.to !== self), ...mine.notes];
  return heard.filter((entry) => entry.n > mine.cursor).toSorted((a, b) => a.n - b.n);
}

const line = (entry: { readonly text: string }): string => `- ${entry.text}`;

/** `text` among what happened since the occupant's last turn, in order. `after`: number of the last thing before it; null: all were. */
export function withNews(state: Seen, self: string | undefined, text: string, after: number | null = null): string {
  const news = newsFor(state, self);
  if (news.length === 0) return text;
  const events = news.filter((entry) => entry.speech !== true).slice(-EVENT_LINES);
  const others = news.filter((entry) => !events.includes(entry)).slice(events.length - NEWS_LINES);
  const shown = [...events, ...others].toSorted((a, b) => a.n - b.n);
  // How many there were nobody knows: the log had no room for them.
  const lost = state.dropped > (state.occupants[self ?? ""]?.cursor ?? 0);
  const more = lost || news.length > shown.length ? ["- (and more than is told here)"] : [];
  const isEarlier = ({ n }: { readonly n: number }): boolean => after === null || n <= after;
  const earlier = [...more, ...shown.filter(isEarlier).map(line)];
  const later = shown.filter((entry) => !isEarlier(entry)).map(line);
  return [
    ...(earlier.length === 0 ? [] : ["Since your last turn:", ...earlier, ""]),
    text,
    ...(later.length === 0 ? [] : ["", "Meanwhile:", ...later]),
  ].join("\n");
}

/** The end of an occupant's turn: the text with its news, which count as told from now on. */
export function toldWithNews(turn: Pick<RoomTurn, "state" | "now">, self: string, text: string, after: number | null = null): string {
  const told = withNews(turn.state, self, text, after);
  const mine = turn.state.occupants[self];
  if (mine !== undefined) {
    mine.cursor = turn.state.next - 1;
    mine.notes = [];
    mine.seen = turn.now;
    mine.asleep = false;
  }
  return told;
}

/** Takes over what the player says of itself, unless something newer is known. */
export function updateSheet(state: RoomState, self: string, sheet: Sheet): void {
  const mine = state.occupants[self];
  if (mine === undefined || mine.visit !== sheet.visit || mine.revision > sheet.revision) return;
  Object.assign(mine, sheet);
}
