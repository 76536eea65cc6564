import assert from "node:assert/strict";
import { EngineError, StoreError } from "./errors.ts";
import { invalidMessageReply, unserialisableError } from "./validate.ts";
import { test } from "node:test";

const crash = new TypeError("no");
const odd = (value: unknown) => Object(value);

test("invalidMessageReply names the path of what cannot be serialised, and nothing else", () => {
  const codeOf = (args: unknown): string | undefined => invalidMessageReply(crash, { args: odd(args) })?.refused.message;
  assert.equal(codeOf({ a: "whole", b: [undefined, new Date(0), Number.NaN] }), undefined);
  assert.match(codeOf({ a: [{ b: 1n }] }) ?? "", /^Invalid arguments: a\.0\.b: is a BigInt/);
  assert.match(codeOf({ ["x".repeat(1_000)]: "\ud800" }) ?? "", /^Invalid arguments: x{195}…: holds half a character/);
  const ring: { self?: unknown } = {};
  ring.self = ring;
  assert.match(invalidMessageReply(crash, { args: "\ud800" })?.refused.message ?? "", /^Invalid arguments: holds half a character/);
  assert.match(codeOf(ring) ?? "", /nested too deep, or holds itself/);
  let shared: unknown = "whole";
  for (let level = 0; level < 60; level += 1) shared = [shared, shared];
  assert.equal(codeOf(shared), undefined);
});

test("invalidMessageReply ignores errors that do not come from a behaviour", () => {
  const message = { args: "\ud800" };
  assert.equal(invalidMessageReply(new StoreError("STORE_FULL", "full"), message), undefined);
  assert.equal(invalidMessageReply(new EngineError("ACTOR_FAILED", "failed"), message), undefined);
  assert.ok(invalidMessageReply(new EngineError("STATE_NOT_JSON", "no"), message));
});

test("invalidMessageReply covers the members besides the arguments", () => {
  assert.equal(unserialisableError("a/b", { args: null, trace: { traceparent: "00-1-2-01" } }), undefined);
  const error = unserialisableError("a/b", { args: null, viewer: odd({ scopes: [], principal: 1n }) });
  assert.equal(error?.code, "BAD_TURN");
  assert.match(error?.message ?? "", /a\/b is no JSON: viewer\.principal is a BigInt: pass its text\.$/);
});
