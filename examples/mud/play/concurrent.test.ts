import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json, Viewer } from "troupe/contract";
import type { Sheet } from "../actors/sheet.ts";
import { loadWorld, worlds } from "../index.ts";
import { diceOf } from "../rules/dice.ts";
import { roomOf, type World } from "../world/world.ts";
import { SimulatedClock } from "../../../src/testing/simulated-clock.ts";
import { rounds, Table, viewer } from "./table.fixture.ts";

const keep = loadWorld(worlds[0] ?? "");
const ann = viewer("ann");
const bob = viewer("bob");

/** The Keep with more items at its entrance. */
const tame: World = {
  ...keep,
  rooms: {
    ...keep.rooms,
    entrance: { ...roomOf(keep, "entrance"), items: ["torch", "kings_sword", "fire_scroll"] },
    armory: { ...roomOf(keep, "armory"), chest: { name: "Chest", items: ["healing_draught"] } },
    library: { ...roomOf(keep, "library"), items: [] },
  },
};

const shared = ({
  name,
  health,
  items,
  deeds,
  quests,
}: Pick<Sheet, "name" | "health" | "items" | "deeds"> & { quests: readonly string[] }) => ({
  name,
  health,
  items: [...items].toSorted(),
  deeds,
  quests,
});

/** Checks that each player is in one room, and that the room has the current sheet. Call it after `quiet`. */
async function assertAgreed(table: Table, players: readonly Viewer[], why: string): Promise<void> {
  for (const who of players) {
    const player = await table.player(who);
    const known: string[] = [];
    for (const id of Object.keys(table.world.rooms)) {
      const one = (await table.room(id))?.occupants[`player/${who.principal ?? ""}`];
      if (one === undefined) continue;
      known.push(id);
      assert.deepEqual(shared(one), shared({ ...player, quests: Object.keys(player.quests) }), `${why}: ${who.principal ?? ""} in ${id}`);
      assert.equal(one.leaving, false, why);
    }
    assert.deepEqual(known, [player.room], `${why}: ${who.principal ?? ""}`);
  }
  assert.deepEqual(await table.misplaced(), [], why);
}

type Act = readonly [who: Viewer, tool: string, args: Json];

/** Starts `second` after some iterations of the event loop since `first`. */
async function atOnce(table: Table, first: Act, second: Act, after: number): Promise<void> {
  const send = ([who, tool, args]: Act) => table.act(who, `tools/${tool}`, args);
  const one = send(first);
  await rounds(after);
  await Promise.all([one, send(second)]);
  await table.quiet();
}

const CASES: Readonly<Record<string, readonly [Act, Act]>> = {
  "a thing is given and its giver walks": [
    [ann, "give", { item: "fire_scroll", to: "Bob" }],
    [ann, "move", { direction: "north" }],
  ],
  "a thing is dropped and its owner walks": [
    [ann, "drop", { item: "torch" }],
    [ann, "move", { direction: "north" }],
  ],
  "a thing is picked up and its finder walks": [
    [ann, "pick_up", { item: "kings_sword" }],
    [ann, "move", { direction: "north" }],
  ],
  "a thing is given to somebody who walks": [
    [ann, "give", { item: "torch", to: "Bob" }],
    [bob, "move", { direction: "north" }],
  ],
  "somebody walks to whom a thing is given": [
    [bob, "move", { direction: "north" }],
    [ann, "give", { item: "torch", to: "Bob" }],
  ],
  "somebody walks and drops a thing": [
    [ann, "move", { direction: "north" }],
    [ann, "drop", { item: "torch" }],
  ],
};

for (const [title, acts] of Object.entries(CASES)) {
  test(`${title}: room and player agree on all items afterwards`, async () => {
    for (let after = 0; after < 8; after += 1) {
      await using table = await Table.open(tame);
      await table.call(ann, "choose_name", { name: "Ann" });
      await table.call(bob, "choose_name", { name: "Bob" });
      for (const item of ["torch", "fire_scroll"]) await table.call(ann, "pick_up", { item });
      await table.quiet();
      const [first, second] = acts;
      await atOnce(table, first, second, after);
      await assertAgreed(table, [ann, bob], `${title}, after ${after}`);
      const { items } = await table.player(ann);
      assert.equal(/Torch/.test(await table.call(ann, "inventory")), items.includes("torch"));
      assert.deepEqual(table.faults, []);
    }
  });
}

