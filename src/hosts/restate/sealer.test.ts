import assert from "node:assert/strict";
import { test } from "node:test";
import { sealer, unsealed } from "./sealer.ts";

const secret = (text: string): Uint8Array => Buffer.alloc(32, text);
const PLAIN = { message: { id: "one", args: { secret: "hush-hush ☃\u2028" } }, key: null };

const sealedText = (value: unknown): string => {
  assert.ok(typeof value === "object" && value !== null && "sealed" in value && typeof value.sealed === "string");
  return value.sealed;
};

void test("sealed values open unchanged, and reveal nothing before #cluster.redact", () => {
  const { seal, open } = sealer(secret("a"));
  for (const value of [PLAIN, null, 0, "", [], "x".repeat(100_000)]) {
    const sealed = seal(value);
    assert.deepEqual(open(JSON.parse(JSON.stringify(sealed))), value);
  }
  const bytes = Buffer.from(sealedText(seal(PLAIN)), "base64").toString("latin1");
  for (const text of ["hush", "message", "args"]) assert.ok(!bytes.includes(text));
});

void test("law 4: equal values are sealed to the same text by every node, and different ones to different texts", () => {
  const [one, other] = [sealer(secret("a")), sealer(secret("a"))];
  assert.deepEqual(one.seal(PLAIN), other.seal(structuredClone(PLAIN)));
  const texts = Array.from({ length: 1_000 }, (_, n) => sealedText(one.seal({ n })));
  assert.equal(new Set(texts.map((text) => text.slice(0, 16))).size, 1_000, "no nonce twice");
});

void test("another secret, a changed text, a cut one: none opens #cluster.redact", () => {
  const one = sealer(secret("a"));
  const sealed = sealedText(one.seal(PLAIN));
  const refused = { name: "StoreError", code: "STORE_CORRUPT" };
  assert.throws(() => sealer(secret("b")).open({ sealed }), refused);
  const bytes = Buffer.from(sealed, "base64");
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => one.open({ sealed: changed.toString("base64") }), refused, `byte ${at}`);
  }
  for (const length of [0, 1, 11, 12, 27, 28, bytes.length - 1])
    assert.throws(() => one.open({ sealed: bytes.subarray(0, length).toString("base64") }), refused, `${length} bytes`);
  assert.throws(() => one.open({ sealed: "" }), refused);
});

void test("values from before their kind had secrets still open, and a node without the secret reports that", () => {
  const one = sealer(secret("a"));
  for (const plain of [PLAIN, null, "text", { sealed: 1 }]) assert.deepEqual(one.open(plain), plain);
  assert.deepEqual(unsealed.open(unsealed.seal(PLAIN)), PLAIN);
  assert.throws(() => unsealed.open(one.seal(PLAIN)), { code: "STORE_CORRUPT", message: /the same secret/ });
});
