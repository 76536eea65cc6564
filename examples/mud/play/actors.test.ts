// slow: 1,000 random acts, and a power failure for each of 30 seeds
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store, Viewer } from "troupe/contract";
import { FaultyStore } from "../../../src/testing/faulty-store.ts";
import { SimulatedClock } from "../../../src/testing/simulated-clock.ts";
import { memoryStore } from "troupe/store";
import { loadWorld, mud, worlds } from "../index.ts";
import { diceOf } from "../rules/dice.ts";
import { homesOf, type World } from "../world/world.ts";
import { advise, type Facts } from "./bot.ts";
import { playAsClient } from "./play-as-client.ts";
import { rounds, Table, viewer } from "./table.fixture.ts";

const games = worlds.map(loadWorld);
const [keep] = games;
assert.ok(keep !== undefined);

/** The knowledge of the bot: its own state and that of the whole world. */
async function factsOf(table: Table, who: Viewer): Promise<Facts> {
  const hero = await table.player(who);
  const rooms = new Map(await Promise.all(Object.keys(table.world.rooms).map(async (id) => [id, await table.room(id)] as const)));
  const untouched = new Map([...homesOf(table.world)].filter(([, home]) => rooms.get(home.room) === undefined));
  return {
    hero,
    engaged: rooms.get(hero.room)?.occupants[`player/${who.principal ?? ""}`]?.engaged === true,
    where(item) {
      for (const [room, state] of rooms) {
        if (state === undefined) continue;
        if (state.stage.floor.includes(item)) return { room, place: "floor" };
        if (state.stage.chest.includes(item)) return { room, place: "chest" };
        if (state.stage.monsterItems.includes(item)) return { room, place: "monster" };
      }
      return untouched.get(item);
    },
    alive: (room) => table.world.rooms[room]?.monster !== undefined && (rooms.get(room)?.stage.monsterHealth ?? 1) > 0,
  };
}

/** Plays the game with the bot, through tools only. Returns the last result. */
async function playThrough(
  table: Table,
  who: Viewer,
  clock: SimulatedClock,
  after: (text: string) => Promise<void> = async () => {},
): Promise<string> {
  let last = await table.call(who, "say", { text: "Here I come." });
  for (let steps = 0; steps < 1_000; steps += 1) {
    await table.quiet();
    await after(last);
    const advice = advise(table.world, await factsOf(table, who));
    if (advice === "done") return last;
    if (advice === "wait") {
      await clock.advance(table.world.pace.respawnMs);
      continue;
    }
    const { tool, ...args } = advice;
    last = await table.call(who, tool, args);
  }
  throw new Error(`No ending after 1,000 steps; last: ${last}`);
}

for (const world of games) {
  test(`${world.title}: a bot reaches the ending through the actors' tools, and the next one can too #mud.worlds.first`, async () => {
    const clock = new SimulatedClock();
    await using table = await Table.open(world, { clock, seed: 11 });
    const ann = viewer("ann");
    assert.match(await playThrough(table, ann, clock), /Quest completed.+\*\*\* .+THE END|\*\*\* .+THE END/s);
    await table.quiet();
    assert.deepEqual(await table.misplaced(), []);
    const { ended, quests } = await table.player(ann);
    assert.deepEqual([ended, quests[world.ending.quest]], [true, "completed"]);
    assert.deepEqual((await table.player(ann)).items, []);
    assert.match(await playThrough(table, viewer("bob"), clock), /THE END/);
    assert.deepEqual(table.faults, []);
  });
}

for (const world of games) {
  test(`${world.title}: clients that use only tools and resources reach the ending, one after the other`, async () => {
    await using table = await Table.open(world, { seed: 12, pure: true });
    // One after the other, without time for the world to recover.
    for (const who of ["ann", "bob", "cyd"].map(viewer)) {
      const uris = new Map((await table.source.surface(who)).catalogue.resources.map(({ name, definition }) => [definition["uri"], name]));
      const last = await playAsClient(world, {
        call: (tool, args) => table.call(who, tool, args),
        read: async (uri) => JSON.stringify(await table.read(who, uris.get(uri) ?? uri)),
      });
      assert.match(last, /THE END/);
    }
  });
}

