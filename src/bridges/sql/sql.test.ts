import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as z from "zod";
import { actor, index } from "../../core/actor/index.ts";
import { Cancellation, type Sql, SqlError, type SqlResult } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { sqliteSessionStores, sqliteStore } from "../../core/store/index.ts";
import { sqliteSql } from "./index.ts";

const SECRET = "open-sesame-4711";

const Order = z.object({ item: z.string().default("pen"), count: z.number().default(0), note: z.string().nullable().default(null) });

const order = actor("order", {
  description: "An order that counts.",
  per: "shared",
  state: Order,
  messages: {
    fail: {
      input: z.object({ why: z.string() }),
      run({ args }) {
        throw new Error(args.why);
      },
    },
    tick: { run: () => undefined },
  },
  tools: {
    add: { description: "Adds.", input: z.object({ n: z.number() }), run: ({ state, args }) => void (state.count += args.n) },
    tell: {
      description: "Sends what fails.",
      run({ send, wake, self }) {
        send({ to: "order/other", action: "fail", args: { why: "no stock" } });
        send({ to: "vault/main", action: "open", args: { code: SECRET } });
        wake("later", { at: 4_000_000_000_000, message: { to: self, action: "tick", args: {} } });
      },
    },
  },
});

const vault = actor("vault", {
  description: "A vault.",
  per: "shared",
  state: z.object({ opened: z.number().default(0) }),
  messages: {
    open: {
      input: z.object({ code: z.string() }),
      secret: ["code"],
      run() {
        throw new Error("It is stuck.");
      },
    },
  },
  tools: {
    unlock: {
      description: "Unlocks.",
      input: z.object({ code: z.string() }),
      secret: ["code"],
      run: ({ state }) => void (state.opened += 1),
    },
  },
});

const byItem = index(order, { name: "by-item", pick: ["item", "note", "count"] });

const KINDS = [order, vault];
const folder = mkdtempDisposableSync(join(tmpdir(), "troupe-sql-"));
const directory = folder.path;
const stack = new AsyncDisposableStack();
let engine: LocalEngine;
let sql: Sql;

const add = (key: string, n: number) =>
  engine.call({ to: order.id(key), action: "tools/add", args: { n }, viewer: { principal: "ada", scopes: [] } });

const rowsOf = async (text: string): Promise<SqlResult["rows"]> => (await sql.query({ sql: text })).rows;

