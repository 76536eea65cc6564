// Arguments are validated by the schema library, if one made the schema, and not by the JSON Schema in the list.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { actor, fromJsonSchema } from "troupe/actor";
import { createServer } from "troupe/server";
import { meta } from "troupe/source";
import { testServer, type TestServer, toolText } from "troupe/testing";
import * as z from "zod";

const input = z.object({
  n: z.coerce.number({ error: "n is a number" }),
  word: z.string().min(3, "a word has three letters").default("one"),
  list: z.preprocess((given) => (typeof given === "string" ? given.split(",") : given), z.array(z.string())).optional(),
  marks: z.record(z.string(), z.number()).optional(),
  initial: z.string().min(1).refine(isUpper).optional(),
});

/** Requires at least one letter, although the library calls it for empty strings too. */
function isUpper(text: string): boolean {
  const [first] = text;
  if (first === undefined) throw new TypeError("There is no first letter.");
  return first === first.toUpperCase();
}

const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;

const taker = actor("taker", {
  description: "Takes what its library takes.",
  per: "shared",
  persistence: "memory",
  state: z.object({ n: z.number().default(0) }),
  tools: {
    take: {
      description: "Adds n.",
      input,
      run({ state, args }) {
        state.n += args.n;
        return JSON.stringify(args);
      },
    },
    look: { description: "Reads the sum and what it is given.", input, view: ({ state: { n }, args }) => `${n} ${args.n}` },
    wrapped: { description: "Of a JSON Schema.", input: fromJsonSchema<{ n: number }>(schema), view: () => "ok" },
  },
});

const serverOf = (wires: object) => {
  const server = createServer("s", "1", wires);
  server.tools.register({ name: "take", input }, ({ args }) => JSON.stringify(args));
  server.tools.register({ name: "wrapped", input: fromJsonSchema<{ n: number }>(schema) }, () => "ok");
  return server;
};

const WAYS: Readonly<Record<string, () => Promise<TestServer>>> = {
  "createServer()": () => testServer(serverOf),
  "actor()": () => testServer([taker]),
};

for (const [way, start] of Object.entries(WAYS))
  describe(`invalid arguments of ${way}`, () => {
    for (const era of ["legacy", "modern"] as const)
      test(`${era}: the schema library validates, beyond the visible JSON Schema, with its own messages`, async () => {
        await using tried = await start();
        const client = tried.client({ era });
        assert.equal(toolText(await client.callTool("take", { n: "5", list: "a,b" })), '{"n":5,"word":"one","list":["a","b"]}');
        const wrong = await client.callTool("take", { n: "five", word: "no" });
        assert.equal(wrong["isError"], true);
        assert.equal(toolText(wrong), "Invalid arguments: n: n is a number; word: a word has three letters.");
        const issues = [
          { path: "n", message: "n is a number" },
          { path: "word", message: "a word has three letters" },
        ];
        assert.ok(JSON.stringify(wrong["_meta"]).includes(JSON.stringify({ issues })), JSON.stringify(wrong));
      });

    test("a check that throws on an invalid value is the caller's error", async () => {
      await using tried = await start();
      const client = tried.client();
      assert.match(toolText(await client.callTool("take", { n: 1, initial: "" })), /^Invalid arguments: initial:? must NOT have fewer/);
      assert.equal(toolText(await client.callTool("take", { n: 1, initial: "A" })), '{"n":1,"word":"one","initial":"A"}');
    });

    test("a JSON Schema is validated as such, also if wrapped by fromJsonSchema", async () => {
      await using tried = await start();
      assert.match(toolText(await tried.client().callTool("wrapped", { n: "5" })), /n must be number/);
    });

    test("too many values are validated by the JSON Schema, which reports the first error only", async () => {
      await using tried = await start();
      const list = Array.from({ length: 90_000 }, () => 0);
      const text = toolText(await tried.client().callTool("take", { n: 1, list }));
      assert.match(text, /^Invalid arguments: list\.0 must be string\.$/);
      // The bound counts values, not characters.
      assert.match(toolText(await tried.client().callTool("take", { n: "1", word: "w".repeat(100_000) })), /^\{"n":1,/);
      // Long names are truncated in the error.
      const named = { n: 1, marks: { ["m".repeat(100_000)]: "no number" } };
      assert.ok(JSON.stringify(await tried.client().callTool("take", named)).length < 2_000);
    });
  });

test("arguments of a view are validated in the same way", async () => {
  await using tried = await testServer([taker]);
  const client = tried.client();
  assert.equal(toolText(await client.callTool("look", { n: "7" })), "0 7");
  assert.match(toolText(await client.callTool("look", { n: "x" })), /n: n is a number/);
});

test("arguments behind `act` are validated in the same way", async () => {
  await using server = serverOf({});
  await using tried = await testServer(meta(server.source));
  const client = tried.client();
  assert.match(toolText(await client.callTool("act", { action: "take", arguments: { n: "5" } })), /^\{"n":5,/);
  assert.match(toolText(await client.callTool("act", { action: "take", arguments: { n: "x" } })), /n: n is a number/);
  assert.match(
    toolText(await client.callTool("act", { action: "wrapped", arguments: { n: "x" } })),
    /arguments of wrapped: n must be number/,
  );
});
