import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ChainWriter } from "../../testing/index.ts";
import { sqliteStore } from "./index.ts";

const PAGE = 4_096;
const INDEX_LEAF = 0x0a;

test("a flipped bit in the index of names never gives one actor's row for another's", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-tips-"));
  {
    await using store = sqliteStore({ directory });
    const alice = new ChainWriter("door/alice");
    await store.commit(alice.id, alice.next());
  }
  const file = join(directory, "troupe.db");
  const bytes = readFileSync(file);
  for (let page = 1; page * PAGE < bytes.length; page += 1) {
    const at = bytes.subarray(0, (page + 1) * PAGE).indexOf("dooralice", page * PAGE);
    // "alice" becomes "alicd".
    if (at >= 0 && bytes[page * PAGE] === INDEX_LEAF) bytes[at + 8] = "d".charCodeAt(0);
  }
  writeFileSync(file, bytes);
  for (const readOnly of [false, true]) {
    await using store = sqliteStore({ directory, readOnly });
    await assert.rejects(store.load("door/alicd"), { code: "STORE_CORRUPT", message: /is another's/u });
  }
  rmSync(directory, { recursive: true, force: true });
});