before(async () => {
  const store = stack.use(sqliteStore({ directory }));
  engine = stack.use(await LocalEngine.start({ kinds: KINDS, indexes: [byItem], store }));
  const { sessions, taskStore } = stack.use(sqliteSessionStores({ path: join(directory, "sessions.db") }));
  await sessions.put({
    id: "the-session-id",
    protocol: "2025-11-25",
    client: { name: "tester", version: "2" },
    capabilities: {},
    subscriptions: ["actor://order/a"],
    createdAt: 1_000,
    seenAt: 2_000,
  });
  const task = { status: "working", createdAt: "1970-01-01T00:00:01.500Z", lastUpdatedAt: "1970-01-01T00:00:02.000Z" };
  await taskStore.put({ id: "task-1", principal: "ada", description: JSON.stringify(task), over: false, until: 9_000 });
  for (const key of ["a", "b", "other"]) await add(key, 2);
  for (let n = 0; n < 3; n += 1) await add("a", 1);
  await engine.call({ to: vault.id("main"), action: "tools/unlock", args: { code: SECRET } });
  await engine.call({ to: order.id("a"), action: "tools/tell", args: {} });
  while ((await store.letters(10)).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  sql = sqliteSql({ directory, kinds: () => KINDS });
});

after(async () => {
  await stack.disposeAsync();
  folder.remove();
});

describe("SQL over a store", () => {
  test("actors have their rows and computed states #console.sql", async () => {
    assert.deepEqual(
      await rowsOf("SELECT id, status, seq > 0, state ->> '$.count' FROM actors WHERE kind = 'order' AND key IN ('a', 'b') ORDER BY id"),
      [
        ["order/a", "live", 1, 5],
        ["order/b", "live", 1, 2],
      ],
    );
    const [times] = await rowsOf("SELECT created_at <= updated_at, updated_at <= message_at FROM actors WHERE id = 'order/b'");
    assert.deepEqual(times, [1, 1]);
  });

  test("events have their actor, principal, arguments and patch", async () => {
    assert.deepEqual(
      await rowsOf(
        "SELECT actor, type, principal, args ->> '$.n', patch ->> '$.count' IS NOT NULL FROM events WHERE type = 'tools/add' AND actor = 'order/a' ORDER BY seq DESC LIMIT 1",
      ),
      [["order/a", "tools/add", "ada", 1, 1]],
    );
    assert.deepEqual(await rowsOf("SELECT count(*) = max(seq), count(DISTINCT id) = count(*) FROM events WHERE actor = 'order/a'"), [
      [1, 1],
    ]);
    const [joined] = await rowsOf("SELECT count(*) FROM actors JOIN events USING (kind, key) WHERE actors.status = 'live'");
    assert.ok(Number(joined?.[0]) > 5);
  });

  test("what a query names itself can be counted, also where none of its values is read", async () => {
    const [counted] = await rowsOf("WITH e AS MATERIALIZED (SELECT id FROM events) SELECT count(*) > 5 FROM e");
    assert.deepEqual(counted, [1]);
    const numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5)";
    assert.deepEqual(await rowsOf(`${numbers} SELECT count(*) FROM n`), [[5]]);
    assert.deepEqual(await rowsOf("WITH actors AS (SELECT 1 AS x UNION ALL SELECT 2) SELECT count(*) FROM actors"), [[2]]);
    assert.deepEqual(await rowsOf("SELECT 'yes' FROM actors WHERE EXISTS(WITH c AS (SELECT 1) SELECT 1 FROM c) LIMIT 1"), [["yes"]]);
  });

  test("letters, timers, sessions and indexes are views; values that are secret are hidden", async () => {
    const letters = await rowsOf("SELECT receiver, action, args, sender, reason FROM letters ORDER BY receiver");
    assert.deepEqual(
      letters.map(([receiver, action, args, sender]) => [receiver, action, args, sender]),
      [
        ["order/other", "fail", '{"why":"no stock"}', "order/a"],
        ["vault/main", "open", '"[redacted]"', "order/a"],
      ],
    );
    assert.deepEqual(await rowsOf("SELECT actor, name, at, action FROM timers"), [["order/a", "later", 4_000_000_000_000, "tick"]]);
    assert.deepEqual(await rowsOf("SELECT client, client_version, revision, seen_at, subscriptions, name LIKE 'session|%' FROM sessions"), [
      ["tester", "2", "2025-11-25", 2_000, '["actor://order/a"]', 1],
    ]);
    assert.deepEqual(await rowsOf("SELECT * FROM tasks"), [["task-1", "ada", "working", null, 1_500, 2_000, 0, 9_000]]);
    assert.deepEqual(await rowsOf("SELECT actor, item, note, count FROM index_by_item WHERE key <= 'b' ORDER BY key"), [
      ["order/a", "pen", null, 5],
      ["order/b", "pen", null, 2],
    ]);
    assert.deepEqual(await rowsOf("SELECT count / 2, typeof(count) FROM index_by_item WHERE actor = 'order/a'"), [[2.5, "real"]]);
    const everything: unknown[] = [];
    for (const { name } of await sql.views()) everything.push(await rowsOf(`SELECT * FROM ${name}`));
    const text = JSON.stringify(everything);
    assert.ok(!text.includes(SECRET) && !text.includes("the-session-id"), text);
    assert.match(text, /tools\/unlock/);
  });

  test("without the code of a kind its messages show no arguments", async () => {
    const { rows } = await sqliteSql({ directory }).query({ sql: "SELECT DISTINCT args FROM letters" });
    assert.deepEqual(rows, [['"[redacted]"']]);
  });

  test("every column of every view is described, and can be selected", async () => {
    const views = await sql.views();
    assert.deepEqual(
      views.map(({ name }) => name),
      ["actors", "events", "letters", "outbox", "timers", "sessions", "tasks", "index_by_item"],
    );
    for (const { name, columns } of views) {
      const result = await sql.query({ sql: `SELECT ${columns.map((column) => column.name).join(", ")} FROM ${name} LIMIT 1` });
      assert.deepEqual(
        result.columns,
        columns.map((column) => column.name),
      );
    }
  });

  test("rows, sizes and values are bounded, and the result says so", async () => {
    const numbers = (n: number) => `WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c WHERE n < ${n}) SELECT n`;
    const many = await sql.query({ sql: `${numbers(5_000)} FROM c` });
    assert.deepEqual([many.rows.length, many.cut], [1_000, "rows"]);
    const few = await sql.query({ sql: `${numbers(5)} FROM c`, limit: 5 });
    assert.deepEqual([few.rows.length, few.cut], [5, undefined]);
    const wide = await sql.query({ sql: `${numbers(500)}, printf('%.*c', 50000, 'x') FROM c` });
    assert.ok(wide.rows.length < 30 && wide.cut === "size");
    const long = await sql.query({ sql: "SELECT printf('%.*c', 1000000, 'x'), 9223372036854775807, x'00ff', 9e999, 1.5, NULL" });
    assert.equal(long.shortened, 1);
    assert.deepEqual(long.rows[0]?.slice(1), ["9223372036854775807", "x'00ff'", "Infinity", 1.5, null]);
  });

  test("a store that is being written can be queried", async () => {
    await add("busy", 1);
    let writes = 1;
    const over = new AbortController();
    const write = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await add("busy", 1);
        writes += 1;
      }
    };
    const writer = write();
    const counts: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const [row] = await rowsOf("SELECT seq, state ->> '$.count' FROM actors WHERE kind = 'order' AND key = 'busy'");
      counts.push(Number(row?.[1]));
      const [same] = await rowsOf("SELECT count(*) = max(seq) FROM events WHERE actor = 'order/busy'");
      assert.deepEqual(same, [1]);
    }
    over.abort();
    await writer;
    assert.ok(
      counts.every((count, at) => count >= (counts[at - 1] ?? 0) && count <= writes),
      String(counts),
    );
  });
});