/** A slow store, so that watchers read between any two commits. */
const slowStore = (): Store => {
  const inner = memoryStore();
  const commit: Store["commit"] = async (...given) => {
    await inner.commit(...given);
    await rounds(3);
  };
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = name === "commit" ? commit : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
};

for (const world of games) {
  test(`C8 ${world.title}: until the ending, each act that changes a player's lists flags them once, and no other does`, async () => {
    const clock = new SimulatedClock();
    await using table = await Table.open(world, { clock, seed: 13, store: slowStore() });
    const ann = viewer("ann");
    let flags = 0;
    const undo = table.source.watch(ann, (ref) => void (flags += ref === undefined ? 1 : 0));
    let before: string | undefined;
    const wrong: string[] = [];
    await playThrough(table, ann, clock, async (text) => {
      const now = JSON.stringify(await table.lists(ann));
      if (before !== undefined && flags !== (now === before ? 0 : 1)) wrong.push(`${flags} flags: ${text}`);
      before = now;
      flags = 0;
    });
    undo();
    assert.deepEqual(wrong, []);
  });
}

/** A random act. */
function anything(
  dice: () => number,
  world: World,
  names: readonly string[],
): readonly [tool: string, args: Readonly<Record<string, string>>] {
  const pick = <T>(from: readonly T[], other: T): T => from[Math.floor(dice() * from.length)] ?? other;
  const item = pick(Object.keys(world.items), "");
  const direction = pick(["north", "south", "east", "west"], "north");
  const acts: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ["move", { direction }],
    ["move", { direction }],
    ["move", { direction }],
    ["pick_up", { item }],
    ["drop", { item }],
    ["give", { item, to: pick(names, "") }],
    ["use", { item }],
    ["battle", {}],
    ["flee", {}],
    ["open_chest", {}],
    ["accept_quest", {}],
    ["say", { text: "la" }],
    ["tell", { to: pick(names, ""), text: "psst" }],
    ["talk", { to: "hermit" }],
    ["look", {}],
    ["inventory", {}],
  ];
  return pick(acts, ["look", {}]);
}

/** Chooses mostly acts that the lists offer. */
async function likely(
  table: Table,
  who: Viewer,
  dice: () => number,
  names: readonly string[],
): Promise<readonly [string, Readonly<Record<string, string>>]> {
  const [tool, args] = anything(dice, table.world, names);
  if (!("item" in args) || dice() < 0.1) return [tool, args];
  const offered = /"item":\{[^}]*"enum":\[([^\]]*)\]/.exec(JSON.stringify((await table.tools(who)).get(tool) ?? {}))?.[1];
  const items: readonly string[] = offered === undefined ? [] : JSON.parse(`[${offered}]`);
  return [tool, { ...args, item: items[Math.floor(dice() * items.length)] ?? args["item"] ?? "" }];
}

