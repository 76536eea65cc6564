import type { JsonObject, Json, Viewer } from "troupe/contract";
import { type Frozen, refuse } from "troupe";
import { describeBattle, describeDarkBattle, describeRoom, describeThing, together, type Viewpoint } from "../../rules/describe.ts";
import { passage } from "../../rules/passage.ts";
import { isLit, monsterHere } from "../../rules/stage.ts";
import { clean } from "../../rules/text.ts";
import { exitsOf, itemOf, monsterOf, roomOf, type World } from "../../world/world.ts";
import { type Entry, occupantOf, newsFor, otherNamed, type RoomView, withNews } from "./room-state.ts";

/**
 * Stores what is made of a part of a state by that part, which is the same object for all viewers until a turn changes it. After each turn,
 * the lists and resources of all players in a room are made: each going through all of them would take the square of their number.
 */
function stored<P extends object, R>(make: (part: P) => R): (part: P) => R {
  const known = new WeakMap<P, { readonly made: R }>();
  return (part) => {
    const found = known.get(part) ?? { made: make(part) };
    known.set(part, found);
    return found.made;
  };
}

const crowdOf = stored((occupants: RoomView["occupants"]) => {
  const awake = Object.entries(occupants).filter(([, one]) => !one.asleep);
  const visible = awake.flatMap(([id, { name, items, leaving }]) => (leaving ? [] : [{ id, name, items: [...items] }]));
  return { visible, items: awake.flatMap(([, one]) => one.items) };
});

const dated = <E extends Frozen<Entry>>(entry: E) => ({ ...entry, line: { at: new Date(entry.at).toISOString(), text: entry.text } });

const logOf = stored((log: RoomView["log"]) => log.map(dated));

// The rules take a writable stage. Views do not write to it.
const stageOf = stored((stage: RoomView["stage"]) => ({
  ...stage,
  floor: [...stage.floor],
  chest: [...stage.chest],
  monsterItems: [...stage.monsterItems],
}));

/** Whether another player is visible. */
export function hasOthers(state: RoomView, self: string | undefined): boolean {
  return crowdOf(state.occupants).visible.some(({ id }) => id !== self);
}

/** Whether the room is lit, by itself or by an item that is carried. */
export function litIn(world: World, state: RoomView): boolean {
  return isLit(world, state.id, stageOf(state.stage), crowdOf(state.occupants).items);
}

/** The items that can be picked up. */
export function visibleItems(world: World, state: RoomView): readonly string[] {
  return litIn(world, state) ? state.stage.floor : [];
}

/** As `viewpointOf` in a turn. */
function viewpointIn(state: RoomView, self: string | undefined): Viewpoint {
  const mine = self === undefined ? undefined : state.occupants[self];
  const others = crowdOf(state.occupants).visible.filter(({ id }) => id !== self);
  return {
    items: mine?.items ?? [],
    deeds: mine?.deeds ?? [],
    quests: mine?.quests ?? [],
    others: others.map(({ name }) => name),
    theirs: others.flatMap(({ items }) => items),
  };
}

/** The tool `look`: at the room, or at one thing. */
export function look(world: World, state: RoomView, args: JsonObject, viewer: Viewer): string {
  const [name, given] =
    ["at", "thing", "target"].map((one) => [one, args[one] ?? undefined] as const).find(([, one]) => one !== undefined) ?? [];
  if (given !== undefined && typeof given !== "string")
    return refuse(`${name ?? "at"} must be text: the name of a thing, a character or a player in sight.`, { code: "INVALID" });
  const wanted = given ?? "";
  const who = viewpointIn(state, viewer.self);
  if (wanted.trim() === "") return withNews(state, viewer.self, describeRoom(world, state.id, stageOf(state.stage), who));
  const called = clean(wanted, 80);
  const mine = occupantOf(state, viewer)?.name ?? "me";
  if (["me", "myself", mine].some((one) => one.toLowerCase() === called.toLowerCase())) return inventory(world, state, viewer);
  const thing = describeThing(world, state.id, stageOf(state.stage), who, called) ?? other(world, state, viewer, called);
  return thing === undefined ? refuse(`You see nothing of that name here.`) : withNews(state, viewer.self, thing);
}

function other(world: World, state: RoomView, viewer: Viewer, name: string): string | undefined {
  const found = otherNamed(state, viewer.self, name);
  if (found === undefined) return undefined;
  const [, one] = found;
  const carried = one.items.map((item) => itemOf(world, item).name);
  return `${one.name} is here${carried.length === 0 ? ", with empty hands" : ` and carries: ${carried.join(", ")}`}.${one.engaged ? " In a fight!" : ""}`;
}

