// A question behind a forward, for clients of both eras: the client gets it once, and the call goes on with its answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, elicit } from "../../src/core/actor/index.ts";
import type { JsonObject } from "../../src/core/contract/index.ts";
import { testServer } from "../../src/testing/index.ts";
import * as z from "zod";
import { KINDS, shelf } from "./kinds.fixture.ts";

const WORKED = [
  [1, 2, "half"],
  [2, 2, "done"],
];

for (const era of ["legacy", "modern"] as const) {
  test(`a ${era} client answers the question of an actor two forwards away`, async () => {
    await using server = await testServer(KINDS);
    const client = server.client({ era, answers: { elicitation: [{ action: "accept", content: { stars: 5 } }] } });
    const { content } = await client.callTool("rate", { title: "Emma" });
    assert.deepEqual(content, [{ type: "text", text: "5" }]);
    assert.deepEqual((await server.engine.read("shelf/main"))?.state, { free: ["Dune", "Emma"], calls: ["Emma 5"], open: [] });
    assert.deepEqual(server.faults, []);
  });

  test(`a ${era} client answers each question of actors that ask under one name`, async () => {
    const name = z.object({ name: z.string() });
    const named = (answer: { readonly action: string; readonly content?: { readonly name: string } }): string => answer.content?.name ?? "";
    const cellar = actor("cellar", {
      description: "A cellar.",
      per: "shared",
      state: z.object({ fetched: z.array(z.string()).default([]) }),
      tools: {
        fetch: {
          description: "Fetches a bottle.",
          confirm: "Open the cellar?",
          run({ state, ask }) {
            state.fetched.push(named(ask({ name: elicit("Which bottle?", name) }).name));
            return state.fetched;
          },
        },
      },
    });
    const waiter = actor("waiter", {
      description: "A waiter.",
      per: "user",
      state: z.object({}),
      tools: {
        order: {
          description: "Orders a bottle.",
          confirm: "Call the waiter?",
          run({ ask, forward }) {
            ask({ name: elicit("Who are you?", name) });
            return forward(cellar.at("main").tools.fetch());
          },
        },
      },
    });
    await using server = await testServer([waiter, cellar]);
    const answer = (content: JsonObject): JsonObject => ({ action: "accept", content });
    const answers = [answer({ confirm: true }), answer({ name: "Ann" }), answer({ confirm: true }), answer({ name: "Port" })];
    const client = server.client({ era, answers: { elicitation: answers } });
    assert.deepEqual((await client.callTool("order")).content, [{ type: "text", text: '["Port"]' }]);
    assert.deepEqual(
      client.asked.map(({ params }) => params["message"]),
      ["Call the waiter?", "Who are you?", "Open the cellar?", "Which bottle?"],
    );
  });

  test(`a ${era} client gets the progress of an actor two forwards away, from work and from a later turn`, async () => {
    await using server = await testServer(KINDS);
    const client = server.client({ era });
    await client.callTool("dig", {}, { progressToken: "p" });
    const held = client.callTool("hold", {}, { progressToken: "q" });
    await server.clock.advance(1);
    await server.engine.call(shelf.at("main").tell());
    await server.engine.call(shelf.at("main").release());
    assert.deepEqual((await held).content, [{ type: "text", text: "released" }]);
    const steps = (token: string) =>
      client.notifications.all
        .filter(({ method, params }) => method === "notifications/progress" && params["progressToken"] === token)
        .map(({ params: { progress, total, message } }) => [progress, total, message]);
    assert.deepEqual([steps("p"), steps("q")], [WORKED, [[1, 3, "found"]]]);
  });

  test(`a ${era} client gets the refusal of an actor that its call was forwarded to`, async () => {
    await using server = await testServer(KINDS);
    const client = server.client({ era });
    assert.deepEqual((await client.callTool("borrow", { title: "Emma" })).content, [{ type: "text", text: "Emma" }]);
    const { isError, content } = await client.callTool("borrow", { title: "Emma" });
    assert.deepEqual([isError, content], [true, [{ type: "text", text: "Emma is lent." }]]);
  });
}