test("C8 1,000 random acts by five players: exactly the players whose lists changed are flagged once, and each item stays in one place #sources.flags #mud.players.many", async () => {
  const clock = new SimulatedClock();
  await using table = await Table.open(keep, { clock, seed: 4, store: slowStore() });
  const dice = diceOf(4);
  const names = ["Ann", "Bob", "Cyd", "Dan", "Eve"];
  const players = names.map((name) => viewer(name.toLowerCase()));
  for (const [index, who] of players.entries()) await table.call(who, "choose_name", { name: names[index] ?? "" });
  const flags = new Map(players.map((who) => [who, 0]));
  const undo = players.map((who) =>
    table.source.watch(who, (ref) => void (ref === undefined && flags.set(who, (flags.get(who) ?? 0) + 1))),
  );
  await table.quiet();
  const before = new Map(await Promise.all(players.map(async (who) => [who, JSON.stringify(await table.lists(who))] as const)));
  let applied = 0;
  for (let step = 0; step < 1_000; step += 1) {
    for (const who of players) flags.set(who, 0);
    const who = players[Math.floor(dice() * players.length)] ?? viewer("ann");
    const [tool, args] = await likely(table, who, dice, names);
    const reply = await table.act(who, `tools/${tool}`, args);
    if ("ok" in reply) applied += 1;
    await table.quiet();
    for (const one of players) {
      const now = JSON.stringify(await table.lists(one));
      assert.equal(
        flags.get(one),
        now === before.get(one) ? 0 : 1,
        `step ${step}: ${who.principal} ${tool} ${JSON.stringify(args)} → ${JSON.stringify(reply)}; ${one.principal}\n${before.get(one)}\n${now}`,
      );
      before.set(one, now);
    }
    assert.deepEqual(await table.misplaced(), [], `step ${step}: ${tool}`);
    if (step % 50 === 49) {
      await clock.advance(7 * 60_000);
      await table.quiet();
      for (const one of players) before.set(one, JSON.stringify(await table.lists(one)));
    }
  }
  assert.ok(applied > 300, `${applied} applied`);
  assert.deepEqual(table.faults, []);
  for (const stop of undo) stop();
});

test("C5 after a power failure at any time, each item is in one place and each player in one room #mud.items", async () => {
  const names = ["Ann", "Bob", "Cyd"];
  const players = names.map((name) => viewer(name.toLowerCase()));
  for (let seed = 1; seed <= 30; seed += 1) {
    const dice = diceOf(seed);
    const inner = memoryStore();
    let left = 20 + Math.floor(dice() * 150);
    const faulty = new FaultyStore(inner, () => (left-- <= 0 ? "crash" : "pass"));
    const before = await Table.open(keep, { store: faulty, seed });
    const playing = players.map(async (who) => {
      for (let step = 0; step < 60; step += 1) {
        const [tool, args] = anything(dice, keep, names);
        await before.act(who, `tools/${tool}`, args).catch(() => null);
      }
    });
    await Promise.race([faulty.whenCrashed, Promise.all(playing)]);
    await rounds(2);

    await using after = await Table.open(keep, { store: inner, seed: seed + 1_000 });
    await after.quiet();
    assert.deepEqual(await after.misplaced(), [], `seed ${seed}`);
    for (const who of players) {
      const reply = await after.act(who, "tools/say", { text: "still here" });
      assert.ok("ok" in reply, `seed ${seed}: ${JSON.stringify(reply)}`);
      await after.quiet();
      const { room } = await after.player(who);
      const found: string[] = [];
      for (const id of Object.keys(keep.rooms)) {
        const state = await after.room(id);
        if (state !== undefined && Object.hasOwn(state.occupants, `player/${who.principal ?? ""}`)) found.push(id);
      }
      assert.deepEqual(found, [room], `seed ${seed}: ${who.principal ?? ""}`);
    }
    assert.deepEqual(after.faults, [], `seed ${seed}`);
  }
});

test("after a restart, players are in their rooms with their items #mud.tools.inventory #mud.prompts.start #mud.restart", async () => {
  const store = memoryStore();
  const ann = viewer("ann");
  {
    await using table = await Table.open(keep, { store });
    await table.call(ann, "choose_name", { name: "Ann" });
    await table.call(ann, "pick_up", { item: "torch" });
    await table.call(ann, "move", { direction: "north" });
    await table.call(ann, "accept_quest");
  }
  await using table = await Table.open(keep, { store });
  assert.match(await table.call(ann, "look"), /^You are in a dark hallway/);
  assert.match(await table.call(ann, "inventory"), /^You carry: Torch\. Health: 100 of 100\.\nQuest: The Treasure of the Old Kings\. /);
  assert.match(await table.prompt(ann, "start"), /You play Ann\. You are in: Dark Hallway\..+You carry Torch/s);
  assert.match(await table.call(ann, "move", { direction: "south" }), /Exits: North/);
});

