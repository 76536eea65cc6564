import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { Replies } from "./remembered-replies.ts";
import { SCHEMA } from "./schema.ts";

const A_SECOND = 2_500;

test("C4 expired replies are deleted in batches, as fast as new ones come", () => {
  using database = new DatabaseSync(":memory:");
  for (const script of SCHEMA) database.exec(script);
  let now = 1_000;
  let waiting: (() => void)[] = [];
  const replies = new Replies(
    database,
    () => now,
    (write) => void waiting.push(write),
  );
  const held = (): unknown => database.prepare("SELECT count(*) AS n FROM remembered").get()?.["n"];
  let most = 0;
  for (let second = 0; second < 10; second += 1) {
    for (let n = 0; n < A_SECOND; n += 1) {
      now = 1_000 * second + Math.floor((n * 1_000) / A_SECOND);
      replies.add(1, { key: `${second}.${n}`, call: "c", reply: { ok: null }, until: now + 1_000 });
    }
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      for (const write of group) {
        const before = Number(held());
        write();
        most = Math.max(most, before - Number(held()));
      }
    }
  }
  assert.ok(Number(held()) <= 3 * A_SECOND, `${String(held())} are held, of which a second's are not expired`);
  assert.equal(most, 500);
});
