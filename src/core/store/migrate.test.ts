import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { migrate } from "./migrate.ts";
import { openDatabase } from "./open-database.ts";

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

test("a file of an older schema is brought to the newest by the scripts in between, each once; a failing one leaves it as it was", () => {
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
