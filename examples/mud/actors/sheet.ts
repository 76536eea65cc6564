import { fields, flag, list, nullable, number, type Shape, text } from "./message-shapes.ts";

/**
 * A copy of a player's state that a room holds for each occupant. The player sends it along and stays the authority; the room uses it for
 * its descriptions and tools.
 */
export interface Sheet {
  name: string;
  health: number;
  items: string[];
  deeds: string[];
  /** Accepted quests, and the completed ones among them. */
  quests: string[];
  completed: string[];
  /** Counts the changes of the player, so that an older sheet never replaces a newer one. */
  revision: number;
  /** Counts the rooms that the player entered, so that a delayed farewell does not remove a player who has returned. */
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

/** The context of a call that passes through several actors. The room that gets it back can answer the call. */
export interface Ticket {
  /** Id of the message that waits for the answer. */
  call: string;
  /** The caller. */
  me: string;
  item: string;
  /** The receiver of the item. */
  to: string | null;
  /** The text of the answer so far. */
  text: string;
  /** Number of the last event in the room before the act. Null if the act happens when it is answered. */
  after: number | null;
}

export const ticket: Shape<Ticket> = fields({ call: text, me: text, item: text, to: nullable(text), text, after: nullable(number) });
