import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, refuse } from "../../core/actor/index.ts";
import { assertRefused, assertToolResult, testServer, type TestServer } from "../index.ts";

// What must not compile stands under `@ts-expect-error`: the type checker fails when one of these begins to compile.

const state = z.object({ items: z.array(z.string()).default([]) });

const chest = actor("chest", {
  description: "A chest of one's own.",
  per: "user",
  state,
  tools: {
    put: {
      description: "Puts something in, several times.",
      input: z.object({ item: z.string(), times: z.int().default(1) }),
      output: z.object({ count: z.int() }),
      run({ state: draft, args }) {
        for (let n = 0; n < args.times; n += 1) draft.items.push(args.item);
        return { count: draft.items.length };
      },
    },
    find: { description: "Finds.", input: z.object({ item: z.string().optional() }), view: ({ args }) => args.item ?? "all" },
    shake: { description: "Shakes it.", run: () => refuse("It is too heavy.") },
    schema: { description: "Plain JSON Schema.", input: { type: "object", properties: { a: {} } }, view: ({ args }) => Object.keys(args) },
  },
});
const lock = actor("lock", {
  description: "Behind a link.",
  per: "link",
  state,
  tools: { turn: { description: "Turns.", run: () => "Click." } },
});
const game = actor("game", {
  description: "One for each handle.",
  per: "handle",
  state,
  tools: {
    move: { description: "Moves.", input: z.object({ to: z.string() }), run: ({ args }) => args.to },
    pass: { description: "Passes.", run: () => "Passed." },
  },
});

test("a test client's tools are functions, in both eras", async () => {
  await using server = await testServer([chest]);
  for (const era of ["legacy", "modern"] as const) {
    const { tools } = server.client({ era, principal: era });
    const { structuredContent } = await tools.put({ item: "coin", times: 2 });
    const count: number | undefined = structuredContent?.count;
    assert.equal(count, 2);
    assert.deepEqual({ ...structuredContent, more: true }, { count: 2, more: true });
    assertToolResult(await tools.find(), "all");
    assertToolResult(await tools.find({ item: "coin" }), "coin");
    assertToolResult(await tools.schema({ a: 1 }), /"a"/);
    assertRefused(await tools.shake(), "It is too heavy.");
    const [once, again] = [await tools.put({ item: "x" }, { key: "k" }), await tools.put({ item: "x" }, { key: "k" })];
    assert.deepEqual(once, again);
  }
});

test("calling an unknown tool names the tools that the client sees", async () => {
  await using server = await testServer([chest]);
  const { tools }: { readonly tools: object } = server.client();
  const call = async (name: string): Promise<unknown> => {
    const tool: unknown = Reflect.get(tools, name);
    assert.ok(typeof tool === "function");
    return await tool({ item: "coin" });
  };
  await assert.rejects(call("putt"), { name: "RequestError", message: /\nThe client sees no tool "putt" now\. Did you mean put\?$/u });
  await assert.rejects(call("polish"), {
    name: "RequestError",
    message: /sees no tool "polish" now\. It sees put, find, shake, schema\.$/u,
  });
});

test("a client's tools are not a thenable", async () => {
  await using server = await testServer([chest]);
  const { tools } = server.client();
  assert.equal(await Promise.resolve(tools), tools);
});

test("the tools of handle kinds take the handle, and `kinds` types the tools of any server", async () => {
  await using server: TestServer = await testServer([game]);
  const client = server.client({ kinds: [game] });
  const { handle } = z.object({ handle: z.string() }).parse((await client.callTool("start_game")).structuredContent);
  assertToolResult(await client.tools.move({ handle, to: "e4" }), "e4");
  assertToolResult(await client.tools.pass({ handle }), "Passed.");
});

/** Compiled, never run. */
export const mustNotCompile = async () => {
  await using server = await testServer([chest, lock, game]);
  const { tools } = server.client();
  // @ts-expect-error -- another type
  await tools.put({ item: 1 });
  // @ts-expect-error -- required
  await tools.put();
  // @ts-expect-error -- required
  await tools.put({ times: 2 });
  // @ts-expect-error -- no such argument
  await tools.put({ item: "a", time: 2 });
  // @ts-expect-error -- it has no arguments
  await tools.shake({ item: "a" });
  // @ts-expect-error -- no such tool
  await tools.pull();
  // @ts-expect-error -- only a link reaches it
  await tools.turn();
  // @ts-expect-error -- which game?
  await tools.pass();
  // @ts-expect-error -- its output has no such member
  String((await tools.put({ item: "a" })).structuredContent?.total);
  const unknown: TestServer = server;
  // @ts-expect-error -- nothing is known of its kinds
  await unknown.client().tools.put({ item: "a" });
};
