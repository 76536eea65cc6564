import assert from "node:assert/strict";
import { test } from "node:test";
import { Chain, Contents } from "../chain/chain.fixture.ts";
import { TheaterChains } from "./theater-chains.ts";

void test("a chain too long to send is not read further, and the error offers pages", async () => {
  const contents = new Contents();
  const chain = new Chain("tally/t1");
  for (let at = 0; at < 300; at += 1) chain.event("add", { text: `${at} ${"x".repeat(16_000)}` }, { count: at });
  let read = 0;
  const engine = {
    async *history() {
      for (const event of chain.events) {
        read += 1;
        yield event;
        await Promise.resolve();
      }
    },
    watch: () => () => undefined,
  };
  await assert.rejects(new TheaterChains(engine, contents).whole({ id: "tally/t1" }), {
    code: "SerializationError",
    message: /33554432 bytes .* after \d+ of them: with `limit` GetActorEvents tells a page .*SubscribeToActor/,
  });
  assert.ok(read > 100 && read < 250, String(read));
  chain.events.splice(50);
  assert.equal((await new TheaterChains(engine, contents).whole({ id: "tally/t1" })).length, 102);
});