test("a player who leaves the world during a move is in neither room, and the move is answered", async () => {
  for (let after = 0; after < 8; after += 1) {
    const clock = new SimulatedClock();
    await using table = await Table.open(tame, { clock });
    const guest = viewer("session|s1");
    for (const [who, direction] of [
      [guest, "north"],
      [guest, "south"],
      [ann, "north"],
    ] as const)
      await table.call(who, "move", { direction });
    await table.call(bob, "say", { text: "I watch." });
    await table.quiet();
    const step = table.act(guest, "tools/move", { direction: "north" });
    await rounds(after);
    const left = table.act(guest, "tools/quit");
    for (let round = 0; round < 4; round += 1) await table.quiet(() => clock.advance(1_000));
    assert.match(JSON.stringify(await left), /You leave the world/, `after ${after}`);
    assert.match(JSON.stringify(await step), /You go north|Your player has left the world/, `after ${after}`);
    for (const id of ["entrance", "hallway"])
      assert.ok(!((await table.room(id))?.occupants["player/session%7Cs1"] ?? false), `after ${after}: ${id}`);
    assert.doesNotMatch(await table.call(ann, "look"), /Also here/);
    assert.match(await table.call(bob, "look"), /leaves north/);
    assert.match(await table.call(guest, "move", { direction: "north" }), /You go north/);
    await assertAgreed(table, [ann, bob], `after ${after}`);
  }
});

test("a player who chooses a name and moves at once has that name in the new room", async () => {
  for (let after = 0; after < 8; after += 1) {
    await using table = await Table.open(tame);
    await table.call(bob, "move", { direction: "north" });
    await table.call(ann, "say", { text: "hi" });
    await atOnce(table, [ann, "choose_name", { name: "Anna" }], [ann, "move", { direction: "north" }], after);
    assert.match(await table.call(bob, "look"), /Also here: Anna\./);
    await assertAgreed(table, [ann, bob], `after ${after}`);
  }
});

test("a player who leaves the world while choosing a name frees the name", async () => {
  const guest = viewer("session|s1");
  for (let after = 0; after < 4; after += 1) {
    await using table = await Table.open(tame);
    await table.call(guest, "say", { text: "hi" });
    await atOnce(table, [guest, "choose_name", { name: "Guest" }], [guest, "quit", {}], after);
    assert.match((await table.refusal(ann, "tell", { to: "Guest", text: "there?" })).message, /Nobody is called/, `after ${after}`);
    assert.match(await table.call(ann, "choose_name", { name: "Guest" }), /You are called Guest now/);
    assert.deepEqual((await table.player(ann)).claiming, []);
  }
});

test("after random concurrent acts of three players, rooms and players agree", async () => {
  const names = ["Ann", "Bob", "Cyd"];
  const players = names.map((name) => viewer(name.toLowerCase()));
  for (let seed = 1; seed <= 12; seed += 1) {
    const dice = diceOf(seed);
    const pick = <T>(from: readonly T[], other: T): T => from[Math.floor(dice() * from.length)] ?? other;
    const anything = (): readonly [string, Json] => {
      const item = pick(["torch", "fire_scroll", "kings_sword", "leather_pouch"], "torch");
      const direction = pick(["north", "south", "east", "west"], "north");
      return pick<readonly [string, Json]>(
        [
          ["move", { direction }],
          ["move", { direction }],
          ["pick_up", { item }],
          ["pick_up", { item }],
          ["drop", { item }],
          ["give", { item, to: pick(names, "Ann") }],
          ["accept_quest", {}],
          ["battle", {}],
          ["flee", {}],
          ["use", { item: "fire_scroll" }],
        ],
        ["look", {}],
      );
    };
    await using table = await Table.open(tame, { seed });
    for (const [index, who] of players.entries()) await table.call(who, "choose_name", { name: names[index] ?? "" });
    for (let step = 0; step < 40; step += 1) {
      const acts = players.flatMap((who) => [anything(), anything()].map(([tool, args]) => ({ who, tool, args })));
      await Promise.all(acts.map(({ who, tool, args }) => table.act(who, `tools/${tool}`, args)));
      await table.quiet();
      await assertAgreed(table, players, `seed ${seed}, step ${step}: ${JSON.stringify(acts.map(({ tool, args }) => [tool, args]))}`);
    }
    assert.deepEqual(table.faults, []);
  }
});