describe("a query can do nothing but read the views", () => {
  const refused: readonly (readonly [why: string, sql: string, code: string])[] = [
    ["a write", "DELETE FROM actor", "SQL_DENIED"],
    [
      "a write behind WITH",
      "WITH x AS (SELECT 1) INSERT INTO letter(id, at, why, message, sum) VALUES(1, 1, 1, 1, 1) RETURNING *",
      "SQL_DENIED",
    ],
    ["a write to a view", "WITH x AS (SELECT 1) UPDATE actors SET status = 'live' RETURNING *", "SQL_WRONG"],
    ["a table below", "SELECT * FROM actor", "SQL_DENIED"],
    ["the tables' names", "SELECT * FROM sqlite_master", "SQL_DENIED"],
    ["their number", "SELECT count(*) FROM sqlite_schema", "SQL_DENIED"],
    ["the names of temporary views", "SELECT sql FROM sqlite_temp_schema", "SQL_DENIED"],
    ["remembered replies", "SELECT reply FROM remembered", "SQL_DENIED"],
    ["sessions' ids", "SELECT id FROM sessions_file.session", "SQL_DENIED"],
    ["a part that is named like a view", "WITH actors AS (SELECT * FROM letter) SELECT * FROM actors", "SQL_DENIED"],
    ["a subquery named like a view", "SELECT * FROM (SELECT message FROM letter) AS letters", "SQL_DENIED"],
    ["a table in a condition", "SELECT 1 FROM actors WHERE EXISTS(SELECT message FROM letter WHERE message LIKE '%sesame%')", "SQL_DENIED"],
    ["a row number of a table", "SELECT max(rowid) FROM letter", "SQL_DENIED"],
    ["a pragma", "PRAGMA query_only = OFF", "SQL_DENIED"],
    ["a pragma as a table", "SELECT * FROM pragma_table_info('letter')", "SQL_DENIED"],
    ["another file", "ATTACH '/etc/passwd' AS x", "SQL_DENIED"],
    ["a copy to a file", "VACUUM INTO '/tmp/troupe-stolen.db'", "SQL_DENIED"],
    ["an explained write", "EXPLAIN DELETE FROM actor", "SQL_DENIED"],
    ["a library", "SELECT load_extension('x')", "SQL_DENIED"],
    ["a function of an index", "SELECT rtreecheck('letter')", "SQL_DENIED"],
    ["a blob of zeros", "SELECT zeroblob(1000000)", "SQL_DENIED"],
    ["two statements", "SELECT 1; DELETE FROM actor", "SQL_WRONG"],
    ["a transaction", "BEGIN IMMEDIATE", "SQL_DENIED"],
    ["nothing", " -- only a comment", "SQL_WRONG"],
    ["pages of the file", "SELECT * FROM dbstat", "SQL_DENIED"],
    [
      "their number, with its name for a part of the query",
      "WITH x AS (WITH dbstat AS (SELECT 1) SELECT 1) SELECT count(*) FROM dbstat",
      "SQL_DENIED",
    ],
    ["the number of replies", "SELECT count(*) FROM Remembered", "SQL_DENIED"],
    ["the number of streams", "SELECT count(*) FROM sessions_file.stream", "SQL_DENIED"],
    ["a virtual table", "CREATE VIRTUAL TABLE temp.x USING fts5(a)", "SQL_DENIED"],
    ["a value of a gigabyte", "SELECT length(replace(printf('%.*c', 60000000, 'x'), 'x', 'xx'))", "SQL_WRONG"],
    ["a parser that is made to recurse", `SELECT ${"(".repeat(5_000)}1${")".repeat(5_000)}`, "SQL_WRONG"],
  ];
  for (const [why, text, code] of refused)
    test(`${why} is refused`, async () => {
      await assert.rejects(sql.query({ sql: text }), (error) => error instanceof SqlError && error.code === code, text);
    });

  test("functions of the views cannot be called, nor their names be learned", async () => {
    const explained = JSON.stringify((await sql.query({ sql: "EXPLAIN SELECT state FROM actors" })).rows);
    const [, name = ""] = /(hidden_[0-9a-f]+)/.exec(explained) ?? [];
    // Each query has other names, so those of another one are of no use.
    await assert.rejects(sql.query({ sql: `SELECT * FROM "${name}_actors"` }), SqlError);
    await assert.rejects(sql.query({ sql: `WITH "${name}_x" AS (SELECT message FROM letter) SELECT * FROM "${name}_x"` }), {
      code: "SQL_DENIED",
    });
  });

  test("errors say where", async () => {
    const wrong: readonly (readonly [sql: string, at: number])[] = [
      ["SELECT id\nFORM actors", 15],
      ["SELECT nope FROM actors", 7],
      ["SELECT a.nope FROM actors a", 9],
      ["SELECT 1 FROM nothing", 14],
      ["SELECT id, 'form' form FROM actors WHERE id form", 44],
      ["SELECT (1", 9],
      ["SELECT 1; SELECT 2", 10],
    ];
    for (const [text, at] of wrong)
      await assert.rejects(sql.query({ sql: text }), (error) => {
        assert.ok(error instanceof SqlError, String(error));
        assert.deepEqual([error.code, error.at], ["SQL_WRONG", at], `${text}: ${error.message}`);
        return true;
      });
  });
});

