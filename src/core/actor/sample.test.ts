import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../contract/index.ts";
import { roots, sample } from "./index.ts";

const question = sample({ messages: [{ role: "user", content: { type: "text", text: "Well?" } }], maxTokens: 9, temperature: 0 });
const text = (said: string): Json => ({ type: "text", text: said });

test("the model's answer is as it came, typed, with its text beside it", () => {
  assert.equal(question.request.params["temperature"], 0);
  const one = question.read({ role: "assistant", model: "m", content: text("Yes."), stopReason: "endTurn", _meta: { n: 1 } });
  const typed: { readonly text: string; readonly model: string; readonly stopReason?: string } = one;
  assert.deepEqual(typed, {
    role: "assistant",
    model: "m",
    content: text("Yes."),
    stopReason: "endTurn",
    _meta: { n: 1 },
    text: "Yes.",
  });
  const image = { type: "image", data: "", mimeType: "image/png" };
  assert.equal(question.read({ role: "assistant", model: "m", content: [text("a"), image, text("b")], text: "no" }).text, "a\nb");
  assert.equal(question.read({ role: "assistant", model: "m", content: image }).text, "");
});

test("the folders are as they came, typed", () => {
  const given = roots().read({ roots: [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }] });
  const typed: readonly { readonly uri: string; readonly name?: string }[] = given.roots;
  assert.deepEqual(typed, [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }]);
});

test("what is no such answer is refused, not handed on", () => {
  const answer = { role: "assistant", model: "m", content: text("Yes.") };
  for (const wrong of [
    null,
    [],
    {},
    { ...answer, role: "system" },
    { ...answer, model: 5 },
    { ...answer, content: "Yes." },
    { ...answer, content: ["Yes."] },
    { ...answer, stopReason: 1 },
  ])
    assert.throws(() => question.read(wrong), { code: "INVALID", message: /no sampling result/ });
  for (const wrong of [null, {}, { roots: {} }, { roots: [{}] }, { roots: [{ uri: 1 }] }, { roots: [{ uri: "file:///a", name: 1 }] }])
    assert.throws(() => roots().read(wrong), { code: "INVALID", message: /no list of roots/ });
});
