import type { ActorId, JsonObject } from "troupe/contract";
import { usesOf } from "../../rules/describe.ts";
import { armsOf, FLEE_SUCCEEDS, strikeHero, strikeMonster } from "../../rules/fight.ts";
import { openWays, passage } from "../../rules/passage.ts";
import { isLit, monsterHere, openChest, takeUp } from "../../rules/stage.ts";
import { clean, hinted, listed, meant, quoted } from "../../rules/words.ts";
import { DIRECTIONS, isKey, itemOf, monsterOf, roomOf, type World } from "../../world/world.ts";
import type { Ticket } from "../sheet.ts";
import { ask } from "./asking.ts";
import { handOn, isBusy } from "./presence.ts";
import { beholder, type Occupant, otherCalled, othersOf, type RoomTurn, tellAll } from "./room-state.ts";
import { lay, strikeBack, victory } from "./upkeep.ts";

/** The end of an act: told at once, refused, or told by a later turn of this room. */
export type Outcome = { readonly ok: string } | { readonly refused: string } | "later";

/** One who acts here, and the call that waits for it. */
export interface Actor {
  readonly self: ActorId;
  readonly one: Occupant;
  readonly call: string;
}

/** An act checks everything first and writes afterwards: a refusal leaves nothing behind. */
export type ActName = "move" | "pick_up" | "drop" | "use" | "give" | "battle" | "flee" | "open_chest" | "say" | "emote" | "talk";

export const LONGEST_SAYING = 500;

const refused = (why: string): Outcome => ({ refused: why });
const word = (args: JsonObject, name: string): string => {
  const value = args[name];
  return typeof value === "string" ? value : "";
};

function lit(turn: RoomTurn, world: World): boolean {
  const everybody = Object.values(turn.state.occupants).flatMap((one) => (one.asleep ? [] : one.items));
  return isLit(world, turn.key, turn.state.stage, everybody);
}

const ticketOf = (actor: Actor, item: string, to: string | null): Ticket => ({
  call: actor.call,
  me: actor.self,
  item,
  to,
  text: "",
  after: null,
});

/** Of an act that has happened now, and is answered later. */
const doneNow = (turn: RoomTurn, actor: Actor, item: string, text = ""): Ticket => ({
  ...ticketOf(actor, item, null),
  text,
  after: turn.state.next - 1,
});

/** What a player does in a room. */
export function perform(turn: RoomTurn, world: World, act: ActName, actor: Actor, args: JsonObject): Outcome {
  const { self, one } = actor;
  // Whoever acts here has not left: a step that got lost is over.
  if (one.leaving && !isBusy(turn, one)) one.leaving = false;
  if (one.leaving) return refused("You are on your way already.");
  const nameOf = (id: string): string => itemOf(world, id).name;
  const carried = (): string | undefined => meant(one.items, nameOf, word(args, "item"));
  switch (act) {
    case "move":
      return move(turn, world, actor, word(args, "direction"));
    case "pick_up": {
      if (!lit(turn, world)) return refused("It is too dark to find anything.");
      const item = meant(turn.state.stage.floor, nameOf, word(args, "item"));
      if (item === undefined) return refused("There is nothing of that name here.");
      if (one.items.length >= world.hero.carry)
        return refused(`Your hands are full: you carry ${one.items.length} things. Drop one first.`);
      takeUp(turn.state.stage, item);
      turn.cancel(`stray-${item}`);
      // The player's own turn decides; lists show it at once, so that one act changes each list once.
      one.items.push(item);
      tellAll(turn, self, `${one.name} picks up the ${nameOf(item)}.`);
      ask(turn, self, "gained", doneNow(turn, actor, item));
      return "later";
    }
    case "drop": {
      const item = carried();
      if (item === undefined) return refused("You carry nothing of that name.");
      ask(turn, self, "released", ticketOf(actor, item, null));
      return "later";
    }
    case "give": {
      const item = carried();
      if (item === undefined) return refused("You carry nothing of that name.");
      const to = otherCalled(turn.state, self, word(args, "to"))?.[0];
      if (to === undefined) return refused("There is nobody of that name here.");
      ask(turn, self, "released", ticketOf(actor, item, to));
      return "later";
    }
    case "use":
      return use(turn, world, actor, carried());
    case "battle":
      return battle(turn, world, actor);
    case "flee":
      return flee(turn, world, actor);
    case "open_chest": {
      if (!lit(turn, world)) return refused("It is too dark to find anything.");
      const opened = openChest(world, turn.key, turn.state.stage, one.items);
      if ("refused" in opened) return opened;
      for (const item of opened.items) lay(turn, world, item);
      const name = roomOf(world, turn.key).chest?.name ?? "chest";
      tellAll(turn, self, `${one.name} opens the ${name}.`);
      return {
        ok: opened.items.length === 0 ? `The ${name} is empty.` : `You open the ${name}. In it: ${listed(opened.items.map(nameOf))}.`,
      };
    }
    case "say":
    case "emote": {
      const said = clean(word(args, "text"), LONGEST_SAYING);
      if (said === "") return refused("Write what.");
      tellAll(turn, self, act === "say" ? `${one.name} says: ${quoted(said)}` : `* ${one.name} ${quoted(said)}`, { speech: true });
      return { ok: act === "say" ? `You say: ${quoted(said)}` : `* ${one.name} ${quoted(said)}` };
    }
    default:
      return talk(turn, world, actor, word(args, "to"), word(args, "about"));
  }
}

