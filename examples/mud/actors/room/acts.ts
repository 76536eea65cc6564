import type { ActorId, JsonObject } from "troupe/contract";
import { usesOf } from "../../rules/describe.ts";
import { armsOf, FLEE_SUCCEEDS, strikeHero, strikeMonster } from "../../rules/fight.ts";
import { openWays, passage } from "../../rules/passage.ts";
import { isLit, monsterHere, openChest, takeFromFloor } from "../../rules/stage.ts";
import { clean, findByPart, listed, findByName, quoted } from "../../rules/text.ts";
import { DIRECTIONS, isKey, itemOf, monsterOf, roomOf, type World } from "../../world/world.ts";
import type { Ticket } from "../sheet.ts";
import { sendRequest } from "./requests.ts";
import { leaveFor, isBusy } from "./presence.ts";
import { type Occupant, otherNamed, othersOf, type RoomTurn, announce } from "./room-state.ts";
import { scheduleReturn, requestBlow, victory } from "./upkeep.ts";

/** The outcome of an act: an answer, a refusal, or an answer by a later turn of this room. */
export type Outcome = { readonly ok: string } | { readonly refused: string } | "later";

/** An acting player and the waiting call. */
export interface ActingPlayer {
  readonly self: ActorId;
  readonly occupant: Occupant;
  readonly call: string;
}

/** Each act checks everything before it writes, so that a refusal changes nothing. */
export type ActName = "move" | "pick_up" | "drop" | "use" | "give" | "battle" | "flee" | "open_chest" | "say" | "emote" | "talk";

export const MAX_SAYING_LENGTH = 500;

const refused = (reason: string): Outcome => ({ refused: reason });
const argument = (args: JsonObject, name: string): string => {
  const value = args[name];
  return typeof value === "string" ? value : "";
};

function lit(turn: RoomTurn, world: World): boolean {
  if (!roomOf(world, turn.key).dark) return true;
  const carried = Object.values(turn.state.occupants).flatMap((other) => (other.asleep ? [] : other.items));
  return isLit(world, turn.key, turn.state.stage, carried);
}

const ticketOf = (actor: ActingPlayer, item: string, to: string | null): Ticket => ({
  call: actor.call,
  me: actor.self,
  item,
  to,
  text: "",
  after: null,
});

/** The ticket of an act that has happened and is answered later. */
const doneNow = (turn: RoomTurn, actor: ActingPlayer, item: string, text = ""): Ticket => ({
  ...ticketOf(actor, item, null),
  text,
  after: turn.state.next - 1,
});

/** Performs an act of a player in the room. */
export function perform(turn: RoomTurn, world: World, act: ActName, actor: ActingPlayer, args: JsonObject): Outcome {
  const { self, occupant } = actor;
  // A player who acts here has not left, so a lost move is over.
  if (occupant.leaving && !isBusy(turn, occupant)) occupant.leaving = false;
  if (occupant.leaving) return refused("You are on your way already.");
  const nameOf = (id: string): string => itemOf(world, id).name;
  const carried = (): string | undefined => findByName(occupant.items, nameOf, argument(args, "item"));
  switch (act) {
    case "move":
      return move(turn, world, actor, argument(args, "direction"));
    case "pick_up": {
      if (!lit(turn, world)) return refused("It is too dark to find anything.");
      const item = findByName(turn.state.stage.floor, nameOf, argument(args, "item"));
      if (item === undefined) return refused("There is nothing of that name here.");
      if (occupant.items.length >= world.hero.carry)
        return refused(`Your hands are full: you carry ${occupant.items.length} things. Drop one first.`);
      takeFromFloor(turn.state.stage, item);
      turn.cancel(`stray-${item}`);
      // The player's own turn decides. The copy changes now, so that the act changes each list only once.
      occupant.items.push(item);
      announce(turn, self, `${occupant.name} picks up the ${nameOf(item)}.`);
      sendRequest(turn, self, "gained", doneNow(turn, actor, item));
      return "later";
    }
    case "drop": {
      const item = carried();
      if (item === undefined) return refused("You carry nothing of that name.");
      sendRequest(turn, self, "released", ticketOf(actor, item, null));
      return "later";
    }
    case "give": {
      const item = carried();
      if (item === undefined) return refused("You carry nothing of that name.");
      const to = otherNamed(turn.state, self, argument(args, "to"))?.[0];
      if (to === undefined) return refused("There is nobody of that name here.");
      sendRequest(turn, self, "released", ticketOf(actor, item, to));
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
      const opened = openChest(world, turn.key, turn.state.stage, occupant.items);
      if ("refused" in opened) return opened;
      for (const item of opened.items) scheduleReturn(turn, world, item);
      const name = roomOf(world, turn.key).chest?.name ?? "chest";
      announce(turn, self, `${occupant.name} opens the ${name}.`);
      return {
        ok: opened.items.length === 0 ? `The ${name} is empty.` : `You open the ${name}. In it: ${listed(opened.items.map(nameOf))}.`,
      };
    }
    case "say":
    case "emote": {
      const speech = clean(argument(args, "text"), MAX_SAYING_LENGTH);
      if (speech === "") return refused("Write what.");
      announce(turn, self, act === "say" ? `${occupant.name} says: ${quoted(speech)}` : `* ${occupant.name} ${quoted(speech)}`, {
        speech: true,
      });
      return { ok: act === "say" ? `You say: ${quoted(speech)}` : `* ${occupant.name} ${quoted(speech)}` };
    }
    default:
      return talk(turn, world, actor, argument(args, "to"), argument(args, "about"));
  }
}

