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
import { playAsClient } from "./client-player.ts";
import { rounds, Table, viewer } from "./table.fixture.ts";

const games = worlds.map(loadWorld);
const [keep] = games;
assert.ok(keep !== undefined);

/** What the careful player knows: its own state, and the whole world's. */
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

/** The careful player, through tools alone. Returns the last result. */
async function playThrough(
  table: Table,
  who: Viewer,
  clock: SimulatedClock,
  after: (told: string) => Promise<void> = async () => {},
): Promise<string> {
  let last = await table.tell(who, "say", { text: "Here I come." });
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
    last = await table.tell(who, tool, args);
  }
  throw new Error(`No ending after 1,000 steps; last: ${last}`);
}

for (const world of games) {
  test(`${world.title}: a scripted player reaches the ending through the actors' tools, and the next one can too #mud.worlds.first`, async () => {
    const clock = new SimulatedClock();
    await using table = await Table.lay(world, { clock, seed: 11 });
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
  test(`${world.title}: clients that know only what tools tell and resources show reach the ending, one after the other`, async () => {
    await using table = await Table.lay(world, { seed: 12, pure: true });
    // One after the other, without a moment's rest for the world between them.
    for (const who of ["ann", "bob", "cyd"].map(viewer)) {
      const uris = new Map((await table.source.surface(who)).catalogue.resources.map(({ name, definition }) => [definition["uri"], name]));
      const last = await playAsClient(world, {
        call: (tool, args) => table.tell(who, tool, args),
        read: async (uri) => JSON.stringify(await table.read(who, uris.get(uri) ?? uri)),
      });
      assert.match(last, /THE END/);
    }
  });
}

/** A disk so slow that whoever watches looks between any two commits. */
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
  test(`C8 ${world.title}: from the first step to the ending, an act that changes a player's lists flags them once, and no other does`, async () => {
    const clock = new SimulatedClock();
    await using table = await Table.lay(world, { clock, seed: 13, store: slowStore() });
    const ann = viewer("ann");
    let flags = 0;
    const undo = table.source.watch(ann, (ref) => void (flags += ref === undefined ? 1 : 0));
    let before: string | undefined;
    const wrong: string[] = [];
    await playThrough(table, ann, clock, async (told) => {
      const now = JSON.stringify(await table.lists(ann));
      if (before !== undefined && flags !== (now === before ? 0 : 1)) wrong.push(`${flags} flags: ${told}`);
      before = now;
      flags = 0;
    });
    undo();
    assert.deepEqual(wrong, []);
  });
}

/** One thing a restless player does. */
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

/** Mostly what the lists offer, so that things happen. */
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

test("C8 1,000 random acts by five players: a list is flagged once to exactly those whose lists changed, and every item stays in one place #sources.flags #mud.players.many", async () => {
  const clock = new SimulatedClock();
  await using table = await Table.lay(keep, { clock, seed: 4, store: slowStore() });
  const dice = diceOf(4);
  const names = ["Ann", "Bob", "Cyd", "Dan", "Eve"];
  const players = names.map((name) => viewer(name.toLowerCase()));
  for (const [index, who] of players.entries()) await table.tell(who, "choose_name", { name: names[index] ?? "" });
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

test("C5 whenever the power fails, every item is in exactly one place afterwards, and nobody is stranded or in two rooms #mud.items", async () => {
  const names = ["Ann", "Bob", "Cyd"];
  const players = names.map((name) => viewer(name.toLowerCase()));
  for (let seed = 1; seed <= 30; seed += 1) {
    const dice = diceOf(seed);
    const inner = memoryStore();
    let left = 20 + Math.floor(dice() * 150);
    const faulty = new FaultyStore(inner, () => (left-- <= 0 ? "crash" : "pass"));
    const before = await Table.lay(keep, { store: faulty, seed });
    const playing = players.map(async (who) => {
      for (let step = 0; step < 60; step += 1) {
        const [tool, args] = anything(dice, keep, names);
        await before.act(who, `tools/${tool}`, args).catch(() => null);
      }
    });
    await Promise.race([faulty.whenCrashed, Promise.all(playing)]);
    await rounds(2);

    await using after = await Table.lay(keep, { store: inner, seed: seed + 1_000 });
    await after.quiet();
    assert.deepEqual(await after.misplaced(), [], `seed ${seed}`);
    for (const who of players) {
      const said = await after.act(who, "tools/say", { text: "still here" });
      assert.ok("ok" in said, `seed ${seed}: ${JSON.stringify(said)}`);
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

test("players are found again after a restart, where they were and with what they had #mud.tools.inventory #mud.prompts.start #mud.restart", async () => {
  const store = memoryStore();
  const ann = viewer("ann");
  {
    await using table = await Table.lay(keep, { store });
    await table.tell(ann, "choose_name", { name: "Ann" });
    await table.tell(ann, "pick_up", { item: "torch" });
    await table.tell(ann, "move", { direction: "north" });
    await table.tell(ann, "accept_quest");
  }
  await using table = await Table.lay(keep, { store });
  assert.match(await table.tell(ann, "look"), /^You are in a dark hallway/);
  assert.match(await table.tell(ann, "inventory"), /^You carry: Torch\. Health: 100 of 100\.\nQuest: The Treasure of the Old Kings\. /);
  assert.match(await table.prompt(ann, "start"), /You play Ann\. You are in: Dark Hallway\..+You carry Torch/s);
  assert.match(await table.tell(ann, "move", { direction: "south" }), /Exits: North/);
});

test("a room of an earlier version is read as it would be now", async () => {
  await using table = await Table.lay(keep);
  const ann = viewer("ann");
  await table.tell(ann, "say", { text: "before" });
  const now = await table.room("entrance");
  assert.ok(now !== undefined);
  const { world, homes, monster, dropped, ...second } = now;
  assert.deepEqual([homes, monster, dropped], [["torch"], null, 0]);
  const { completed, ended, ...earlier } = now.occupants["player/ann"] ?? {};
  assert.deepEqual([completed, ended], [[], false]);
  const room = mud(keep).find(({ kind }) => kind === "room");
  const read = (state: object, from: number): unknown =>
    JSON.parse(JSON.stringify(room?.migrate?.(JSON.parse(JSON.stringify(state)), from)));
  // Whatever it holds is fitted to the world at its next turn.
  const fresh = { ...now, world: "" };
  assert.deepEqual(read({ ...second, occupants: { "player/ann": earlier } }, 1), fresh);
  assert.deepEqual(read(second, 2), fresh);
  assert.notEqual(world, "");
});

test("the world mends itself: strays go home, monsters come back, what was used up grows again, idle hands are emptied, sleepers are not seen #mud.respawn", async () => {
  const clock = new SimulatedClock();
  await using table = await Table.lay(keep, { clock, seed: 9 });
  const [ann, bob] = [viewer("ann"), viewer("bob")];
  await table.tell(bob, "say", { text: "zzz" });
  await table.tell(ann, "pick_up", { item: "torch" });
  await table.tell(ann, "move", { direction: "north" });
  await table.tell(ann, "drop", { item: "torch" });
  await clock.advance(keep.pace.strayMs - 1_000);
  await table.quiet();
  assert.ok((await table.room("hallway"))?.stage.floor.includes("torch"));
  await clock.advance(2_000);
  await table.quiet();
  assert.match(await table.tell(ann, "look"), /The Torch fades away, back to where it belongs/);
  assert.ok((await table.room("entrance"))?.stage.floor.includes("torch"));

  await table.tell(ann, "move", { direction: "south" });
  await clock.advance(31 * 60_000);
  await table.quiet();
  assert.ok(!/Also here/.test(await table.tell(ann, "look")), "bob sleeps");
  await table.tell(bob, "say", { text: "awake" });
  assert.match(await table.tell(ann, "look"), /Also here: wanderer-/);

  await table.tell(ann, "pick_up", { item: "torch" });
  await clock.advance(keep.pace.idleMs + 60_000);
  await table.quiet();
  assert.deepEqual((await table.player(ann)).items, []);
  assert.match(await table.tell(ann, "look"), /While you slept, what you carried went back.+Torch/s);
  assert.deepEqual(await table.misplaced(), []);
  assert.deepEqual(table.faults, []);
});

test("who slept for long with empty hands is told of its own health, quests and ways as before", async () => {
  const clock = new SimulatedClock();
  await using table = await Table.lay(keep, { clock, seed: 9 });
  const [ann, bob] = [viewer("ann"), viewer("bob")];
  await table.tell(ann, "move", { direction: "north" });
  await table.tell(ann, "accept_quest");
  await table.tell(bob, "move", { direction: "north" });
  const told = async () => [await table.tell(ann, "inventory"), await table.prompt(ann, "room_description")];
  await table.tell(ann, "say", { text: "good night" });
  const before = await told();
  assert.match(before.join(), /Quest: The Treasure of the Old Kings/);
  for (let half = 0; half < 3; half += 1) {
    await clock.advance(31 * 60_000);
    await table.quiet();
  }
  const [inventory, scene] = await told();
  assert.equal(inventory, before[0]);
  assert.doesNotMatch(scene ?? "", /A quest is offered here/);
  assert.deepEqual(Object.keys((await table.room("hallway"))?.occupants ?? {}), ["player/ann"], "bob left nothing to remember");
  assert.deepEqual(table.faults, []);
});

test("a request without a principal plays by a handle, and finishes a step with it #mud.handles", async () => {
  await using table = await Table.lay(keep);
  const nobody = { scopes: [] };
  const started = await table.act(nobody, "tools/start_player");
  const handle = /h_[A-Za-z0-9_-]+/.exec(JSON.stringify(started))?.[0] ?? "";
  assert.match(await table.tell(nobody, "look", { handle }), /^You are at the dungeon entrance/);
  assert.match(await table.tell(nobody, "pick_up", { handle, item: "torch" }), /You pick up the Torch/);
  assert.match(await table.tell(nobody, "move", { handle, direction: "north" }), /dark hallway/);
  // Its end takes nothing from the others: things, names, rooms and the roster outlive it.
  const bob = viewer("bob");
  assert.ok("ok" in (await table.act(nobody, "tools/choose_name", { handle, name: "Brief" })));
  assert.ok("ok" in (await table.act(nobody, "tools/end_player", { handle })));
  await table.quiet();
  assert.deepEqual(await table.misplaced(), []);
  assert.match(await table.tell(bob, "choose_name", { name: "Brief" }), /You are called Brief now/);
  assert.match(await table.tell(bob, "move", { direction: "north" }), /dark hallway/);
  assert.ok(!/Also here/.test(await table.tell(bob, "look")));
  assert.match(await table.tell(bob, "who"), /^About are: Brief\.$/);
  assert.match((await table.refusal(nobody, "say", { handle, text: "still?" })).message, /ended or expired/);
  assert.deepEqual(await table.store.letters(10), []);
  const other = await table.act(nobody, "tools/look", { handle: "h_nonsense" });
  assert.ok("refused" in other && /start_player/.test(other.refused.message), JSON.stringify(other));
});

const fight = async (): Promise<string> => {
  await using table = await Table.lay(keep, { clock: new SimulatedClock(), seed: 21 });
  const ann = viewer("ann");
  await table.tell(ann, "pick_up", { item: "torch" });
  for (const direction of ["north", "east", "south"]) await table.tell(ann, "move", { direction });
  return (await table.tell(ann, "battle")) + (await table.tell(ann, "battle"));
};

test("the same seeds and acts make the same fights #mud.fights", async () => {
  assert.equal(await fight(), await fight());
});
