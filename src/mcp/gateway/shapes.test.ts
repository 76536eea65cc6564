import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BLOB, CONTENT, type JsonObject, type Json } from "../../core/contract/index.ts";
import { type Entry, listed } from "../source/index.ts";
import { promptMembers, resourceMembers, shapeBlock, toolMembers } from "./result-shapes.ts";
import { shapeEntry, Pages } from "./list-pages.ts";
import { canOf } from "./envelope.ts";
import { questionsOf, shapeQuestion } from "./question-shapes.ts";
import { has, LEGACY_REVISIONS, MODERN_REVISIONS, type Revision } from "./revision.ts";

const ALL: readonly Revision[] = [...LEGACY_REVISIONS, ...MODERN_REVISIONS];
const read = (members: string): JsonObject => JSON.parse(`{${members}}`);

const contentsOf = (value: Json, definition: JsonObject = {}): unknown =>
  read(resourceMembers(value, "a:b", definition, "2025-11-25"))["contents"];
const promptOf = (value: Json, definition: JsonObject = {}): JsonObject => read(promptMembers(value, definition, "2025-11-25"));
const offers = (
  count: number,
  from = 0,
): { readonly name: string; readonly definition: JsonObject; readonly action: string; readonly readOnly: boolean }[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `t${at + from}`,
    definition: { inputSchema: { type: "object" } },
    action: "t",
    readOnly: true,
  }));
const declared = (capabilities: JsonObject, modes: boolean): readonly string[] =>
  canOf(capabilities, { elicitation: true, modes, samplingTools: modes });

const lists = (count: number, from = 0): ReturnType<typeof listed> =>
  listed({ catalogue: { tools: offers(count, from), resources: [], prompts: [] }, off: {} }, "static");

const tool = {
  name: "t",
  title: "T",
  description: "d",
  inputSchema: { type: "object" },
  outputSchema: { type: "object" },
  annotations: { readOnlyHint: true },
  icons: [{ src: "data:," }],
  _meta: { "a/b": 1 },
  inner: "never sent",
};

describe("a definition", () => {
  test("has the members of each revision, and none that MCP does not have #gateway.legacy", () => {
    const members = (revision: Revision): string =>
      Object.keys(shapeEntry("tools", tool, revision))
        .toSorted()
        .join(" ");
    assert.deepEqual(ALL.map(members), [
      "description inputSchema name",
      "annotations description inputSchema name",
      "_meta annotations description inputSchema name outputSchema title",
      "_meta annotations description icons inputSchema name outputSchema title",
      "_meta annotations description icons inputSchema name outputSchema title",
    ]);
    assert.deepEqual(shapeEntry("tools", tool, "2025-03-26")["annotations"], { title: "T", readOnlyHint: true });
  });

  test("has an output schema other than an object's only since 2026-07-28", () => {
    const listOut = { name: "l", outputSchema: { type: "array" }, inputSchema: { properties: {} } };
    assert.equal(shapeEntry("tools", listOut, "2025-11-25")["outputSchema"], undefined);
    assert.deepEqual(shapeEntry("tools", listOut, "2026-07-28")["outputSchema"], { type: "array" });
    assert.deepEqual(shapeEntry("tools", listOut, "2026-07-28")["inputSchema"], { properties: {}, type: "object" });
    assert.deepEqual(shapeEntry("tools", { name: "n" }, "2024-11-05")["inputSchema"], { type: "object" });
  });

  test("has objects in place of boolean property schemas, which older clients refuse", () => {
    const properties: JsonObject = JSON.parse('{ "a": true, "b": false, "c": { "type": "string" }, "__proto__": true }');
    const own = { name: "n", inputSchema: { type: "object", properties }, outputSchema: { type: "object", properties: { a: true } } };
    const shaped = shapeEntry("tools", own, "2025-11-25");
    const objects = '{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"type":"string"},"__proto__":{}}}';
    assert.equal(JSON.stringify(shaped["inputSchema"]), objects);
    assert.deepEqual(shaped["outputSchema"], { type: "object", properties: { a: {} } });
  });

  test("of a prompt or resource omits titles and newer members in older revisions", () => {
    const prompt = { name: "p", title: "P", arguments: [{ name: "a", title: "A" }] };
    assert.deepEqual(shapeEntry("prompts", prompt, "2025-03-26"), { name: "p", arguments: [{ name: "a" }] });
    const resource = { name: "r", uri: "a:b", title: "R", size: 3, annotations: { priority: 1, lastModified: "2025-01-01" } };
    assert.deepEqual(shapeEntry("resources", resource, "2024-11-05"), { name: "r", uri: "a:b", size: 3, annotations: { priority: 1 } });
    assert.deepEqual(shapeEntry("resources", resource, "2025-06-18"), resource);
  });
});

