import assert from "node:assert/strict";
import { checkScopes, missingScopes, scopesOf } from "./internal.ts";
import type { Json } from "./json.ts";
import { test } from "node:test";

const scopesFrom = (scopes: Json) => scopesOf({ _meta: { "troupe/scopes": scopes } });

test("scopesOf returns each scope of an offer once, and none without a list", () => {
  assert.deepEqual(scopesFrom(["admin", "write", "admin"]), ["admin", "write"]);
  for (const none of [scopesFrom([]), scopesOf({}), scopesOf({ _meta: {} }), scopesOf({ _meta: null })]) assert.deepEqual(none, []);
});

const WRONG: readonly Json[] = [
  "admin",
  7,
  null,
  { 0: "admin" },
  [1],
  [["admin"]],
  ["admin", 2],
  [""],
  ["a b"],
  ['a"b'],
  ["ключ"],
  ["a\nb"],
];

test("an invalid list of scopes opens nothing, and checkScopes rejects it", () => {
  for (const wrong of WRONG) {
    const name = JSON.stringify(wrong);
    assert.equal(missingScopes(scopesFrom(wrong), ["admin", "a", "b", "", name]).length, 1, name);
    assert.throws(() => checkScopes({ "troupe/scopes": wrong }, "tools/x"), {
      code: "BAD_DEFINITION",
      message: /^tools\/x: scopes are a list/,
    });
  }
  for (const meta of [undefined, {}, { "troupe/scopes": [] }, { "troupe/scopes": ["a:b/c", "admin"] }]) checkScopes(meta, "tools/x");
});
