import { type Dice, diceOf } from "../rules/dice.ts";
import { fill, type RawWorld } from "./raw.ts";
import { DIRECTIONS, type Direction, type World } from "./world.ts";

const STEP: Readonly<Record<Direction, readonly [number, number]>> = { north: [0, -1], south: [0, 1], east: [1, 0], west: [-1, 0] };
const BACK: Readonly<Record<Direction, Direction>> = { north: "south", south: "north", east: "west", west: "east" };

const thing = (name: string) => ({ name, description: `It is ${name.toLowerCase()}.` });

interface Cell {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly exits: Record<string, { to: string; key?: string; after?: string }>;
  readonly items: string[];
  monster?: string;
  chest?: { name: string; key?: string; items: string[] };
  dark: boolean;
  rest: boolean;
}

/**
 * A world of whole references, thrown together from a seed: rooms on a grid, doors, keys, dark, monsters and a quest,
 * with no care for whether anybody could finish it. `checkFinish` tells.
 */
export function randomWorld(seed: number): World {
  const dice = diceOf(seed);
  const upTo = (most: number): number => Math.floor(dice() * (most + 1));
  const { start, others } = grid(dice, 5 + upTo(9));
  const cells = [start, ...others];
  const pick = (from: readonly Cell[] = cells): Cell => from[Math.floor(dice() * from.length)] ?? start;
  const elder = dice() < 0.5 ? start : pick(others);
  const items: Record<string, NonNullable<RawWorld["items"]>[string]> = {};
  const monsters: Record<string, NonNullable<RawWorld["monsters"]>[string] & { items: string[] }> = {};

  for (const cell of others) {
    if (dice() < 0.2) cell.dark = true;
    else if (dice() < 0.15) cell.rest = true;
    if (dice() < 0.25) cell.chest = { name: `Chest of ${cell.id}`, items: [] };
  }
  start.rest = true;
  const lairs = others.filter(() => dice() < 0.3);
  if (lairs.length === 0) lairs.push(pick(others));
  for (const [index, cell] of lairs.entries()) {
    const id = `beast_${index}`;
    const strength = dice() * (index === 0 ? 1.6 : 1);
    cell.monster = id;
    monsters[id] = {
      name: `Beast ${index}`,
      description: "It growls.",
      health: 20 + Math.floor(strength * 70),
      attack: 5 + Math.floor(strength * 14),
      armor: upTo(2),
      items: [],
      guardian: index === 0,
    };
  }

  const place = (id: string, item: NonNullable<RawWorld["items"]>[string]): void => {
    items[id] = item;
    const cell = pick();
    const monster = cell.monster === undefined ? undefined : monsters[cell.monster];
    if (monster !== undefined && dice() < 0.4) monster.items.push(id);
    else if (cell.chest !== undefined && dice() < 0.5) cell.chest.items.push(id);
    else cell.items.push(id);
  };
  place("lamp", { ...thing("Lamp"), light: true });
  place("blade", { ...thing("Blade"), attack: 3 + upTo(9) });
  place("mail", { ...thing("Mail"), armor: 1 + upTo(3) });
  place("draught", { ...thing("Draught"), heal: 30 });
  place("flask", { ...thing("Flask"), strike: 20 });
  const relics = Array.from({ length: 1 + upTo(2) }, (_, index) => `relic_${index}`);
  for (const id of relics) place(id, thing(`Relic ${id.slice(-1)}`));

  const doors = others.flatMap((cell) =>
    Object.values(cell.exits)
      .slice(1)
      .map((exit) => ({ cell, exit })),
  );
  for (let index = 0; index < upTo(3); index += 1) {
    const door = doors[Math.floor(dice() * doors.length)];
    if (door === undefined) break;
    const key = `key_${index}`;
    place(key, thing(`Key ${index}`));
    if (dice() < 0.3 && door.cell.chest !== undefined) door.cell.chest.key = key;
    else door.exit.key = key;
  }
  // Sometimes a one-way door.
  if (dice() < 0.08) {
    const trap = Object.values(pick(others).exits)[0];
    if (trap !== undefined) trap.key = relics[0] ?? "lamp";
  }
  for (const cell of lairs) {
    const beyond = Object.values(cell.exits)[1];
    if (beyond !== undefined && dice() < 0.5 && cell.monster !== undefined) beyond.after = cell.monster;
  }
  return fill({
    title: `Random world ${seed}`,
    start: start.id,
    rooms: Object.fromEntries(cells.map((cell) => [cell.id, roomIn(cell, cell === elder)])),
    items,
    monsters,
    quests: {
      task: { name: "The Task", offer: "Will you?", active: "Do it.", completed: "It is done.", find: relics, defeat: ["beast_0"] },
    },
    characters: { elder: { name: "Elder", description: "Old.", greeting: "Hm.", quest: "task" } },
    ending: { quest: "task", room: pick(others).id, text: "THE END" },
  });
}

function roomIn(cell: Cell, elder: boolean): RawWorld["rooms"][string] {
  const { x: _x, y: _y, id, ...rest } = cell;
  return { name: `Room ${id}`, description: `You are in ${id}.`, ...rest, ...(elder && { characters: ["elder"] }) };
}

/** Connected rooms: each but the first has an entrance from an earlier one, and its first exit leads back. */
function grid(dice: Dice, count: number): { readonly start: Cell; readonly others: readonly Cell[] } {
  const start: Cell = { id: "room_0", x: 0, y: 0, exits: {}, items: [], dark: false, rest: false };
  const cells = [start];
  while (cells.length < count) {
    const from = cells[Math.floor(dice() * cells.length)];
    const direction = DIRECTIONS[Math.floor(dice() * DIRECTIONS.length)];
    if (from === undefined || direction === undefined) continue;
    const [dx, dy] = STEP[direction];
    const [x, y] = [from.x + dx, from.y + dy];
    const there = cells.find((cell) => cell.x === x && cell.y === y);
    if (there !== undefined) {
      if (dice() < 0.15 && from.exits[direction] === undefined && there.exits[BACK[direction]] === undefined) {
        from.exits[direction] = { to: there.id };
        there.exits[BACK[direction]] = { to: from.id };
      }
      continue;
    }
    const id = `room_${cells.length}`;
    cells.push({ id, x, y, exits: { [BACK[direction]]: { to: from.id } }, items: [], dark: false, rest: false });
    from.exits[direction] = { to: id };
  }
  return { start, others: cells.slice(1) };
}