function move(turn: RoomTurn, world: World, actor: Actor, wanted: string): Outcome {
  const { self, one, call } = actor;
  const direction = DIRECTIONS.find((known) => known === wanted);
  if (direction === undefined) return refused(`Error: Cannot move there - directions are ${DIRECTIONS.join(", ")}.`);
  // Whoever is here and has the key holds the door open.
  const theirs = othersOf(turn.state, self).flatMap(([, other]) => other.items);
  const step = passage(world, turn.key, direction, { items: [...one.items, ...theirs], deeds: one.deeds });
  if ("refused" in step) return step;
  if (one.engaged) return refused("Error: Cannot move - you are in a fight. Finish it, or flee.");
  if (isBusy(turn, one)) return refused("One thing at a time.");
  tellAll(turn, self, `${one.name} leaves ${direction}.`);
  const opened = step.by === undefined ? "" : ` The ${itemOf(world, step.by).name} opens the way.`;
  const from = roomOf(world, turn.key).name;
  handOn(turn, self, step.to, call, { text: `You go ${direction}.${opened}`, how: `${one.name} arrives from ${from}.`, died: false });
  return "later";
}

function use(turn: RoomTurn, world: World, actor: Actor, id: string | undefined): Outcome {
  if (id === undefined) return refused("You carry nothing of that name.");
  const item = itemOf(world, id);
  if (item.heal === 0 && item.strike === 0) {
    const uses = usesOf(world, id);
    if (uses !== "") return refused(`The ${item.name} helps by being carried: ${uses}.`);
    return refused(
      isKey(world, id)
        ? `The ${item.name} opens what it fits by itself, when you walk through or open it.`
        : `The ${item.name} is not for using.`,
    );
  }
  if (item.heal === 0 && monsterHere(world, turn.key, turn.state.stage) === undefined) return refused("No enemies here");
  if (item.strike > 0) {
    // A blow like any other: nobody strikes twice at once, or walks off with it.
    if (isBusy(turn, actor.one)) return refused("One thing at a time.");
    actor.one.busy = turn.now;
  }
  ask(turn, actor.self, "consumed", ticketOf(actor, id, null));
  return "later";
}

function battle(turn: RoomTurn, world: World, actor: Actor): Outcome {
  const { self, one } = actor;
  const id = monsterHere(world, turn.key, turn.state.stage);
  if (id === undefined) return refused("No enemies here");
  if (isBusy(turn, one)) return refused("One thing at a time.");
  const monster = monsterOf(world, id);
  const dealt = strikeMonster(armsOf(world, one.items, id), monster, turn.random);
  const left = Math.max(0, turn.state.stage.monsterHealth - dealt);
  const struck =
    dealt === 0 ? `You miss the ${monster.name}.` : `You hit the ${monster.name} for ${dealt}: ${left} of ${monster.health} left.`;
  tellAll(turn, self, dealt === 0 ? `${one.name} misses the ${monster.name}.` : `${one.name} hits the ${monster.name} for ${dealt}.`);
  if (left === 0) victory(turn, world, doneNow(turn, actor, "", struck));
  else {
    turn.state.stage.monsterHealth = left;
    strikeBack(turn, one, doneNow(turn, actor, "", struck), id, strikeHero(monster, armsOf(world, one.items, id), turn.random));
  }
  return "later";
}

function flee(turn: RoomTurn, world: World, actor: Actor): Outcome {
  const { self, one, call } = actor;
  const id = monsterHere(world, turn.key, turn.state.stage);
  if (!one.engaged || id === undefined) return refused("You are in no fight.");
  if (isBusy(turn, one)) return refused("One thing at a time.");
  const monster = monsterOf(world, id);
  const ways = openWays(world, turn.key, one);
  const way = ways.find(({ to }) => to === one.came) ?? ways[Math.floor(turn.random() * ways.length)];
  if (way !== undefined && turn.random() < FLEE_SUCCEEDS) {
    tellAll(turn, self, `${one.name} flees ${way.direction} from the ${monster.name}.`);
    handOn(turn, self, way.to, call, { text: `You flee ${way.direction}.`, how: `${one.name} arrives, out of breath.`, died: false });
    return "later";
  }
  const damage = strikeHero(monster, armsOf(world, one.items, id), turn.random);
  strikeBack(turn, one, doneNow(turn, actor, "", "You try to get away, and fail."), id, damage);
  return "later";
}

function talk(turn: RoomTurn, world: World, actor: Actor, to: string, about: string): Outcome {
  const here = roomOf(world, turn.key).characters;
  const id = meant(here, (one) => world.characters[one]?.name ?? one, to);
  const character = id === undefined ? undefined : world.characters[id];
  if (id === undefined || character === undefined) return refused("There is nobody of that name here to talk with.");
  tellAll(turn, actor.self, `${actor.one.name} talks with the ${character.name}.`);
  const topics = Object.keys(character.topics);
  const asked = topics.length === 0 ? "" : ` (Ask about: ${topics.join(", ")}.)`;
  const { quest } = character;
  const offers =
    quest !== undefined && !beholder(turn.state, actor.self).quests.includes(quest) ? `\n${world.quests[quest]?.offer ?? ""}` : "";
  if (about === "") return { ok: `${character.name}: “${character.greeting}”${asked}${offers}` };
  const topic = hinted(topics, (one) => one, about);
  return {
    ok:
      topic === undefined
        ? `The ${character.name} knows nothing about that.${asked}`
        : `${character.name}: “${character.topics[topic] ?? ""}”`,
  };
}
