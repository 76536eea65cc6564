import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Bag, Offer } from "../contract/index.ts";
import { complaintAbout } from "./arguments.ts";

const taking = (inputSchema: Bag): Offer => ({
  name: "it",
  action: "it",
  readOnly: false,
  definition: { name: "it", inputSchema },
});

describe("a tool's arguments", () => {
  const node = {
    type: "object",
    properties: { name: { type: "string" }, kids: { type: "array", items: { $ref: "#" } } },
    required: ["name"],
  };

  for (const [dialect, schema] of [
    ["2020-12", node],
    ["draft-07", { ...node, $schema: "http://json-schema.org/draft-07/schema#" }],
  ] as const)
    test(`fit a schema that refers to itself, in ${dialect}`, () => {
      const offer = taking(schema);
      assert.equal(complaintAbout(offer, { name: "a", kids: [{ name: "b", kids: [] }] }), undefined);
      assert.match(complaintAbout(offer, { name: "a", kids: [{ name: "b", kids: [{}] }] }) ?? "", /kids\.0\.kids\.0 .*'name'/);
    });

  test("are each held to their own tool's schema, though two have one `$id`", () => {
    const [text, number] = ["string", "number"].map((type) =>
      taking({ $id: "https://example.com/one", type: "object", properties: { it: { type } } }),
    );
    assert.ok(text !== undefined && number !== undefined);
    assert.equal(complaintAbout(text, { it: "a" }), undefined);
    assert.equal(complaintAbout(number, { it: 1 }), undefined);
    assert.match(complaintAbout(number, { it: "a" }) ?? "", /it must be number/);
  });

  test("fit no schema that refers to another tool's", () => {
    complaintAbout(taking({ $id: "https://example.com/other", type: "object" }), {});
    assert.match(complaintAbout(taking({ $ref: "https://example.com/other" }), {}) ?? "", /cannot be used .*its author/);
  });
});
