import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryContents } from "../../core/store/index.ts";
import type { Json } from "../../core/contract/index.ts";
import { storeValue, loadValue, MissingContent } from "./stored-values.ts";
import type { WitValue } from "./wit.ts";

const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(7);

test("WIT values are stored as JSON, and loaded unchanged", async () => {
  await using contents = memoryContents();
  const put = (of: Uint8Array): Promise<string> => contents.put(of);
  const table: readonly [WitValue, Json][] = [
    [undefined, null],
    [true, true],
    [3.5, 3.5],
    [Number.NaN, { f64: "NaN" }],
    [2n ** 64n - 1n, { u64: "18446744073709551615" }],
    ["text", "text"],
    [new Uint8Array([1, 2]), { bytes: "AQI=" }],
    [
      ["a", 1n],
      ["a", { u64: "1" }],
    ],
    [{ ok: undefined }, { ok: null }],
    [{ ok: { hash: "x" } }, { ok: { record: { hash: "x" } } }],
    [{ err: "no" }, { err: "no" }],
    [{ accepted: true, message: undefined }, { record: { accepted: true, message: null } }],
  ];
  for (const [value, json] of table) {
    assert.deepEqual(await storeValue(value, put), json);
    assert.deepEqual(await loadValue(json, (digest) => contents.get(digest)), value);
  }
});

test("large values are in the content store, and the event has their digest", async () => {
  await using contents = memoryContents();
  const put = (of: Uint8Array): Promise<string> => contents.put(of);
  const get = contents.get.bind(contents);
  assert.deepEqual(Object.keys(Object(await storeValue(bytes(4_096), put))), ["bytes"]);
  const one = await storeValue(bytes(4_097), put);
  assert.deepEqual(one, { digest: await contents.put(bytes(4_097)), length: 4_097 });
  assert.deepEqual(await loadValue(one, get), bytes(4_097));
  const many = Array.from({ length: 1_000 }, (_, n) => `line ${n}`.padEnd(40));
  const apart = await storeValue({ ok: many }, put);
  assert.ok(JSON.stringify(apart).length < 200);
  assert.deepEqual(await loadValue(apart, get), { ok: many });
  await assert.rejects(
    loadValue(one, async () => undefined),
    MissingContent,
  );
});

test("JSON that is not a stored value is an error", async () => {
  for (const json of [{}, { bytes: 3 }, { kept: {} }, { more: "x" }] satisfies Json[])
    await assert.rejects(
      loadValue(json, async () => undefined),
      /no kept value/u,
    );
});