describe("a domain value", () => {
  test("becomes a tool's result: text, and structured content if the revision has it #gateway.tools #spec.8.content", () => {
    const cases: readonly [Json, JsonObject, JsonObject | undefined][] = [
      ["hi", { content: [{ type: "text", text: "hi" }] }, undefined],
      [null, { content: [{ type: "text", text: "Done." }] }, undefined],
      [{ a: 1 }, { content: [{ type: "text", text: '{"a":1}' }], structuredContent: { a: 1 } }, undefined],
      [[1, 2], { content: [{ type: "text", text: "[1,2]" }] }, { structuredContent: [1, 2] }],
      [5, { content: [{ type: "text", text: "5" }] }, { structuredContent: 5 }],
      [-1e21, { content: [{ type: "text", text: "-1e+21" }] }, { structuredContent: -1e21 }],
      [false, { content: [{ type: "text", text: "false" }] }, { structuredContent: false }],
    ];
    for (const [value, legacy, more] of cases) {
      assert.deepEqual(read(toolMembers(value, {}, "2025-11-25")), legacy);
      assert.deepEqual(read(toolMembers(value, {}, "2026-07-28")), { ...legacy, ...more });
      const { structuredContent: _, ...plain } = legacy;
      assert.deepEqual(read(toolMembers(value, {}, "2025-03-26")), plain);
    }
    assert.deepEqual(read(toolMembers("hi", { outputSchema: { type: "string" } }, "2026-07-28"))["structuredContent"], "hi");
    const nothing = [{ type: "text", text: "null" }];
    assert.deepEqual(read(toolMembers(null, { outputSchema: {} }, "2026-07-28")), { content: nothing, structuredContent: null });
    assert.deepEqual(read(toolMembers(null, { outputSchema: {} }, "2025-11-25")), { content: nothing });
    assert.deepEqual(read(toolMembers(null, { annotations: { readOnlyHint: true } }, "2026-07-28")), { content: nothing });
  });

  test("that is content is sent as it is, and blocks unknown to a revision as text", () => {
    const blocks = [
      { type: "text", text: "a", _meta: { x: 1 } },
      { type: "audio", data: "AA==", mimeType: "audio/wav" },
      { type: "resource_link", uri: "a:b", name: "n" },
    ];
    const value = { [CONTENT]: blocks, structured: { a: 1 } };
    assert.deepEqual(read(toolMembers(value, {}, "2025-06-18")), { content: blocks, structuredContent: { a: 1 } });
    assert.deepEqual(read(toolMembers(value, {}, "2024-11-05")), {
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "[audio audio/wav]" },
        { type: "text", text: "n: a:b" },
      ],
    });
    assert.deepEqual(shapeBlock("bare", "2025-06-18"), { type: "text", text: "bare" });
  });

  test("becomes a resource's content: text, bytes or JSON #gateway.resources #spec.4.reading", () => {
    assert.deepEqual(contentsOf("hi", { mimeType: "text/plain" }), [{ uri: "a:b", mimeType: "text/plain", text: "hi" }]);
    assert.deepEqual(contentsOf({ [BLOB]: "AA==" }, { mimeType: "image/png" }), [{ uri: "a:b", mimeType: "image/png", blob: "AA==" }]);
    assert.deepEqual(contentsOf({ a: 1 }), [{ uri: "a:b", mimeType: "application/json", text: '{"a":1}' }]);
    assert.deepEqual(contentsOf(null), [{ uri: "a:b", mimeType: "application/json", text: "null" }]);
    assert.deepEqual(
      contentsOf({
        [CONTENT]: [
          { type: "text", text: "x" },
          { type: "image", data: "AA==", mimeType: "image/png" },
        ],
      }),
      [
        { uri: "a:b", text: "x" },
        { uri: "a:b", mimeType: "image/png", blob: "AA==" },
      ],
    );
    const index = { [CONTENT]: [{ type: "text", text: "{}", mimeType: "application/json" }] };
    assert.deepEqual(contentsOf(index, { mimeType: "image/png" }), [{ uri: "a:b", mimeType: "application/json", text: "{}" }]);
  });

  test("becomes a prompt's messages #gateway.prompts #spec.6.trust.prompts", () => {
    assert.deepEqual(promptOf("do", { description: "D" }), {
      description: "D",
      messages: [{ role: "user", content: { type: "text", text: "do" } }],
    });
    assert.deepEqual(promptOf({ description: "E", messages: [{ role: "assistant", content: "hm" }] }, { description: "D" }), {
      description: "E",
      messages: [{ role: "assistant", content: { type: "text", text: "hm" } }],
    });
    assert.deepEqual(promptOf(null), { messages: [] });
  });
});

