import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sqliteStore } from "../../core/store/index.ts";
import { ChainWriter } from "../../testing/conformance/index.ts";
import { isThere, verdictOn } from "./chain-checks.ts";

test("an event that cannot be read is named by its number, and other chains are verified all the same", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-verdict-"));
  const [torn, whole, changed] = [new ChainWriter("door/torn"), new ChainWriter("door/whole"), new ChainWriter("door/changed")];
  {
    await using store = sqliteStore({ directory });
    for (let turn = 0; turn < 20; turn += 1) for (const writer of [torn, whole, changed]) await store.commit(writer.id, writer.next());
  }
  const database = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory, "troupe.db"));
  database.exec("DELETE FROM event WHERE seq = 7 AND actor = (SELECT id FROM actor WHERE key = 'torn')");
  database.exec("UPDATE actor SET count = count + 1 WHERE key = 'changed'");
  database.close();
  {
    await using store = sqliteStore({ directory, readOnly: true });
    const flaw = async (writer: ChainWriter): Promise<unknown> => {
      const { flaw: found, events } = await verdictOn(store, writer.id, {});
      return [found?.code, found?.seq, events, await isThere(store, writer.id)];
    };
    assert.deepEqual(await flaw(torn), ["UNREADABLE", 7, 0, true]);
    assert.deepEqual(await flaw(whole), [undefined, undefined, 20, true]);
    assert.deepEqual(await flaw(changed), ["UNREADABLE", 1, 0, true]);
    assert.equal(await isThere(store, "door/none"), false);
  }
  rmSync(directory, { recursive: true, force: true });
});