describe("a query that does not end is ended", () => {
  const endless = "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c";

  test("by time", async () => {
    await assert.rejects(sqliteSql({ directory, timeoutMs: 500 }).query({ sql: endless }), { code: "SQL_TIMEOUT" });
    const huge = "SELECT count(*) FROM events a, events b, events c, events d, events e, events f, events g, events h, events i, events j";
    await assert.rejects(sqliteSql({ directory, timeoutMs: 500 }).query({ sql: huge }), { code: "SQL_TIMEOUT" });
  });

  test("by memory", async () => {
    const grows =
      "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c) SELECT n, printf('%.*c', 100000, 'x') AS x FROM c ORDER BY x, n DESC";
    await assert.rejects(sqliteSql({ directory, memoryBytes: 200_000_000, timeoutMs: 60_000 }).query({ sql: grows }), {
      code: "SQL_MEMORY",
    });
  });

  test("by its caller; another one is refused meanwhile, and the next runs", async () => {
    const cancellation = new Cancellation();
    const running = sql.query({ sql: endless }, cancellation);
    await assert.rejects(sql.query({ sql: "SELECT 1" }), { code: "SQL_BUSY" });
    cancellation.abort();
    await assert.rejects(running, { code: "SQL_CANCELLED" });
    assert.deepEqual(await rowsOf("SELECT 1"), [[1]]);
  });
});
