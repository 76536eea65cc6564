// A resource may declare which members of the state it reads. Its subscribers are notified only of changes to those.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import { testServer } from "../../src/testing/index.ts";

const board = actor("board", {
  description: "A board and its talk.",
  state: z.object({ cells: z.array(z.string()).default([]), said: z.int().default(0) }),
  tools: {
    put: { description: "Puts.", input: z.object({ cell: z.string() }), run: ({ state, args }) => void state.cells.push(args.cell) },
    say: { description: "Says.", run: ({ state }) => void (state.said += 1) },
  },
  resources: {
    cells: { uri: "board://cells", reads: ["cells"], view: ({ state: given }) => JSON.stringify(given) },
    talk: { uri: "board://talk", view: ({ state: { said } }) => `${said}` },
  },
});

for (const era of ["legacy", "modern"] as const)
  test(`C8 a subscriber is notified only of changes to what the resource reads (${era})`, async () => {
    await using server = await testServer([board]);
    const client = server.client({ era });
    await client.callTool("put", { cell: "first" });
    for (const uri of ["board://cells", "board://talk"]) await client.subscribe(uri);
    const updated = (): readonly unknown[] =>
      client.notifications.all.filter(({ method }) => method === "notifications/resources/updated").map(({ params }) => params["uri"]);
    await client.callTool("say");
    await client.notifications.first(({ params }) => params["uri"] === "board://talk");
    assert.deepEqual(updated(), ["board://talk"]);
    await client.callTool("put", { cell: "second" });
    await client.notifications.first(({ params }) => params["uri"] === "board://cells");
    const { contents } = await client.readResource("board://cells");
    assert.deepEqual(contents, [{ uri: "board://cells", text: '{"cells":["first","second"]}' }]);
  });

test("an invalid list of names is refused with advice", () => {
  const wrong = (reads: readonly never[]) => () =>
    actor("a", { description: "", initial: () => ({ n: 1 }), resources: { r: { uri: "a://r", reads, view: () => "" } } });
  assert.throws(wrong([]), { code: "BAD_DEFINITION", message: /resources\/r: `reads` names members of the state/ });
});
