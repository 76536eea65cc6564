import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { isJsonObject } from "../../core/contract/index.ts";
import { sqliteStore } from "../../core/store/index.ts";
import { sqliteSql } from "../sql/index.ts";
import { servedConsole } from "./served.fixture.ts";

const lamp = actor("lamp", {
  description: "A lamp.",
  per: "shared",
  state: z.object({ on: z.boolean().default(false) }),
  tools: { toggle: { description: "Toggles.", run: ({ state }) => (state.on = !state.on) } },
});

test("a query over HTTP has columns and rows, and errors say where", async () => {
  using folder = mkdtempDisposableSync(`${tmpdir()}/troupe-sql-route-`);
  await using store = sqliteStore({ directory: folder.path });
  const sql = sqliteSql({ directory: folder.path });
  await using served = await servedConsole({ kinds: [lamp], store, more: { sql } });
  const { client, engine } = served;
  await engine.call({ to: lamp.id("hall"), action: "tools/toggle", args: {} });
  const about = await client.read("");
  assert.ok(Array.isArray(about["can"]) && about["can"].includes("sql"));
  const { views } = await client.read("/sql");
  assert.match(JSON.stringify(views), /"name":"actors".*"name":"events"/);
  const { status, body } = await client.post("/sql", { sql: "SELECT id, state ->> '$.on' AS \"on\" FROM actors" });
  assert.deepEqual([status, body["columns"], body["rows"]], [200, ["id", "on"], [["lamp/hall", 1]]]);
  const wrong = await client.post("/sql", { sql: "SELECT id FORM actors" });
  const { error } = wrong.body;
  assert.ok(isJsonObject(error));
  assert.deepEqual([wrong.status, error["code"], error["at"]], [400, "SQL_WRONG", 15]);
  assert.equal((await client.post("/sql", { sql: "PRAGMA query_only" })).status, 400);
  assert.equal((await client.post("/sql", { sql: "SELECT 1", limit: 5_000 })).status, 400);
});

test("a client that disconnects ends its query", async () => {
  using folder = mkdtempDisposableSync(`${tmpdir()}/troupe-sql-route-`);
  await using store = sqliteStore({ directory: folder.path });
  const sql = sqliteSql({ directory: folder.path });
  const cancelled = Promise.withResolvers<string>();
  const watched: typeof sql = {
    views: () => sql.views(),
    query: (query, signal) => {
      const found = sql.query(query, signal);
      found.then(
        () => cancelled.resolve("ended"),
        (error: unknown) => cancelled.resolve(error instanceof Error && "code" in error ? String(error.code) : ""),
      );
      leave.abort();
      return found;
    },
  };
  const leave = new AbortController();
  await using served = await servedConsole({ kinds: [lamp], store, more: { sql: watched } });
  const endless = "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c";
  await assert.rejects(served.client.post("/sql", { sql: endless }, leave.signal));
  assert.equal(await cancelled.promise, "SQL_CANCELLED");
});

test("without a store on SQLite there is a reason, and what to use instead", async () => {
  await using served = await servedConsole({ kinds: [] });
  const { cannot } = await served.client.read("");
  assert.match(JSON.stringify(cannot), /"sql":"Actors in memory have no tables: [^"]*index/);
  assert.equal((await served.client.post("/sql", { sql: "SELECT 1" })).status, 409);
});
