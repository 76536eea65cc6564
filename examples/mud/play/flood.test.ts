import assert from "node:assert/strict";
import { test } from "node:test";
import { newRoom } from "../actors/room/room-state.ts";
import { hasOthers, litIn } from "../actors/room/room-views.ts";
import { loadWorld, worlds } from "../index.ts";
import { Table, viewer } from "./table.fixture.ts";

const keep = loadWorld(worlds[0] ?? "");

test("flooding a room or a player with text fills nothing: logs and notes are bounded, and all can still play #secure.text", async () => {
  await using table = await Table.open(keep, { seed: 6 });
  const loud = viewer("loud");
  const victims = Array.from({ length: 15 }, (_, index) => viewer(`victim-${index}`));
  for (const [index, who] of victims.entries()) await table.call(who, "choose_name", { name: `Victim ${index}` });
  const words = "漢".repeat(500);
  for (let round = 0; round < 20; round += 1) {
    await Promise.all([
      table.call(loud, "say", { text: words }),
      ...victims.map((_, index) => table.call(loud, "tell", { to: `victim ${index}`, text: words })),
    ]);
  }
  await table.quiet();
  const room = await table.room("entrance");
  assert.ok(room !== undefined);
  const notes = Object.values(room.occupants).map((one) => one.notes.length);
  assert.ok(Math.max(...notes) <= 20 && notes.reduce((a, b) => a + b, 0) <= 200);
  assert.ok(room.log.length <= 60 && room.log.every((entry) => entry.text.length < 600));
  assert.ok(JSON.stringify(room).length < 400_000, String(JSON.stringify(room).length));
  const result = await table.call(victims[0] ?? loud, "look");
  assert.ok(result.length < 15_000, String(result.length));
  assert.match(result, /and more than is told here/);
  assert.deepEqual(await table.store.letters(5), []);
  assert.deepEqual(table.faults, []);
});

test("the lists of a crowded room go through its occupants once, not once for each viewer", () => {
  const one = { name: "Ann", health: 100, items: ["torch"], deeds: [], quests: [], completed: [], revision: 1, visit: 1, ended: false };
  const here = { seen: 0, cursor: 0, asleep: false, engaged: false, leaving: false, busy: 0, came: null, notes: [], pinged: 0 };
  let walks = 0;
  const crowd = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`player/${at}`, { ...one, ...here }]));
  const occupants = new Proxy(crowd, { ownKeys: (target) => ((walks += 1), Reflect.ownKeys(target)) });
  const cellar = { ...newRoom(keep, "cellar"), occupants };
  for (const id of Object.keys(crowd)) assert.deepEqual([hasOthers(cellar, id), litIn(keep, cellar)], [true, true]);
  assert.equal(walks, 1);
  const [first = ""] = Object.keys(crowd);
  assert.equal(hasOthers({ ...cellar, occupants: { [first]: { ...one, ...here } } }, first), false);
  assert.equal(litIn(keep, { ...cellar, occupants: { [first]: { ...one, ...here, asleep: true } } }), false);
});

test("hostile arguments are refused or sanitised, and change nothing #spec.6.tools.caution #spec.7.validation.sanitize", async () => {
  await using table = await Table.open(keep, { seed: 6 });
  const ann = viewer("ann");
  await table.call(ann, "say", { text: "hi" });
  const odd: readonly unknown[] = [
    null,
    1,
    "",
    {},
    [],
    { item: 1 },
    { item: ["torch"] },
    { direction: {} },
    { text: "" },
    { text: "\u0000\u200B" },
    { to: "x", text: null },
    { name: "__proto__" },
    { item: "__proto__" },
    { item: "constructor" },
    { at: {} },
  ];
  for (const tool of (await table.tools(ann)).keys()) {
    for (const args of odd) {
      if (tool === "choose_name" && JSON.stringify(args).includes("name")) continue;
      const reply = await table.act(ann, `tools/${tool}`, JSON.parse(JSON.stringify(args)));
      assert.ok("ok" in reply || "refused" in reply, `${tool} ${JSON.stringify(args)}`);
    }
  }
  assert.equal((await table.refusal(ann, "choose_name", { name: "__proto__" })).code, "INVALID");
  await table.quiet();
  assert.deepEqual(await table.misplaced(), []);
  assert.deepEqual(table.faults, []);
});
