import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { sqliteStore } from "troupe/store";
import { messageTo } from "troupe/conformance";
import { isJsonObject } from "../wire.ts";
import { lines, troupe } from "./run.ts";

const POSTBOX = `
import { actor } from "troupe";
export const postbox = actor("postbox", {
  description: "A postbox.", per: "shared",
  initial: () => ({ got: [] as string[] }),
  messages: { post: { run({ state, message }) { state.got.push(message.id); } } },
});
`;

test("dead letters are listed with why, replayed to their actor, and dropped #engine.dead-letters.cli #cli.letters", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-letters-"));
  try {
    const data = join(folder, "data");
    const module = join(folder, "postbox.ts");
    writeFileSync(module, POSTBOX);
    {
      await using store = sqliteStore({ directory: data });
      for (const id of ["lost.1", "lost.2"]) {
        await store.enqueue(messageTo("postbox/main", id, { action: "post", start: null }));
        await store.settle(id, "dead", { why: "CRASHED: three times" });
      }
    }
    const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe("letters", ...args, "--data", data);
    assert.match((await on()).stdout, /lost\.1 +postbox\/main +post .+CRASHED: three times\n.*lost\.2/);
    assert.equal((await on("replay", "lost.1", "--module", module)).code, 0);
    assert.equal((await on("drop", "lost.2", "--module", module)).code, 0);
    assert.deepEqual(lines((await on("list", "--json")).stdout), []);
    const [state] = lines((await troupe("state", "postbox/main", "--data", data, "--json")).stdout);
    assert.ok(isJsonObject(state));
    assert.deepEqual(state["state"], { got: ["lost.1"] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a letter that cannot be read is told of, and the others are listed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-letters-"));
  try {
    {
      await using store = sqliteStore({ directory: folder });
      for (const id of ["lost.1", "lost.2"]) {
        await store.enqueue(messageTo("postbox/main", id, { action: "post", start: null }));
        await store.settle(id, "dead", { why: "CRASHED: three times" });
      }
    }
    const database = new DatabaseSync(join(folder, "troupe.db"));
    database.exec("UPDATE letter SET message = replace(message, 'post', 'past') WHERE id = 'lost.1'");
    database.close();
    const told = await troupe("letters", "--data", folder);
    assert.equal(told.code, 5);
    assert.match(told.stdout, /lost\.2/);
    assert.match(told.stderr, /1 letter cannot be read/);
    const machine = await troupe("letters", "--data", folder, "--json");
    assert.deepEqual(
      lines(machine.stdout).map((line) => isJsonObject(line) && isJsonObject(line["message"]) && line["message"]["id"]),
      ["lost.2"],
    );
    assert.match(machine.stderr, /"code":"STORE_CORRUPT"/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
