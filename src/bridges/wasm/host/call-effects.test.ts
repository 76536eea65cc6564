import assert from "node:assert/strict";
import { test } from "node:test";
import { Asked } from "./call-effects.ts";
import type { Given } from "./values.ts";

const data = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

test("C4 a call that is tried again asks nobody twice; where it asks another thing, what was asked before lasts", async () => {
  const asked = new Asked();
  let count = 0;
  const ask = async (): Promise<Given> => ({ result: (count += 1) });
  const tried = async (...datas: readonly string[]): Promise<readonly Given[]> => {
    const given: Given[] = [];
    for (const [n, text] of datas.entries()) given.push(await asked.once(n, "other", data(text), ask));
    return given;
  };
  assert.deepEqual(await tried("a", "b"), [{ result: 1 }, { result: 2 }]);
  assert.deepEqual(await tried("a", "b", "b"), [{ result: 1 }, { result: 2 }, { result: 3 }]);
  assert.deepEqual(await tried("a", "c"), [{ result: 1 }, { result: 4, lasting: true }]);
});

test("what was refused is refused again", async () => {
  const asked = new Asked();
  const refuse = (): Promise<Given> => Promise.reject(new Error("There is none."));
  await assert.rejects(asked.once(0, "other", data(""), refuse), /none/u);
  await assert.rejects(
    asked.once(0, "other", data(""), async () => ({ result: 1 })),
    /none/u,
  );
});