test("rooms of earlier versions are migrated", async () => {
  await using table = await Table.open(keep);
  const ann = viewer("ann");
  await table.call(ann, "say", { text: "before" });
  const now = await table.room("entrance");
  assert.ok(now !== undefined);
  const { world, homes, monster, dropped, ...second } = now;
  assert.deepEqual([homes, monster, dropped], [["torch"], null, 0]);
  const { completed, ended, ...earlier } = now.occupants["player/ann"] ?? {};
  assert.deepEqual([completed, ended], [[], false]);
  const room = mud(keep).find(({ kind }) => kind === "room");
  const read = (state: object, from: number): unknown =>
    JSON.parse(JSON.stringify(room?.migrate?.(JSON.parse(JSON.stringify(state)), from)));
  // Its state is adapted to the world at its next turn.
  const fresh = { ...now, world: "" };
  assert.deepEqual(read({ ...second, occupants: { "player/ann": earlier } }, 1), fresh);
  assert.deepEqual(read(second, 2), fresh);
  assert.notEqual(world, "");
});

test("the world recovers: items return home, monsters respawn, consumed items grow again, idle players lose their items and are hidden #mud.respawn", async () => {
  const clock = new SimulatedClock();
  await using table = await Table.open(keep, { clock, seed: 9 });
  const [ann, bob] = [viewer("ann"), viewer("bob")];
  await table.call(bob, "say", { text: "zzz" });
  await table.call(ann, "pick_up", { item: "torch" });
  await table.call(ann, "move", { direction: "north" });
  await table.call(ann, "drop", { item: "torch" });
  await clock.advance(keep.pace.returnMs - 1_000);
  await table.quiet();
  assert.ok((await table.room("hallway"))?.stage.floor.includes("torch"));
  await clock.advance(2_000);
  await table.quiet();
  assert.match(await table.call(ann, "look"), /The Torch fades away, back to where it belongs/);
  assert.ok((await table.room("entrance"))?.stage.floor.includes("torch"));

  await table.call(ann, "move", { direction: "south" });
  await clock.advance(31 * 60_000);
  await table.quiet();
  assert.ok(!/Also here/.test(await table.call(ann, "look")), "bob sleeps");
  await table.call(bob, "say", { text: "awake" });
  assert.match(await table.call(ann, "look"), /Also here: wanderer-/);

  await table.call(ann, "pick_up", { item: "torch" });
  await clock.advance(keep.pace.idleMs + 60_000);
  await table.quiet();
  assert.deepEqual((await table.player(ann)).items, []);
  assert.match(await table.call(ann, "look"), /While you slept, what you carried went back.+Torch/s);
  assert.deepEqual(await table.misplaced(), []);
  assert.deepEqual(table.faults, []);
});

test("a player who wakes up falls asleep again, and lets the monster recover", async () => {
  const clock = new SimulatedClock();
  await using table = await Table.open(keep, { clock, seed: 9 });
  const [ann, bob] = [viewer("ann"), viewer("bob")];
  const sleeps = async (room: string, who: string): Promise<boolean | undefined> => (await table.room(room))?.occupants[who]?.asleep;
  await table.call(ann, "pick_up", { item: "torch" });
  for (const direction of ["north", "east", "south"]) await table.call(ann, "move", { direction });
  await clock.advance(61 * 60_000);
  await table.quiet();
  assert.equal(await sleeps("cellar", "player/ann"), true);
  await table.call(ann, "battle");
  await table.quiet();
  assert.deepEqual([await sleeps("cellar", "player/ann"), (await table.room("cellar"))?.occupants["player/ann"]?.engaged], [false, true]);
  await clock.advance(61 * 60_000);
  await table.quiet();
  assert.equal(await sleeps("cellar", "player/ann"), true);
  assert.equal((await table.room("cellar"))?.stage.monsterHealth, keep.monsters["cave_goblin"]?.health);

  // Bob left nothing to remember. A note for him admits him to his room again, but does not wake him.
  await table.call(bob, "choose_name", { name: "Bob" });
  await table.call(bob, "move", { direction: "north" });
  await clock.advance(61 * 60_000);
  const cyd = viewer("cyd");
  await table.call(cyd, "move", { direction: "north" });
  await clock.advance(20 * 60_000);
  await table.call(cyd, "tell", { to: "Bob", text: "Psst" });
  await clock.advance(11 * 60_000);
  await table.quiet();
  assert.equal(await sleeps("hallway", "player/bob"), true);
  assert.doesNotMatch(await table.call(cyd, "look"), /Also here/);
  assert.deepEqual(table.faults, []);
});

