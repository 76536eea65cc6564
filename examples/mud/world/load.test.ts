import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { playthrough } from "../play/playthrough.ts";
import { loadWorld, parseWorld } from "./load.ts";
import { WorldError } from "./problem.ts";
import { exitsOf, questAt, type World } from "./world.ts";

const fileOf = (name: string): string => fileURLToPath(new URL(`../worlds/${name}.yaml`, import.meta.url));
const keep = loadWorld(fileOf("keep"));
const saltmarsh = loadWorld(fileOf("saltmarsh"));
const text = readFileSync(fileOf("keep"), "utf8");

function problemsOf(yaml: string): readonly string[] {
  try {
    parseWorld(yaml, "w.yaml");
  } catch (error) {
    if (error instanceof WorldError) return error.problems;
    throw error;
  }
  return [];
}

const lineOf = (yaml: string, part: string): number => yaml.slice(0, yaml.indexOf(part)).split("\n").length;

test("the first world has twelve rooms or more, three keys, a guardian, three kinds of monster, two chests and an ending #mud.worlds.first", () => {
  const quest = keep.quests[keep.ending.quest];
  assert.ok(Object.keys(keep.rooms).length >= 12);
  assert.equal(quest?.find.length, 3);
  assert.ok(quest?.defeat.some((id) => keep.monsters[id]?.guardian));
  assert.ok(Object.keys(keep.monsters).length >= 3);
  assert.ok(Object.values(keep.rooms).filter((room) => room.chest !== undefined).length >= 2);
  assert.match(keep.ending.text, /THE END/);
});

test("a world file may begin with a byte order mark", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-world-"));
  const file = join(folder.path, "keep.yaml");
  writeFileSync(file, `\uFEFF${text}`);
  assert.deepEqual(loadWorld(file), keep);
});

test("the second world shares nothing with the first #mud.worlds.second", () => {
  for (const list of ["rooms", "items", "monsters", "characters", "quests"] as const) {
    const shared = Object.keys(keep[list]).filter((id) => Object.hasOwn(saltmarsh[list], id));
    assert.deepEqual(shared, [], list);
  }
});

test("the second world uses every feature #mud.worlds.second", () => {
  const rooms = Object.values(saltmarsh.rooms);
  const items = Object.values(saltmarsh.items);
  const exits = rooms.flatMap((room) => exitsOf(room).map(([, exit]) => exit));
  const used: Record<string, boolean> = {
    locked: exits.some((exit) => exit.key !== undefined && exit.shut !== undefined),
    barred: exits.some((exit) => exit.after !== undefined && exit.shut !== undefined),
    dark: rooms.some((room) => room.dark),
    rest: rooms.some((room) => room.rest),
    chest: rooms.some((room) => room.chest !== undefined && room.chest.key === undefined),
    lockedChest: rooms.some((room) => room.chest?.key !== undefined),
    placed: items.some((item) => item.placed !== undefined),
    light: items.some((item) => item.light),
    attack: items.some((item) => item.attack > 0),
    armor: items.some((item) => item.armor > 0),
    heal: items.some((item) => item.heal > 0),
    strike: items.some((item) => item.strike > 0),
    bane: items.some((item) => item.bane !== undefined),
    carriedByMonster: Object.values(saltmarsh.monsters).some((monster) => monster.items.length > 0),
    monsterArmor: Object.values(saltmarsh.monsters).some((monster) => monster.armor > 0),
    guardian: Object.values(saltmarsh.monsters).some((monster) => monster.guardian),
    topics: Object.values(saltmarsh.characters).some((one) => Object.keys(one.topics).length > 0),
    questOfCharacter: Object.values(saltmarsh.characters).some((one) => one.quest !== undefined),
    questOfRoom: rooms.some((room) => room.quest !== undefined),
    ownHero: saltmarsh.hero.health !== keep.hero.health,
    ownPace: saltmarsh.pace.respawnMs !== keep.pace.respawnMs,
    several: Object.keys(saltmarsh.quests).length > 1,
  };
  assert.deepEqual(
    Object.keys(used).filter((feature) => used[feature] !== true),
    [],
  );
});

