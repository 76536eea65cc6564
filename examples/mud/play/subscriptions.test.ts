import assert from "node:assert/strict";
import { test } from "node:test";
import type { OfferRef, Viewer } from "troupe/contract";
import { loadWorld, worlds } from "../index.ts";
import { diceOf } from "../rules/dice.ts";
import { rounds, Table, viewer } from "./table.fixture.ts";

const keep = loadWorld(worlds[0] ?? "");
const players = ["ann", "bob", "cyd"].map(viewer);
const REFS: readonly OfferRef[] = ["resources/player_state", "resources/world_map", "resources/room_current", "resources/room_log"];

const contentsFor = (table: Table, who: Viewer): Promise<readonly string[]> =>
  Promise.all(REFS.map(async (ref) => JSON.stringify(await table.act(who, ref))));

/** A random act that is possible here. */
async function step(table: Table, who: Viewer, random: () => number): Promise<void> {
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const tool = pick([
    "look",
    "say",
    "move",
    "move",
    "pick_up",
    "drop",
    "battle",
    "battle",
    "flee",
    "accept_quest",
    "use",
    "open_chest",
    "inventory",
  ]);
  const schema = JSON.stringify((await table.tools(who)).get(tool ?? "") ?? {});
  const items: unknown = JSON.parse(/"enum":(\[[^\]]*\])/.exec(schema)?.[1] ?? "[]");
  const item = pick(Array.isArray(items) ? items.map(String) : []) ?? "torch";
  await table.act(who, `tools/${tool ?? "look"}`, { direction: item, item, text: "hello" });
}

test("C8 a client is notified of a resource after exactly those steps that changed its content", async () => {
  await using table = await Table.open(keep, { seed: 11 });
  const random = diceOf(11);
  const notified = players.map((who) => {
    const refs = new Set<OfferRef>();
    for (const ref of REFS) table.source.watch(who, (of) => of !== undefined && refs.add(of), { ref, args: {} });
    return refs;
  });
  await rounds(4);
  let before = await Promise.all(players.map((who) => contentsFor(table, who)));
  for (let n = 0; n < 150; n += 1) {
    const who = players[n % players.length];
    assert.ok(who !== undefined);
    await step(table, who, random);
    await table.quiet();
    const now = await Promise.all(players.map((one) => contentsFor(table, one)));
    for (const [i, refs] of notified.entries()) {
      const changed = REFS.filter((_ref, at) => now[i]?.[at] !== before[i]?.[at]);
      assert.deepEqual([...refs].toSorted(), [...changed].toSorted(), `step ${n}, ${players[i]?.principal ?? ""}`);
      refs.clear();
    }
    before = now;
  }
  assert.deepEqual(table.faults, []);
});
