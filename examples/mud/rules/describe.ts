import { exitsOf, homesOf, itemOf, monsterOf, questAt, roomOf, type World } from "../world/world.ts";
import { armsOf, HERO_HITS, MONSTER_HITS } from "./fight.ts";
import { passage, type Traveller } from "./passage.ts";
import { isLit, monsterHere, type Stage } from "./stage.ts";
import { capital, findByPart, listed, findByName } from "./text.ts";

/** The player who looks, and the others in the room. */
export interface Viewpoint extends Traveller {
  /** Accepted quests. */
  readonly quests: readonly string[];
  /** Names of the others, and all their items. */
  readonly others: readonly string[];
  readonly theirs: readonly string[];
}

const nameOf = (world: World, item: string): string => itemOf(world, item).name;

/** `Exits: North, East (locked).` */
function describeExits(world: World, roomId: string, who: Traveller): string {
  const exits = exitsOf(roomOf(world, roomId)).map(([direction, exit]) => {
    const step = passage(world, roomId, direction, who);
    const mark = "to" in step ? "" : exit.key === undefined ? " (barred)" : " (locked)";
    return capital(direction) + mark;
  });
  return exits.length === 0 ? "There is no way out." : `Exits: ${exits.join(", ")}.`;
}

/** The traveller with the keys of all players here, since a key of any of them opens the door. */
export function together(who: Viewpoint): Traveller {
  return { items: [...who.items, ...who.theirs], deeds: who.deeds };
}

/** The description of a room. */
export function describeRoom(world: World, roomId: string, stage: Stage, who: Viewpoint): string {
  const room = roomOf(world, roomId);
  const lit = isLit(world, roomId, stage, [...who.items, ...who.theirs]);
  const also = who.others.length === 0 ? [] : [`Also here: ${listed(who.others)}.`];
  const monster = monsterHere(world, roomId, stage);
  if (!lit) {
    const stirs = monster === undefined ? [] : ["Something is breathing close by."];
    return [
      `It is pitch dark here: without a light you make out nothing but the ways out. ${describeExits(world, roomId, together(who))}`,
      ...stirs,
      ...also,
    ].join("\n");
  }
  const atHome = stage.floor.filter((item) => homesOf(world).get(item)?.room === roomId && homesOf(world).get(item)?.place === "floor");
  const woven = atHome.filter((item) => itemOf(world, item).placed !== undefined);
  const scene = [
    room.description,
    ...woven.map((item) => itemOf(world, item).placed ?? ""),
    describeExits(world, roomId, together(who)),
  ].join(" ");
  const lines = [scene];
  const plain = stage.floor.filter((item) => !woven.includes(item));
  if (plain.length > 0) lines.push(`You see: ${plain.map((item) => nameOf(world, item)).join(", ")}.`);
  if (room.chest !== undefined) lines.push(`There is ${stage.chestOpen ? "an open" : "a closed"} chest: ${room.chest.name}.`);
  if (monster !== undefined) lines.push(`${monsterOf(world, monster).name}! ${monsterOf(world, monster).description}`);
  for (const id of room.characters) {
    const character = world.characters[id];
    if (character !== undefined) lines.push(`${character.name} is here. ${character.description}`);
  }
  const quest = questAt(world, roomId);
  if (quest !== undefined && !who.quests.includes(quest)) lines.push(`A quest is offered here: ${world.quests[quest]?.name ?? quest}.`);
  return [...lines, ...also].join("\n");
}

/** The description of one thing. Undefined if no such thing is visible. */
export function describeThing(world: World, roomId: string, stage: Stage, who: Viewpoint, wanted: string): string | undefined {
  const room = roomOf(world, roomId);
  const lit = isLit(world, roomId, stage, [...who.items, ...who.theirs]);
  const item = findByPart([...who.items, ...(lit ? stage.floor : [])], (id) => nameOf(world, id), wanted);
  if (item !== undefined) return `${nameOf(world, item)}: ${itemOf(world, item).description}${describeUse(world, item)}`;
  if (!lit) return undefined;
  const monster = monsterHere(world, roomId, stage);
  if (monster !== undefined && findByPart([monster, "monster"], (id) => world.monsters[id]?.name ?? id, wanted) !== undefined) {
    const { name, description, health } = monsterOf(world, monster);
    return `${name}: ${description} Health ${stage.monsterHealth} of ${health}.`;
  }
  const character = findByPart(room.characters, (id) => world.characters[id]?.name ?? id, wanted);
  if (character !== undefined)
    return `${world.characters[character]?.name ?? character}: ${world.characters[character]?.description ?? ""}`;
  if (room.chest !== undefined && findByPart(["chest"], () => room.chest?.name ?? "", wanted) !== undefined) {
    return `${room.chest.name}: it is ${stage.chestOpen ? "open" : "closed"}.`;
  }
  const quest = questAt(world, roomId);
  if (quest !== undefined && findByName(["note", "quest"], () => world.quests[quest]?.name ?? "", wanted) !== undefined)
    return world.quests[quest]?.offer;
  return undefined;
}

