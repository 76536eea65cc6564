import assert from "node:assert/strict";
import { mkdtempDisposableSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openIndex } from "../../bridges/packet/search/index-file.ts";
import { migrate, openDatabase } from "./database.ts";

const root = join(import.meta.dirname, "../..");

const distrusts = (database: DatabaseSync): void => {
  assert.equal(database.prepare("PRAGMA trusted_schema").get()?.["trusted_schema"], 0);
  // Defensive mode forbids this.
  database.exec("PRAGMA writable_schema = ON");
  assert.throws(() => database.exec("UPDATE sqlite_master SET sql = sql"), /may not be modified|readonly/u);
};

test("a database is opened in defensive mode and does not trust its schema", () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-"));
  try {
    const path = join(directory, "a.db");
    {
      using database = openDatabase(path);
      database.exec("CREATE TABLE t(a)");
      distrusts(database);
    }
    for (const isConstant of [false, true]) {
      using reader = openDatabase(path, { readOnly: true, isConstant });
      distrusts(reader);
    }
    using index = openIndex(join(directory, "search.db"), "test", false);
    distrusts(index);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("every database of the product is opened in defensive mode", () => {
  const opening = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.(?:test|fixture)\.ts$/u.test(file))
    .flatMap((file) => readFileSync(join(root, file), "utf8").split("\n"))
    .filter((line) => /(?:new DatabaseSync|DatabaseSync\))\(/u.test(line));
  assert.ok(opening.length > 0);
  for (const line of opening) assert.match(line, /defensive: true/u);
});

const MINE = 0x54_65_73_74;
const SCRIPTS = [
  "CREATE TABLE thing(n INTEGER); INSERT INTO thing VALUES(1);",
  "ALTER TABLE thing ADD COLUMN name TEXT NOT NULL DEFAULT 'old';",
  "UPDATE thing SET name = name || ' ' || n;",
];

const rows = (database: DatabaseSync): unknown =>
  database
    .prepare("SELECT * FROM thing")
    .all()
    .map((row) => ({ ...row }));
const version = (database: DatabaseSync): unknown => database.prepare("PRAGMA user_version").get()?.["user_version"];

test("migration runs each missing script once, and a failing one changes nothing #store.schema", () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-migrate-"));
  const path = join(directory, "a.db");
  try {
    const database = openDatabase(path);
    migrate(database, MINE, SCRIPTS.slice(0, 1));
    assert.deepEqual([version(database), rows(database)], [1, [{ n: 1 }]]);
    database.exec("INSERT INTO thing VALUES(2)");

    assert.throws(() => migrate(database, MINE, [...SCRIPTS.slice(0, 2), "INSERT INTO nowhere VALUES(1)"]), /nowhere/);
    const strict = "CREATE TABLE strict(n INTEGER NOT NULL); INSERT INTO strict SELECT nullif(n, 2) FROM thing";
    assert.throws(() => migrate(database, MINE, [...SCRIPTS.slice(0, 1), strict]), { code: "STORE_CORRUPT", message: /its rows/ });
    assert.deepEqual([version(database), rows(database)], [1, [{ n: 1 }, { n: 2 }]]);
    assert.throws(() => migrate(database, MINE, SCRIPTS, true), { code: "STORE_READ_ONLY", message: /version 1.*brings it to version 3/ });

    migrate(database, MINE, SCRIPTS);
    migrate(database, MINE, SCRIPTS);
    assert.deepEqual(
      [version(database), rows(database)],
      [
        3,
        [
          { n: 1, name: "old 1" },
          { n: 2, name: "old 2" },
        ],
      ],
    );
    assert.throws(() => migrate(database, MINE, SCRIPTS.slice(0, 2)), { code: "STORE_NEWER" });
    assert.throws(() => migrate(database, MINE + 1, SCRIPTS), { code: "STORE_CORRUPT" });
    database.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("a database with a trigger or view that no script made is refused", () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-"));
  using database = openDatabase(join(directory.path, "a.db"));
  const trigger = "CREATE TRIGGER counted AFTER INSERT ON thing BEGIN\n  UPDATE thing SET n = n + 1;\nEND";
  const scripts = [`CREATE TABLE thing(n INTEGER); ${trigger};`];
  const open = (): void => migrate(database, MINE, scripts);
  open();
  open();
  for (const [type, sql] of [
    ["trigger", "CREATE TRIGGER more AFTER INSERT ON thing BEGIN DELETE FROM thing; END"],
    ["trigger", "DROP TRIGGER counted; CREATE TRIGGER counted AFTER INSERT ON thing BEGIN DELETE FROM thing; END"],
    ["view", "CREATE VIEW more AS SELECT 1"],
  ] as const) {
    database.exec(`BEGIN; ${sql}`);
    migrate(database, MINE, scripts, true);
    assert.throws(open, { code: "STORE_CORRUPT", message: new RegExp(`has a ${type} that Troupe did not make`, "u") });
    database.exec("ROLLBACK");
  }
  open();
});
