import type { JsonObject } from "troupe/contract";
import { findByPart } from "../../rules/text.ts";
import { DIRECTIONS, itemOf, type World } from "../../world/world.ts";
import { oneOf, argument, fields, nullable, text } from "../message-shapes.ts";
import { MAX_SAYING_LENGTH } from "./acts.ts";

/** The schema lists no argument; `at` is accepted. */
export const LOOK: JsonObject = { type: "object", properties: {}, required: [] };
export const NOTHING: JsonObject = { type: "object", properties: {}, required: [] };

export const MOVE = argument(
  {
    type: "object",
    properties: { direction: { type: "string", enum: DIRECTIONS, description: "Direction to move" } },
    required: ["direction"],
  },
  fields({ direction: oneOf(DIRECTIONS) }),
);

const itemProperty = (what: string): JsonObject => ({ type: "string", description: `Name of the item to ${what}` });

/** Finds an item by name or id, in any case, or by a part of the name that no other item has. */
const itemIn = (world: World) => {
  const ids = Object.keys(world.items);
  return (name: string): string => findByPart(ids, (id) => itemOf(world, id).name, name) ?? name;
};

export function itemInput(world: World, what: string) {
  const itemId = itemIn(world);
  return argument({ type: "object", properties: { item: itemProperty(what) }, required: ["item"] }, fields({ item: text }), ({ item }) => ({
    item: itemId(item),
  }));
}

export function giveInput(world: World) {
  const itemId = itemIn(world);
  return argument(
    {
      type: "object",
      properties: { item: itemProperty("give"), to: { type: "string", description: "Name of a player who is here" } },
      required: ["item", "to"],
    },
    fields({ item: text, to: text }),
    ({ item, to }) => ({ item: itemId(item), to }),
  );
}

export function talkInput(world: World) {
  const ids = Object.keys(world.characters);
  return argument(
    {
      type: "object",
      properties: {
        to: { type: "string", description: "Who, of the characters that are here" },
        about: { type: "string", description: "What to ask about; leave it away to be greeted" },
      },
      required: ["to"],
    },
    fields({ to: text, about: nullable(text) }),
    ({ to, about }) => ({ to: findByPart(ids, (id) => world.characters[id]?.name ?? id, to) ?? to, about }),
  );
}

export const SAYING = argument(
  {
    type: "object",
    properties: { text: { type: "string", description: "One line", maxLength: MAX_SAYING_LENGTH } },
    required: ["text"],
  },
  fields({ text }),
);
