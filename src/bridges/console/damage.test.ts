import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import * as z from "zod";
import { actor, index } from "../../core/actor/index.ts";
import { sqliteStore } from "../../core/store/index.ts";
import { storeReader } from "../operate/index.ts";
import { itemsIn, servedConsole, textOf } from "./served.fixture.ts";

const counter = actor("counter", {
  description: "Counts.",
  per: "link",
  state: z.object({ n: z.number().default(0) }),
  messages: { ring: { run() {} } },
  tools: {
    alarm: {
      description: "Set a timer.",
      run({ state, wake, messages }) {
        state.n += 1;
        wake("alarm", { afterMs: 3_600_000, message: messages.ring() });
      },
    },
  },
});
const counted = index(counter, { name: "counted", pick: ["n"], order: "n" });
const served = { kinds: [counter], indexes: [counted] };

test("damage to two actors does not take away the overview, the doctor, lists and searches, and verify finds it", async () => {
  using temporary = mkdtempDisposableSync(join(tmpdir(), "troupe-console-"));
  const directory = temporary.path;
  {
    await using store = sqliteStore({ directory });
    await using at = await servedConsole({ ...served, store });
    for (const key of ["a", "b", "c"]) await at.engine.call({ to: counter.id(key), action: "tools/alarm", args: {}, start: null });
  }
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory, "troupe.db"));
  database.exec("UPDATE actor SET rest = 'garbage' WHERE key = 'a'");
  database.exec("DELETE FROM event WHERE actor = (SELECT id FROM actor WHERE key = 'c')");
  database.close();
  for (const readOnly of [false, true]) {
    await using store = sqliteStore({ directory, readOnly });
    await using at = readOnly
      ? await servedConsole({ kinds: [], isOffline: true, more: { reader: storeReader(store) } })
      : await servedConsole({ ...served, store });
    const { client } = at;
    const overview = await client.read("/overview");
    assert.ok(Number(Object(overview["timers"]).next) > 0, "the other timer is there");
    await client.read("/doctor");
    const rows = itemsIn(await client.read("/actors"));
    assert.deepEqual(
      rows.map(({ id, lastAt }) => [id, typeof lastAt]),
      [
        ["counter/a", "undefined"],
        ["counter/b", "number"],
        ["counter/c", "undefined"],
      ],
    );
    assert.deepEqual(
      itemsIn(await client.read("/timers")).map(({ actor: of, name, setBy }) => [of, name, typeof setBy]),
      [
        ["counter/b", "alarm", "object"],
        ["counter/c", "alarm", "undefined"],
      ],
    );
    for (const search of ["a", "counter/a"])
      assert.ok(
        itemsIn(await client.read("/actors", { search })).some(({ id }) => id === "counter/a"),
        search,
      );
    assert.equal((await client.get("/actors/counter/a")).status, 409);
    if (!readOnly)
      assert.deepEqual(
        itemsIn(await client.read("/actors", { index: "counted" })).map(({ id }) => id),
        ["counter/b"],
      );
    for (const key of ["a", "c"]) {
      const verified = (await client.stream(`/actors/counter/${key}/verify`)).at(-1);
      assert.deepEqual([verified?.event, verified?.data["ok"]], ["done", false]);
      const [flaw] = itemsIn({ items: verified?.data["flaws"] ?? null });
      assert.equal(textOf(flaw?.["code"]), "UNREADABLE");
    }
    assert.equal((await client.stream("/actors/counter/none/verify")).at(-1)?.event, "failed");
  }
});

test("a damaged dead letter does not take away the others where a store is only read, and is counted", async () => {
  using temporary = mkdtempDisposableSync(join(tmpdir(), "troupe-console-"));
  const directory = temporary.path;
  {
    await using store = sqliteStore({ directory });
    for (const id of ["m1", "m2", "m3"]) {
      await store.enqueue({ id, to: counter.id("a"), action: "ring", args: null, at: 1, seed: "00".repeat(16) });
      await store.settle(id, "dead", { why: "It broke." });
    }
  }
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory, "troupe.db"));
  database.exec("UPDATE letter SET message = replace(message, 'ring', 'rung') WHERE id = 'm2'");
  database.close();
  await using store = sqliteStore({ directory, readOnly: true });
  await using at = await servedConsole({ kinds: [], isOffline: true, more: { reader: storeReader(store) } });
  const page = await at.client.read("/letters");
  assert.deepEqual([itemsIn(page).map(({ id }) => id), page["damaged"]], [["m1", "m3"], 1]);
  const first = await at.client.read("/letters", { limit: "1" });
  assert.deepEqual([itemsIn(first).map(({ id }) => id), first["next"]], [["m1"], "1"]);
  assert.deepEqual(
    itemsIn(await at.client.read("/letters", { limit: "1", after: "1" })).map(({ id }) => id),
    ["m3"],
  );
});