test("a player who slept for long sees its own health, quests and exits as before", async () => {
  const clock = new SimulatedClock();
  await using table = await Table.open(keep, { clock, seed: 9 });
  const [ann, bob] = [viewer("ann"), viewer("bob")];
  await table.call(ann, "move", { direction: "north" });
  await table.call(ann, "accept_quest");
  await table.call(bob, "move", { direction: "north" });
  const read = async () => [await table.call(ann, "inventory"), await table.prompt(ann, "room_description")];
  await table.call(ann, "say", { text: "good night" });
  const before = await read();
  assert.match(before.join(), /Quest: The Treasure of the Old Kings/);
  for (let half = 0; half < 3; half += 1) {
    await clock.advance(31 * 60_000);
    await table.quiet();
  }
  const [inventory, scene] = await read();
  assert.equal(inventory, before[0]);
  assert.doesNotMatch(scene ?? "", /A quest is offered here/);
  assert.deepEqual(Object.keys((await table.room("hallway"))?.occupants ?? {}), ["player/ann"], "bob left nothing to remember");
  assert.deepEqual(table.faults, []);
});

test("a client without a principal plays by a handle #mud.handles", async () => {
  await using table = await Table.open(keep);
  const anonymous = { scopes: [] };
  const started = await table.act(anonymous, "tools/start_player");
  const handle = /h_[A-Za-z0-9_-]+/.exec(JSON.stringify(started))?.[0] ?? "";
  assert.match(await table.call(anonymous, "look", { handle }), /^You are at the dungeon entrance/);
  assert.match(await table.call(anonymous, "pick_up", { handle, item: "torch" }), /You pick up the Torch/);
  assert.match(await table.call(anonymous, "move", { handle, direction: "north" }), /dark hallway/);
  // Ending the player does not affect items, names, rooms and the roster.
  const bob = viewer("bob");
  assert.ok("ok" in (await table.act(anonymous, "tools/choose_name", { handle, name: "Brief" })));
  assert.ok("ok" in (await table.act(anonymous, "tools/end_player", { handle })));
  await table.quiet();
  assert.deepEqual(await table.misplaced(), []);
  assert.match(await table.call(bob, "choose_name", { name: "Brief" }), /You are called Brief now/);
  assert.match(await table.call(bob, "move", { direction: "north" }), /dark hallway/);
  assert.ok(!/Also here/.test(await table.call(bob, "look")));
  assert.match(await table.call(bob, "who"), /^About are: Brief\.$/);
  assert.match((await table.refusal(anonymous, "say", { handle, text: "still?" })).message, /ended or expired/);
  assert.deepEqual(await table.store.letters(10), []);
  const other = await table.act(anonymous, "tools/look", { handle: "h_nonsense" });
  assert.ok("refused" in other && /start_player/.test(other.refused.message), JSON.stringify(other));
});

const fight = async (): Promise<string> => {
  await using table = await Table.open(keep, { clock: new SimulatedClock(), seed: 21 });
  const ann = viewer("ann");
  await table.call(ann, "pick_up", { item: "torch" });
  for (const direction of ["north", "east", "south"]) await table.call(ann, "move", { direction });
  return (await table.call(ann, "battle")) + (await table.call(ann, "battle"));
};

test("fights with the same seeds and acts are equal #mud.fights", async () => {
  assert.equal(await fight(), await fight());
});
