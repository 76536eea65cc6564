import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { account, torture } from "../../testing/index.ts";
import { index } from "../actor/index.ts";
import type { Engine, IndexPage, Json } from "../contract/index.ts";
import { isJsonObject } from "../contract/index.ts";
import { memoryStore, sqliteStore } from "../store/index.ts";
import { LocalEngine } from "./index.ts";

const rich = index(account, { name: "rich", where: ({ state }) => state.balance > 10, pick: ["balance", "settled"], order: "balance" });
const all = index(account, { name: "all", pick: ["settled"] });

const numberIn = (state: Json | undefined, name: string): number => {
  const value = isJsonObject(state) ? state[name] : undefined;
  return typeof value === "number" ? value : 0;
};

/** The rows are what the states say, and the store's own verification agrees. */
async function checkRows(engine: LocalEngine, reader: Engine): Promise<void> {
  for (const name of ["rich", "all"]) assert.deepEqual((await engine.indexes.verify(name)).flaws, []);
  const page: IndexPage<{ readonly balance: number; readonly settled: number }> = await engine.query(rich, { count: true });
  const states = await Promise.all(
    (await reader.list({ limit: 100 })).map(async ({ id }) => ({ id, state: (await reader.read(id))?.state })),
  );
  const expected = states.filter(({ state }) => numberIn(state, "balance") > 10);
  assert.equal(page.count, expected.length);
  assert.deepEqual(
    Object.fromEntries(page.items.map(({ id, balance }) => [id, balance])),
    Object.fromEntries(expected.map(({ id, state }) => [id, numberIn(state, "balance")])),
  );
}

for (const [name, seeds] of [
  ["memory", [1, 2, 3, 4, 5, 6, 7, 8]],
  ["SQLite", [11, 12, 13]],
] as const)
  for (const seed of seeds)
    test(`C2 indexes agree with the chains after crashes of the ${name} store, seed ${seed} #index.crashes`, async () => {
      const directory = mkdtempSync(join(tmpdir(), "troupe-index-torture-"));
      try {
        let last: LocalEngine | undefined;
        const { crashes } = await torture({
          seed,
          store: (clock) => (name === "memory" ? memoryStore({ clock }) : sqliteStore({ directory, clock })),
          open: async (options) => (last = await LocalEngine.start({ ...options, indexes: [rich, all] })),
          check: async (reader) => {
            assert.ok(last);
            await checkRows(last, reader);
          },
        });
        assert.ok(crashes > 0);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    });
