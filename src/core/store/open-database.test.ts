import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openIndex } from "../../bridges/packet/search/index-file.ts";
import { openDatabase } from "./open-database.ts";

const root = join(import.meta.dirname, "../..");

const distrusts = (database: DatabaseSync): void => {
  assert.equal(database.prepare("PRAGMA trusted_schema").get()?.["trusted_schema"], 0);
  // What defensive mode forbids.
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
