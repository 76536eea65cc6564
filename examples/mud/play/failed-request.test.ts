import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour, Json, Reply } from "troupe/contract";
import { memoryStore } from "troupe/store";
import { SimulatedClock } from "../../../src/testing/simulated-clock.ts";
import { loadWorld, parseWorld, worlds } from "../index.ts";
import { readFileSync } from "node:fs";
import { Table, viewer } from "./table.fixture.ts";

const [file = ""] = worlds;
const keep = loadWorld(file);
const ann = viewer("ann");
const bob = viewer("bob");

/** Makes the turns of a kind throw for one action while `broken` is true. */
const breaking =
  (action: string, broken: () => boolean, of = "player") =>
  (kind: Behaviour): Behaviour =>
    kind.kind !== of
      ? kind
      : Object.create(kind, {
          receive: {
            value: (...given: Parameters<Behaviour["receive"]>) => {
              if (given[1].action === action && broken()) throw new Error("broken on purpose");
              return kind.receive(...given);
            },
          },
        });

/** Waits for the reply of an act, and advances the clock for its retries. */
const settled = async (table: Table, clock: SimulatedClock, act: Promise<Reply>): Promise<Reply> => {
  for (let round = 0; round < 4; round += 1) {
    await table.quiet(() => clock.advance(1_000));
  }
  return act;
};

const textOf = (reply: Reply): string => ("refused" in reply ? reply.refused.message : JSON.stringify(reply));

test("C5 a player who leaves during pick_up leaves the item on the floor, and the call is answered", async () => {
  const clock = new SimulatedClock();
  await using table = await Table.open(keep, { clock });
  await table.call(bob, "say", { text: "I watch." });
  await table.call(ann, "say", { text: "I take." });
  await table.quiet();
  const undo = table.engine.watch("room/entrance", () => {
    undo();
    void table.engine.stop("player/ann", "struck by lightning");
  });
  const reply = await settled(table, clock, table.act(ann, "tools/pick_up", { item: "torch" }));
  assert.match(textOf(reply), /^Your player has left the world/);
  assert.deepEqual(await table.misplaced(), []);
  assert.deepEqual((await table.room("entrance"))?.stage.floor, ["torch"]);
  assert.deepEqual((await table.room("entrance"))?.asked, []);
  const seen = await table.call(bob, "look");
  assert.match(seen, /The Torch falls to the floor\..+fades from sight.+A torch flickers on the wall/s);
  assert.doesNotMatch(seen, /Also here/);
  assert.match(await table.call(bob, "pick_up", { item: "torch" }), /You pick up the Torch/);
  // A new player begins without items.
  assert.equal(await table.call(ann, "inventory"), "You carry nothing. Health: 100 of 100.");
  assert.match(await table.call(ann, "say", { text: "again" }), /You say/);
  await table.quiet();
  assert.deepEqual(await table.misplaced(), []);
});

const CASES: readonly (readonly [action: string, tool: string, args: Json, expected: RegExp])[] = [
  ["gain", "pick_up", { item: "torch" }, /came to nothing/],
  ["release", "drop", { item: "torch" }, /came to nothing/],
  ["release", "give", { item: "torch", to: "Bob" }, /came to nothing/],
  ["gain", "give", { item: "torch", to: "Bob" }, /Bob cannot take it now: the Torch lies on the floor/],
  ["consume", "use", { item: "holy_water" }, /came to nothing/],
  ["struck", "battle", {}, /came to nothing/],
];

