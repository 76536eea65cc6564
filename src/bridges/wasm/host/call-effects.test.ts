import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestCache } from "./call-effects.ts";
import type { ImportResult } from "../sandbox.ts";

const data = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

test("C4 a retried call repeats no request; if it makes another one, the earlier one is a lasting effect", async () => {
  const asked = new RequestCache();
  let count = 0;
  const ask = async (): Promise<ImportResult> => ({ result: (count += 1) });
  const tried = async (...datas: readonly string[]): Promise<readonly ImportResult[]> => {
    const given: ImportResult[] = [];
    for (const [n, text] of datas.entries()) given.push(await asked.once(n, "other", data(text), ask));
    return given;
  };
  assert.deepEqual(await tried("a", "b"), [{ result: 1 }, { result: 2 }]);
  assert.deepEqual(await tried("a", "b", "b"), [{ result: 1 }, { result: 2 }, { result: 3 }]);
  assert.deepEqual(await tried("a", "c"), [{ result: 1 }, { result: 4, lasting: true }]);
});

test("a refused request is refused again", async () => {
  const asked = new RequestCache();
  const refuse = (): Promise<ImportResult> => Promise.reject(new Error("There is none."));
  await assert.rejects(asked.once(0, "other", data(""), refuse), /none/u);
  await assert.rejects(
    asked.once(0, "other", data(""), async () => ({ result: 1 })),
    /none/u,
  );
});