const carriedNames = (world: World, state: RoomView, viewer: Viewer): readonly string[] =>
  (occupantOf(state, viewer)?.items ?? []).map((item) => itemOf(world, item).name);

function questsInHand(world: World, mine: ReturnType<typeof occupantOf>): readonly string[] {
  return (mine?.quests ?? []).flatMap((id) => {
    const quest = world.quests[id];
    return quest === undefined || mine?.completed.includes(id) === true ? [] : [`${quest.name}. ${quest.active}`];
  });
}

/** `inventory`. */
export function inventory(world: World, state: RoomView, viewer: Viewer): string {
  const names = carriedNames(world, state, viewer);
  const health = occupantOf(state, viewer)?.health ?? world.hero.health;
  const carried = names.length === 0 ? "You carry nothing." : `You carry: ${names.join(", ")}.`;
  const quests = questsInHand(world, occupantOf(state, viewer)).map((quest) => `\nQuest: ${quest}`);
  return withNews(state, viewer.self, `${carried} Health: ${health} of ${world.hero.health}.${quests.join("")}`);
}

/** The prompt `room_description`. */
export function roomDescription(world: World, state: RoomView, viewer: Viewer, withInventory: boolean) {
  const names = carriedNames(world, state, viewer).map((name) => name.toLowerCase());
  const scene = describeRoom(world, state.id, stageOf(state.stage), viewpointIn(state, viewer.self));
  const carried = withInventory ? `\n\nInventory: ${names.length === 0 ? "nothing" : names.join(", ")}` : "";
  return message("Detailed room description with current game state", scene + carried);
}

/** The prompt `battle_prompt`. */
export function battlePrompt(world: World, state: RoomView, viewer: Viewer) {
  const monster = monsterHere(world, state.id, stageOf(state.stage));
  if (monster === undefined) return refuse("No enemies here");
  const mine = occupantOf(state, viewer);
  const lit = litIn(world, state);
  const who = {
    items: mine?.items ?? [],
    deeds: mine?.deeds ?? [],
    health: mine?.health ?? world.hero.health,
    engaged: mine?.engaged === true,
  };
  if (!lit) return message("Combat in the dark", describeDarkBattle(world, who));
  return message(`Combat with the ${monsterOf(world, monster).name}`, describeBattle(world, monster, state.stage.monsterHealth, who));
}

/** A prompt of one message. */
export function message(description: string, text: string) {
  return { description, messages: [{ role: "user" as const, content: { type: "text", text } }] };
}

/** The resource `game://room/current`. */
export function currentRoom(world: World, state: RoomView, viewer: Viewer): Json {
  const room = roomOf(world, state.id);
  const who = viewpointIn(state, viewer.self);
  const stage = stageOf(state.stage);
  const lit = litIn(world, state);
  const monster = monsterHere(world, state.id, stage);
  return {
    id: state.id,
    name: room.name,
    description: describeRoom(world, state.id, stage, who),
    lit,
    exits: exitsOf(room).map(([direction]) => ({ direction, open: "to" in passage(world, state.id, direction, together(who)) })),
    items: (lit ? stage.floor : []).map((id) => ({ id, name: itemOf(world, id).name })),
    monster:
      monster === undefined || !lit
        ? null
        : { id: monster, name: monsterOf(world, monster).name, health: stage.monsterHealth, maxHealth: monsterOf(world, monster).health },
    chest: room.chest === undefined || !lit ? null : { name: room.chest.name, open: stage.chestOpen },
    characters: lit ? room.characters.map((id) => ({ id, name: world.characters[id]?.name ?? id })) : [],
    players: who.others,
  };
}

const LOG_ENTRIES = 40;

/** The resource `game://room/log`: the events of the room, and the notes of this viewer. */
export function roomLog(world: World, state: RoomView, viewer: Viewer): Json {
  const log = logOf(state.log);
  const notes = occupantOf(state, viewer)?.notes.map(dated) ?? [];
  const entries = [...log.filter(({ to }) => to === undefined || to !== viewer.self), ...notes]
    .toSorted((a, b) => a.n - b.n)
    .slice(-LOG_ENTRIES);
  return {
    room: roomOf(world, state.id).name,
    unread: newsFor({ ...state, log }, viewer.self).length,
    entries: entries.map(({ line }) => line),
  };
}
