import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../core/contract/index.ts";
import { keysIn } from "./key-file.ts";

const sha256 = "a".repeat(64);

test("a key's end is told as a day, a time or milliseconds, and kept", () => {
  const ends = (expiresAt: Json): number | undefined => keysIn({ ann: { sha256, expiresAt } }, "keys.json")[0]?.expiresAt;
  assert.equal(ends("2027-01-31"), Date.UTC(2027, 0, 31));
  assert.equal(ends("2027-01-31T12:30Z"), Date.UTC(2027, 0, 31, 12, 30));
  assert.equal(ends(1_800_000_000_000), 1_800_000_000_000);
  assert.deepEqual(keysIn({ ann: sha256, ci: { sha256, scopes: ["deploy"] } }, "keys.json"), [
    { name: "ann", sha256, scopes: [] },
    { name: "ci", sha256, scopes: ["deploy"] },
  ]);
});

test("a key has the claims that the file gives it", () => {
  const claims = { roles: ["responder"], tenant: "acme" };
  assert.deepEqual(keysIn({ ci: { sha256, claims } }, "keys.json"), [{ name: "ci", sha256, scopes: [], claims }]);
});

test("a key's hash is taken in upper case, as Windows tools write it", () => {
  const upper = "AB".repeat(32);
  assert.deepEqual(keysIn({ ann: upper }, "keys.json"), [{ name: "ann", sha256: upper, scopes: [] }]);
});

test("what would leave a key with more than was meant is refused, naming the key and what is wrong", () => {
  for (const [value, sentence] of [
    [{ sha256, expires: "2027-01-31" }, /"ci" has "expires", which nobody reads: it may have sha256, scopes, claims, expiresAt/],
    [{ sha256, scope: ["deploy"] }, /"ci" has "scope"/],
    [{ sha256, expiresAt: "soon" }, /"expiresAt" of "ci" must be a time/],
    [{ sha256, expiresAt: "2027-13-45" }, /"expiresAt" of "ci" must be a time/],
    [{ sha256, expiresAt: null }, /"expiresAt" of "ci" must be a time/],
    [{ sha256, scopes: ["deploy", 1] }, /scopes of "ci" must be a list of texts/],
    [{ sha256, scopes: "deploy" }, /scopes of "ci" must be a list of texts/],
    [{ sha256, claims: ["responder"] }, /claims of "ci" must be an object, such as/],
    [{ scopes: [] }, /"ci" needs its SHA-256/],
    [null, /"ci" needs its SHA-256/],
  ] as const)
    assert.throws(() => keysIn({ ci: value }, "keys.json"), sentence);
  assert.throws(() => keysIn([], "keys.json"), /must be an object of name/);
});
