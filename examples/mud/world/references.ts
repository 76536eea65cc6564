import { plainWord } from "../rules/text.ts";
import { type Problem, suggest } from "./problem.ts";
import { exitsOf, type World } from "./world.ts";

/** Finds references to unknown names, and items, monsters and characters that are nowhere or in two places. */
export function checkReferences(world: World): readonly Problem[] {
  const problems: Problem[] = [];
  const say = (path: Problem["path"], text: string): void => {
    problems.push({ path, text });
  };
  const refer = (path: Problem["path"], what: string, list: Readonly<Record<string, unknown>>, id: string | undefined): void => {
    if (id !== undefined && !Object.hasOwn(list, id)) say(path, `there is no ${what} "${id}".${suggest(id, Object.keys(list))}`);
  };
  const placed = new Map<string, string>();
  const place = (path: Problem["path"], id: string): void => {
    refer(path, "item", world.items, id);
    const before = placed.get(id);
    if (before === undefined) placed.set(id, path.slice(0, 2).join("."));
    else say(path, `the item "${id}" is in ${before} already: every thing is in one place, give this one an id of its own.`);
  };
  const lives = new Map<string, string>();
  refer(["start"], "room", world.rooms, world.start);
  for (const [id, room] of Object.entries(world.rooms)) {
    for (const [direction, exit] of exitsOf(room)) {
      const path = ["rooms", id, "exits", direction];
      refer(path, "room", world.rooms, exit.to);
      refer([...path, "key"], "item", world.items, exit.key);
      refer([...path, "after"], "monster", world.monsters, exit.after);
      if (exit.to === id) say(path, `this exit of "${id}" leads to where it begins: name another room.`);
    }
    for (const [index, item] of room.items.entries()) place(["rooms", id, "items", index], item);
    for (const [index, item] of (room.chest?.items ?? []).entries()) place(["rooms", id, "chest", "items", index], item);
    refer(["rooms", id, "chest", "key"], "item", world.items, room.chest?.key);
    refer(["rooms", id, "quest"], "quest", world.quests, room.quest);
    for (const [index, character] of room.characters.entries())
      refer(["rooms", id, "characters", index], "character", world.characters, character);
    if (room.monster === undefined) continue;
    refer(["rooms", id, "monster"], "monster", world.monsters, room.monster);
    const elsewhere = lives.get(room.monster);
    if (elsewhere !== undefined)
      say(["rooms", id, "monster"], `the monster "${room.monster}" lives in "${elsewhere}" already: give this one an id of its own.`);
    lives.set(room.monster, id);
  }
  for (const [id, monster] of Object.entries(world.monsters)) {
    for (const [index, item] of monster.items.entries()) place(["monsters", id, "items", index], item);
    if (!lives.has(id)) say(["monsters", id], `the monster "${id}" lives nowhere: write "monster: ${id}" in a room, or take it out.`);
  }
  for (const [id, item] of Object.entries(world.items)) {
    refer(["items", id, "bane", "monster"], "monster", world.monsters, item.bane?.monster);
    if (!placed.has(id)) say(["items", id], `the item "${id}" is nowhere: list it in a room, a chest or a monster, or take it out.`);
  }
  for (const [id, character] of Object.entries(world.characters))
    refer(["characters", id, "quest"], "quest", world.quests, character.quest);
  for (const [id, quest] of Object.entries(world.quests)) {
    for (const [index, item] of quest.find.entries()) refer(["quests", id, "find", index], "item", world.items, item);
    for (const [index, monster] of quest.defeat.entries()) refer(["quests", id, "defeat", index], "monster", world.monsters, monster);
    if (quest.find.length + quest.defeat.length === 0)
      say(["quests", id], `the quest "${id}" asks for nothing: list items under "find" or monsters under "defeat".`);
  }
  refer(["ending", "quest"], "quest", world.quests, world.ending.quest);
  refer(["ending", "room"], "room", world.rooms, world.ending.room);
  checkNames(world, say);
  const start = world.rooms[world.start];
  if (start?.monster !== undefined)
    say(["rooms", world.start, "monster"], `everybody begins in "${world.start}": move its monster elsewhere.`);
  if (start?.dark === true) say(["rooms", world.start, "dark"], `everybody begins in "${world.start}": it cannot be dark.`);
  return problems;
}

// Things can be named by id or name, so no two of them may share a word.
function checkNames(world: World, say: (path: Problem["path"], text: string) => void): void {
  const lists = [
    ["items", world.items],
    ["characters", world.characters],
    ["monsters", world.monsters],
  ] as const;
  const called = new Map<string, string>();
  for (const [list, things] of lists) {
    for (const [id, thing] of Object.entries(things)) {
      for (const name of new Set([plainWord(id), plainWord(thing.name)])) {
        const other = called.get(name);
        if (other === undefined) called.set(name, `${list}.${id}`);
        else if (other !== `${list}.${id}`) say([list, id], `"${list}.${id}" and "${other}" both answer to "${name}": rename one.`);
      }
    }
  }
}