test("the first rooms read as the specification's examples", () => {
  assert.equal(keep.rooms["entrance"]?.name, "Dungeon Entrance");
  assert.equal(
    keep.quests["lost_treasure"]?.offer,
    "A weathered note on the wall describes an ancient treasure hidden deep in the dungeon. The quest involves finding three magical keys and defeating the guardian. Do you wish to accept this quest?",
  );
  assert.equal(questAt(keep, "hallway"), "lost_treasure");
});

const broken: readonly (readonly [what: string, from: string, to: string, where: string, says: RegExp])[] = [
  [
    "a misspelt key",
    "    rest: true\n    items: [torch]",
    "    rset: true\n    items: [torch]",
    "rset",
    /"rooms.entrance" has no "rset". Did you mean "rest"\?/,
  ],
  [
    "an unknown room",
    "exits: { north: hallway }",
    "exits: { north: hallwy }",
    "hallwy",
    /there is no room "hallwy". Did you mean "hallway"\?/,
  ],
  [
    "an unknown item",
    "items: [leather_pouch]",
    "items: [leather_puch]",
    "leather_puch",
    /there is no item "leather_puch". Did you mean "leather_pouch"\?/,
  ],
  ["a wrong type", "health: 45", "health: lots", "lots", /"monsters.cave_goblin.health" must be a whole number, not "lots"/],
  [
    "an item in two places",
    "items: [rope]",
    "items: [torch]",
    "torch]\n    exits: { north: chamber }",
    /"torch" is in rooms.entrance already/,
  ],
  ["an item nowhere", "    items: [rope]\n", "", "rope: {", /the item "rope" is nowhere/],
  ["a monster nowhere", "    monster: cave_goblin\n", "", "cave_goblin:\n", /the monster "cave_goblin" lives nowhere/],
  ["a bad id", "  lair:\n", "  The Lair:\n", "The Lair:", /"The Lair" is no id/],
  ["a missing name", "    name: Dark Hallway\n", "", "  hallway:", /"rooms.hallway" lacks "name": add it/],
  ["an exit to itself", "exits: { north: hallway }", "exits: { north: entrance }", "entrance }", /leads to where it begins/],
  [
    "a dark start",
    "    rest: true\n    items: [torch]",
    "    dark: true\n    items: [torch]",
    "true\n    items: [torch]",
    /it cannot be dark/,
  ],
  ["two things of one name", "name: Coil of Rope", "name: Torch", "rope: {", /both answer to "torch"/],
  [
    "a quest without goals",
    "    find: [rusty_key, bone_key, moon_key]\n    defeat: [stone_guardian]\n",
    "",
    "lost_treasure:\n    name",
    /asks for nothing/,
  ],
];

for (const [what, from, to, where, says] of broken) {
  test(`${what} is reported with its file, line and column, and what to write instead #mud.worlds.errors`, () => {
    assert.ok(text.includes(from));
    const yaml = text.replace(from, to);
    const problems = problemsOf(yaml);
    const problem = problems.find((one) => says.test(one)) ?? problems.join("\n");
    assert.match(problem, says);
    const [, line] = /^w\.yaml:(\d+):(\d+): /.exec(problem) ?? [];
    assert.ok(Math.abs(Number(line) - lineOf(yaml, where)) <= 1, `${problem} should be near line ${lineOf(yaml, where)}`);
  });
}

const unfinishable: readonly (readonly [what: string, change: (yaml: string) => string, says: RegExp])[] = [
  [
    "a key behind its own door",
    (yaml) => yaml.replace("items: [rusty_key]", "items: []").replace("items: [chain_mail]", "items: [chain_mail, rusty_key]"),
    /"armory" cannot be reached: the exit east of "chamber" needs "rusty_key"/,
  ],
  ["a room nothing leads to", (yaml) => yaml.replace("west: chapel }", "}"), /"chapel" cannot be reached: no exit leads to it/],
  [
    "no light",
    (yaml) => yaml.replaceAll(/(?:\n {4}|, )light: true/g, ""),
    /the item "rope" cannot be had: "cellar" is dark and no light can be had/,
  ],
  ["an unbeatable guardian", (yaml) => yaml.replace("health: 75", "health: 7500"), /"stone_guardian" cannot be beaten/],
  [
    "a way without return",
    (yaml) => yaml.replace("exits: { west: bridge }", "exits: { west: { to: bridge, key: moon_key } }"),
    /whoever is in "tower" may be locked in/,
  ],
  ["a quest without a giver", (yaml) => yaml.replace("    quest: lost_treasure\n", ""), /the quest "lost_treasure" is offered nowhere/],
  ["hands too small", (yaml) => yaml.replace("carry: 12", "carry: 3"), /raise "carry"/],
];

