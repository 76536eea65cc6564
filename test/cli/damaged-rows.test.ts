import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { ActorId } from "../../src/core/contract/index.ts";
import { sqliteStore } from "../../src/core/store/index.ts";
import { ChainWriter } from "../../src/testing/conformance/index.ts";
import { troupe } from "./run.ts";

test("where a page of actors is damaged, verify names each of them and actors lists the others", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-rows-"));
  try {
    const path = join(directory, "troupe.db");
    const ids = Array.from({ length: 40 }, (_, n): ActorId => `door/k${n}`);
    {
      await using store = sqliteStore({ directory });
      const wakes = { w: { at: 1, action: "x".repeat(300) } };
      for (const id of ids) await store.commit(id, new ChainWriter(id).next({ row: { wakes } }));
    }
    const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(path);
    const page = database.prepare("SELECT pageno FROM dbstat WHERE name = 'actor' AND pagetype = 'leaf' LIMIT 1").get()?.["pageno"];
    database.close();
    assert.ok(typeof page === "number");
    writeFileSync(path, readFileSync(path).fill(0x5a, (page - 1) * 4_096, page * 4_096));

    const verified = await troupe("verify", "--data", directory, "--json");
    assert.equal(verified.code, 5, verified.stderr);
    const broken = ids.filter((id) => verified.stdout.split("\n").some((line) => line.includes(`"${id}"`) && line.includes("UNREADABLE")));
    assert.ok(broken.length > 3 && broken.length < 40, `${broken.length} broken`);

    const listed = await troupe("actors", "--data", directory, "--json");
    assert.equal(listed.code, 5, listed.stderr);
    assert.equal(listed.stdout.trim().split("\n").length, 40 - broken.length);
    assert.match(listed.stderr, new RegExp(`STORE_CORRUPT.*${broken.length} actors more cannot be read`, "u"));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