test("pages are cut once, and their opaque cursors are valid for that list only #gateway.pages #spec.7.performance.cache", () => {
  const pages = new Pages(3, true);
  const { tools } = lists(7);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = pages.page("tools", tools, "2025-11-25", cursor);
    assert.equal(pages.page("tools", tools, "2025-11-25", cursor), page, "not made again");
    const { tools: here, nextCursor } = JSON.parse(`{${page.text}}`);
    seen.push(...here.map((one: JsonObject) => one["name"]));
    cursor = nextCursor;
  } while (cursor !== undefined);
  assert.deepEqual(seen, ["t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
  const second = JSON.parse(`{${pages.page("tools", tools, "2025-11-25", undefined).text}}`).nextCursor;
  assert.throws(() => pages.page("tools", lists(7, 1).tools, "2025-11-25", second), /start again/);
  assert.equal(new Pages(3, true).page("tools", lists(7).tools, "2025-11-25", second).cursor, second, "another process cuts alike");
  assert.equal(pages.page("prompts", lists(1).prompts, "2025-11-25", undefined).text, '"prompts":[]');
});

test("a list that follows the state continues after the last entry read", () => {
  const pages = new Pages(2, true);
  const entries = (...names: readonly string[]): readonly Entry[] => names.map((name) => ({ name, uri: `n://${name}` }));
  const turned = (of: readonly Entry[], cursor?: string): { readonly names: readonly string[]; readonly next: string | undefined } => {
    const { resources, nextCursor } = JSON.parse(`{${pages.page("resources", of, "2025-11-25", cursor, true).text}}`);
    return { names: resources.map((one: JsonObject) => one["name"]), next: nextCursor };
  };
  const first = turned(entries("a", "b", "c", "d", "e"));
  assert.deepEqual(first.names, ["a", "b"]);
  assert.deepEqual(turned(entries("a", "b", "c", "d", "e"), first.next).names, ["c", "d"]);
  const second = turned(entries("new", "b", "c", "d", "e", "f"), first.next);
  assert.deepEqual(second.names, ["c", "d"]);
  const third = turned(entries("b", "d", "e", "f", "g"), second.next);
  assert.deepEqual(third.names, ["e", "f"]);
  assert.deepEqual(turned(entries("f", "g"), third.next), { names: ["g"], next: undefined });
  assert.deepEqual(turned(entries("g", "f"), third.next), { names: [], next: undefined });
  assert.throws(() => turned(entries("a", "g"), third.next), /start again/);
  for (const cursor of ["", ".", "after.", `${first.next}x`, "n://a"])
    assert.throws(() => turned(entries("a", "b", "c"), cursor), /start again/);
});

test("the questions a client supports depend on its capabilities and its revision", () => {
  assert.deepEqual(declared({ elicitation: {}, sampling: {}, roots: {} }, true), ["elicitation", "sampling", "roots"]);
  assert.deepEqual(declared({ elicitation: { url: {} }, sampling: { tools: {} } }, true), [
    "elicitation.url",
    "sampling",
    "sampling.tools",
  ]);
  assert.deepEqual(declared({ elicitation: { url: {} }, sampling: { tools: {} } }, false), ["elicitation", "sampling"]);
  assert.deepEqual(canOf({ elicitation: {} }, { elicitation: false, modes: false, samplingTools: false }), []);
  assert.ok(!has("2025-03-26", "elicitation") && has("2025-06-18", "elicitation"));
});

test("a question has the parameters of each revision", () => {
  const [question] = questionsOf({
    q: { method: "elicitation/create", params: { mode: "url", url: "https://a.example", message: "m" } },
  }).values();
  assert.ok(question);
  assert.equal(question.needs, "elicitation.url");
  assert.deepEqual(
    shapeQuestion(question, "2025-11-25", () => "id"),
    { mode: "url", url: "https://a.example", message: "m", elicitationId: "id" },
  );
  assert.deepEqual(
    shapeQuestion(question, "2026-07-28", () => "id"),
    { mode: "url", url: "https://a.example", message: "m" },
  );
  const [form] = questionsOf({ q: { method: "elicitation/create", params: { mode: "form", message: "m" } } }).values();
  assert.ok(form);
  assert.deepEqual(
    shapeQuestion(form, "2025-06-18", () => "id"),
    { message: "m" },
  );
  assert.throws(() => questionsOf({ q: { method: "tools/call" } }), /no request/);
});

test("a form has the choices of each revision, and is not sent if it has none", () => {
  const formField = (field: Json, revision: Revision): Json | undefined => {
    const params = { message: "m", requestedSchema: { type: "object", properties: { f: field }, required: ["f"] } };
    const [question] = questionsOf({ q: { method: "elicitation/create", params } }).values();
    assert.ok(question);
    const { requestedSchema } = shapeQuestion(question, revision, () => "id");
    return Object(requestedSchema)["properties"]["f"];
  };
  const titled = {
    type: "string",
    title: "T",
    oneOf: [
      { const: "a", title: "A" },
      { const: "b", title: "B" },
    ],
  };
  assert.deepEqual(formField(titled, "2025-06-18"), { type: "string", title: "T", enum: ["a", "b"], enumNames: ["A", "B"] });
  for (const revision of ["2025-11-25", "2026-07-28"] as const) assert.deepEqual(formField(titled, revision), titled);
  const several = { type: "array", items: { type: "string", enum: ["a", "b"] } };
  assert.throws(() => formField(several, "2025-06-18"), { kind: "CAPABILITY", message: /a list \(f\), .*newer client/ });
  assert.deepEqual(formField(several, "2025-11-25"), several);
});