for (const [what, change, says] of unfinishable) {
  test(`a world that cannot be finished is rejected with the reason: ${what} #mud.worlds.finish`, () => {
    const yaml = change(text);
    assert.notEqual(yaml, text);
    const problems = problemsOf(yaml);
    assert.ok(
      problems.some((one) => says.test(one) && /^w\.yaml:\d+:\d+: /.test(one)),
      problems.join("\n"),
    );
  });
}

test("hostile YAML is refused with a sentence: broken, nested aliases, not a mapping, too long, prototypes #mud.worlds.errors", () => {
  assert.match(problemsOf("rooms: [")[0] ?? "", /^w\.yaml:1:\d+: is no YAML/);
  const bomb = [
    "a: &a [x,x,x,x,x,x,x,x,x]",
    "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]",
    "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]",
    "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]",
    "e: [*d,*d,*d,*d,*d,*d]",
  ];
  assert.match(problemsOf(bomb.join("\n"))[0] ?? "", /cannot be read|has no/);
  assert.match(problemsOf("- 1")[0] ?? "", /the world must be a mapping/);
  assert.match(problemsOf("a".repeat(1_000_001))[0] ?? "", /is longer/);
  assert.ok(problemsOf(text.replace("  entrance:\n", "  __proto__: {}\n  entrance:\n")).some((one) => /"__proto__" is no id/.test(one)));
  assert.throws(() => loadWorld("nowhere.yaml"), /nowhere\.yaml:1:1: cannot be read/);
});

test("the published schema is the one worlds are checked against, and describes every key a world has #mud.worlds.yaml", () => {
  const schema: { properties: Record<string, unknown> } = JSON.parse(
    readFileSync(new URL("../world.schema.json", import.meta.url), "utf8"),
  );
  const known = Object.keys(schema.properties).toSorted();
  const all: World = saltmarsh;
  assert.deepEqual(known, Object.keys(all).toSorted());
});

test("the world in the guide can be played, and the guide knows every key and default #mud.worlds.yaml", () => {
  const guide = readFileSync(new URL("../../../docs/guide/mud.md", import.meta.url), "utf8");
  const yaml = /```yaml\n([\s\S]+?)```/.exec(guide)?.[1] ?? "";
  const small = parseWorld(yaml, "guide.yaml");
  assert.equal(small.title, "The Smallest Cave");
  assert.ok(playthrough(small, 1).ended);
  const { hero, pace } = small;
  assert.ok(guide.includes(`\`health\` ${hero.health}, \`attack\` ${hero.attack}, \`armor\` ${hero.armor}, \`carry\` ${hero.carry}`));
  const minutes = [pace.respawnMs, pace.regrowMs, pace.returnMs, pace.idleMs].map((ms) => ms / 60_000);
  assert.ok(guide.includes(["respawn", "regrow", "stray", "idle"].map((name, index) => `\`${name}\` ${minutes[index] ?? ""}`).join(", ")));
  for (const list of ["rooms", "items", "monsters", "characters", "quests"] as const) {
    for (const thing of Object.values(saltmarsh[list])) for (const key of Object.keys(thing)) assert.ok(guide.includes(`\`${key}\``), key);
  }
});

test("names that differ only by an article are reported, and so is too short an idle time", () => {
  const small = (change: (yaml: string) => string): string => {
    const guide = readFileSync(new URL("../../../docs/guide/mud.md", import.meta.url), "utf8");
    return change(/```yaml\n([\s\S]+?)```/.exec(guide)?.[1] ?? "");
  };
  const twin = small((yaml) => yaml.replace("name: Gold Ring", "name: The Club"));
  assert.throws(() => parseWorld(twin, "w.yaml"), /both answer to "club"/);
  const hasty = small((yaml) => yaml.replace("start: mouth", "start: mouth\npace: { idle: 5 }"));
  assert.throws(() => parseWorld(hasty, "w.yaml"), /"pace\.idle" must be >= 20/);
});