/** The uses of an item as a sentence with a leading space. */
function describeUse(world: World, id: string): string {
  const uses = usesOf(world, id);
  return uses === "" ? "" : ` (${capital(uses)}.)`;
}

/** The uses of an item, such as `it gives light`; empty if it has none. */
export function usesOf(world: World, id: string): string {
  const item = itemOf(world, id);
  const uses: string[] = [];
  if (item.light) uses.push("it gives light");
  const bane = item.bane === undefined ? undefined : `against the ${monsterOf(world, item.bane.monster).name}`;
  if (item.attack > 0)
    uses.push(`it adds ${item.attack} to your attack${bane === undefined ? "" : `, and ${item.bane?.attack ?? 0} more ${bane}`}`);
  else if (bane !== undefined) uses.push(`it adds ${item.bane?.attack ?? 0} to your attack ${bane}`);
  if (item.armor > 0) uses.push(`it takes ${item.armor} from every blow`);
  if (item.heal > 0) uses.push(`using it gives back ${item.heal} health`);
  if (item.strike > 0) uses.push(`using it costs the monster before you ${item.strike} health`);
  return listed(uses);
}

const per = (chance: number, attack: number, armor: number): string =>
  `about ${Math.max(1, Math.round(attack * chance - armor * chance))} per round`;

/** The state of a fight, and the effect of each carried item. */
export function describeBattle(
  world: World,
  monsterId: string,
  monsterHealth: number,
  who: Traveller & { readonly health: number; readonly engaged: boolean },
): string {
  const monster = monsterOf(world, monsterId);
  const arms = armsOf(world, who.items, monsterId);
  const lines = [
    `You face the ${monster.name}${monster.guardian ? ", the guardian" : ""}. ${monster.description}`,
    `${monster.name}: health ${monsterHealth} of ${monster.health}, hits for ${per(MONSTER_HITS, monster.attack, arms.armor)}.`,
    `You: health ${who.health} of ${world.hero.health}, hit for ${per(HERO_HITS, arms.attack, monster.armor)}.`,
    who.items.length === 0 ? "You carry nothing that could help." : "What you carry:",
    ...who.items.map((item) => `- ${nameOf(world, item)}: ${effectInFight(world, item, monsterId, arms.attack)}`),
    optionsIn(world, who),
  ];
  return lines.join("\n");
}

/** The state of a fight in the dark. */
export function describeDarkBattle(world: World, who: Traveller & { readonly health: number; readonly engaged: boolean }): string {
  return [
    "Something is breathing close by, and it is pitch dark: only a light would show what it is.",
    `You: health ${who.health} of ${world.hero.health}.`,
    optionsIn(world, who),
  ].join("\n");
}

function optionsIn(world: World, who: { readonly items: readonly string[]; readonly health: number; readonly engaged: boolean }): string {
  const usable = who.items.map((id) => itemOf(world, id)).some(({ heal, strike }) => heal > 0 || strike > 0);
  const away = who.engaged ? "flee" : "or walk away: you are not in the fight yet";
  const hurt = who.health * 3 < world.hero.health ? " You are badly hurt." : "";
  return `Options: ${["battle (one round)", ...(usable ? ["use an item"] : []), away].join(", ")}.${hurt}`;
}

function effectInFight(world: World, id: string, monsterId: string, attack: number): string {
  const item = itemOf(world, id);
  const force = item.attack + (item.bane?.monster === monsterId ? item.bane.attack : 0);
  const effects: string[] = [];
  if (force > 0)
    effects.push(world.hero.attack + force >= attack ? `your weapon, +${force} attack` : `+${force} attack, weaker than what you wield`);
  if (item.armor > 0) effects.push(`takes ${item.armor} from every blow`);
  if (item.heal > 0) effects.push(`use it to get back ${item.heal} health`);
  if (item.strike > 0) effects.push(`use it to deal ${item.strike} damage`);
  return effects.length === 0 ? "no help in a fight" : effects.join(", ");
}
