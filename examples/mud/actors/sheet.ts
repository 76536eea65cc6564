import { fields, flag, list, maybe, number, type Shape, text } from "./shape.ts";

/**
 * What a room knows of somebody who is in it: a copy the player sends along.
 * The player decides; the room shows, and offers by it.
 */
export interface Sheet {
  name: string;
  health: number;
  items: string[];
  deeds: string[];
  /** Quests that were taken up, and which of them are done. */
  quests: string[];
  completed: string[];
  /** Counts the player's changes: an older sheet never replaces a newer one. */
  revision: number;
  /** Counts the rooms that were entered: who is on the way back is not thrown out by a farewell that comes late. */
  visit: number;
  /** Has seen the ending. */
  ended: boolean;
}

export const sheet: Shape<Sheet> = fields({
  name: text,
  health: number,
  items: list(text),
  deeds: list(text),
  quests: list(text),
  completed: list(text),
  revision: number,
  visit: number,
  ended: flag,
});

/** What belongs to one call on its way through several actors; whoever gets it back can answer. */
export interface Ticket {
  /** Id of the message that waits for the answer. */
  call: string;
  /** Whose call it is. */
  me: string;
  item: string;
  /** To whom the item goes. */
  to: string | null;
  /** What was told so far. */
  text: string;
  /** Number of the last thing that happened in the room before the act; null: the act happens when it is answered. */
  after: number | null;
}

export const ticket: Shape<Ticket> = fields({ call: text, me: text, item: text, to: maybe(text), text, after: maybe(number) });
