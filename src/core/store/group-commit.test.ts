import assert from "node:assert/strict";
import { setImmediate as round } from "node:timers/promises";
import { test } from "node:test";
import { GroupCommit } from "./group-commit.ts";

/** How many writes each COMMIT had. */
function groups(): { readonly sizes: number[]; readonly commits: GroupCommit; readonly write: () => void } {
  const sizes: number[] = [];
  let writes = 0;
  const database = {
    isTransaction: false,
    exec(sql: string): void {
      if (sql !== "COMMIT") return;
      sizes.push(writes);
      writes = 0;
    },
  };
  return { sizes, commits: new GroupCommit(database, () => undefined), write: () => (writes += 1) };
}

const several = ({ commits, write }: ReturnType<typeof groups>, count: number): Promise<void>[] =>
  Array.from({ length: count }, () => commits.add(write));

void test("few callers do not wait for one another", async () => {
  const group = groups();
  for (const count of [1, 1, 3, 1, 2]) {
    const all = several(group, count);
    await round();
    assert.equal(group.sizes.at(-1), count);
    await Promise.all(all);
  }
  assert.equal(group.sizes.length, 5);
});

void test("a large batch stays open while rounds of the event loop add to it", async () => {
  const group = groups();
  const all = several(group, 4);
  await round();
  all.push(...several(group, 1));
  await round();
  assert.deepEqual(group.sizes, []);
  await Promise.all(all);
  assert.deepEqual(group.sizes, [5]);
});

void test("a batch waits once for the callers of the previous one", async () => {
  const group = groups();
  await Promise.all(several(group, 4));
  const early = several(group, 1);
  await round();
  await round();
  await Promise.all([...early, ...several(group, 3)]);
  assert.deepEqual(group.sizes, [4, 4]);
  await Promise.all(several(group, 1));
  const alone = several(group, 1);
  await round();
  assert.deepEqual(group.sizes, [4, 4, 1, 1]);
  await Promise.all(alone);
});

void test("C2 a batch that keeps growing is still written", async () => {
  const group = groups();
  const all: Promise<void>[] = [];
  for (let turn = 0; turn < 12; turn += 1) {
    all.push(...several(group, 2));
    await round();
  }
  await Promise.all(all);
  assert.equal(
    group.sizes.reduce((sum, size) => sum + size),
    24,
  );
  assert.ok(Math.max(...group.sizes) <= 8);
  const written = group.sizes.length;
  const many = several(group, 300);
  await round();
  assert.deepEqual(group.sizes.slice(written), [300]);
  await Promise.all(many);
});