function move(turn: RoomTurn, world: World, actor: ActingPlayer, wanted: string): Outcome {
  const { self, occupant, call } = actor;
  const direction = DIRECTIONS.find((known) => known === wanted);
  if (direction === undefined) return refused(`Error: Cannot move there - directions are ${DIRECTIONS.join(", ")}.`);
  // A key of any player in the room opens the door.
  const isLocked = roomOf(world, turn.key).exits[direction]?.key !== undefined;
  const theirs = isLocked ? othersOf(turn.state, self).flatMap(([, other]) => other.items) : [];
  const step = passage(world, turn.key, direction, { items: [...occupant.items, ...theirs], deeds: occupant.deeds });
  if ("refused" in step) return step;
  if (occupant.engaged) return refused("Error: Cannot move - you are in a fight. Finish it, or flee.");
  if (isBusy(turn, occupant)) return refused("One thing at a time.");
  announce(turn, self, `${occupant.name} leaves ${direction}.`);
  const opened = step.by === undefined ? "" : ` The ${itemOf(world, step.by).name} opens the way.`;
  const from = roomOf(world, turn.key).name;
  leaveFor(turn, self, step.to, call, {
    text: `You go ${direction}.${opened}`,
    how: `${occupant.name} arrives from ${from}.`,
    died: false,
  });
  return "later";
}

function use(turn: RoomTurn, world: World, actor: ActingPlayer, id: string | undefined): Outcome {
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
    // Counts as a blow: a player can neither strike twice at once nor walk away with it.
    if (isBusy(turn, actor.occupant)) return refused("One thing at a time.");
    actor.occupant.busy = turn.now;
  }
  sendRequest(turn, actor.self, "consumed", ticketOf(actor, id, null));
  return "later";
}

function battle(turn: RoomTurn, world: World, actor: ActingPlayer): Outcome {
  const { self, occupant } = actor;
  const id = monsterHere(world, turn.key, turn.state.stage);
  if (id === undefined) return refused("No enemies here");
  if (isBusy(turn, occupant)) return refused("One thing at a time.");
  const monster = monsterOf(world, id);
  const dealt = strikeMonster(armsOf(world, occupant.items, id), monster, turn.random);
  const left = Math.max(0, turn.state.stage.monsterHealth - dealt);
  const struck =
    dealt === 0 ? `You miss the ${monster.name}.` : `You hit the ${monster.name} for ${dealt}: ${left} of ${monster.health} left.`;
  announce(
    turn,
    self,
    dealt === 0 ? `${occupant.name} misses the ${monster.name}.` : `${occupant.name} hits the ${monster.name} for ${dealt}.`,
  );
  if (left === 0) victory(turn, world, doneNow(turn, actor, "", struck));
  else {
    turn.state.stage.monsterHealth = left;
    requestBlow(turn, occupant, doneNow(turn, actor, "", struck), id, strikeHero(monster, armsOf(world, occupant.items, id), turn.random));
  }
  return "later";
}

function flee(turn: RoomTurn, world: World, actor: ActingPlayer): Outcome {
  const { self, occupant, call } = actor;
  const id = monsterHere(world, turn.key, turn.state.stage);
  if (!occupant.engaged || id === undefined) return refused("You are in no fight.");
  if (isBusy(turn, occupant)) return refused("One thing at a time.");
  const monster = monsterOf(world, id);
  const ways = openWays(world, turn.key, occupant);
  const way = ways.find(({ to }) => to === occupant.came) ?? ways[Math.floor(turn.random() * ways.length)];
  if (way !== undefined && turn.random() < FLEE_SUCCEEDS) {
    announce(turn, self, `${occupant.name} flees ${way.direction} from the ${monster.name}.`);
    leaveFor(turn, self, way.to, call, {
      text: `You flee ${way.direction}.`,
      how: `${occupant.name} arrives, out of breath.`,
      died: false,
    });
    return "later";
  }
  const damage = strikeHero(monster, armsOf(world, occupant.items, id), turn.random);
  requestBlow(turn, occupant, doneNow(turn, actor, "", "You try to get away, and fail."), id, damage);
  return "later";
}

function talk(turn: RoomTurn, world: World, actor: ActingPlayer, to: string, about: string): Outcome {
  const here = roomOf(world, turn.key).characters;
  const id = findByName(here, (one) => world.characters[one]?.name ?? one, to);
  const character = id === undefined ? undefined : world.characters[id];
  if (id === undefined || character === undefined) return refused("There is nobody of that name here to talk with.");
  announce(turn, actor.self, `${actor.occupant.name} talks with the ${character.name}.`);
  const topics = Object.keys(character.topics);
  const topicHint = topics.length === 0 ? "" : ` (Ask about: ${topics.join(", ")}.)`;
  const { quest } = character;
  const offers = quest !== undefined && !actor.occupant.quests.includes(quest) ? `\n${world.quests[quest]?.offer ?? ""}` : "";
  if (about === "") return { ok: `${character.name}: “${character.greeting}”${topicHint}${offers}` };
  const topic = findByPart(topics, (one) => one, about);
  return {
    ok:
      topic === undefined
        ? `The ${character.name} knows nothing about that.${topicHint}`
        : `${character.name}: “${character.topics[topic] ?? ""}”`,
  };
}