for (const [action, tool, args, expected] of CASES) {
  test(`C5 ${tool}, when the player's turn of ${action} keeps crashing: each item is in one place, also after a replay`, async () => {
    const clock = new SimulatedClock();
    let broken = false;
    const world = parseWorld(
      readFileSync(file, "utf8")
        .replace("items: [torch]", "items: [torch, holy_water]\n    monster: cave_goblin")
        .replace("items: [holy_water, altar_candle]", "items: [altar_candle]")
        .replace(/ {4}monster: cave_goblin\n {4}items: \[rope\]/, "    items: [rope]")
        .replace("start: entrance", "start: hallway"),
      "keep.yaml",
    );
    const store = memoryStore();
    await using table = await Table.open(world, { clock, store, seed: 3, wrap: breaking(action, () => broken) });
    for (const [who, name] of [
      [ann, "Ann"],
      [bob, "Bob"],
    ] as const) {
      await table.call(who, "choose_name", { name });
      await table.call(who, "move", { direction: "south" });
    }
    await table.call(ann, "pick_up", { item: "holy_water" });
    if (tool !== "pick_up") await table.call(ann, "pick_up", { item: "torch" });
    await table.quiet();
    broken = true;
    const reply = await settled(table, clock, table.act(ann, `tools/${tool}`, args));
    assert.match(textOf(reply), expected);
    assert.deepEqual(await table.misplaced(), []);
    const room = await table.room("entrance");
    assert.deepEqual([room?.asked, room?.occupants["player/ann"]?.busy], [[], 0]);
    const { items } = await table.player(ann);
    assert.deepEqual(room?.occupants["player/ann"]?.items, items);

    broken = false;
    const letters = await table.engine.letters();
    assert.deepEqual(
      letters.map(({ message }) => message.action),
      [action],
    );
    for (const { message } of letters) await table.engine.letter(message.id, "replay");
    await settled(table, clock, Promise.resolve({ ok: null }));
    assert.deepEqual(await table.misplaced(), []);
    assert.ok("ok" in (await table.act(ann, "tools/say", { text: "still here" })));
  });
}

test("C5 if the turn of arrive keeps crashing, the player stays in its room and the call is answered", async () => {
  const clock = new SimulatedClock();
  let broken = true;
  await using table = await Table.open(keep, { clock, wrap: breaking("arrive", () => broken, "room") });
  await table.call(bob, "say", { text: "I watch." });
  await table.call(ann, "pick_up", { item: "torch" });
  const reply = await settled(table, clock, table.act(ann, "tools/move", { direction: "north" }));
  assert.match(textOf(reply), /came to nothing/);
  const one = (await table.room("entrance"))?.occupants["player/ann"];
  assert.deepEqual([one?.leaving, one?.busy, (await table.room("entrance"))?.asked], [false, 0, []]);
  assert.match(await table.call(bob, "look"), /leaves north\..+comes back\..+Also here/s);
  assert.match(await table.call(ann, "say", { text: "Still here." }), /You say/);
  broken = false;
  assert.match(await table.call(ann, "move", { direction: "north" }), /You go north/);
  await table.quiet();
  assert.deepEqual(await table.misplaced(), []);
});

test("C5 an outdated move is answered, and the player stays in its room", async () => {
  const clock = new SimulatedClock();
  let broken = false;
  await using table = await Table.open(keep, { clock, wrap: breaking("arrived", () => broken) });
  await table.call(ann, "move", { direction: "north" });
  broken = true;
  const step = table.act(ann, "tools/move", { direction: "east" });
  await settled(table, clock, Promise.resolve({ ok: null }));
  broken = false;
  await clock.advance(10_000);
  for (const direction of ["south", "north"]) await table.call(ann, "move", { direction });
  const [letter] = await table.engine.letters();
  assert.equal(letter?.message.action, "arrived");
  await table.engine.letter(letter.message.id, "replay");
  assert.match(textOf(await settled(table, clock, step)), /You go east/);
  assert.ok(!((await table.room("chamber"))?.occupants["player/ann"] ?? false));
  assert.equal((await table.player(ann)).room, "hallway");
  assert.match(await table.call(ann, "say", { text: "Still here." }), /You say/);
  assert.match(await table.call(ann, "move", { direction: "east" }), /You go east/);
});
