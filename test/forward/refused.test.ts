// An author's refusal may have any code, also one of Troupe's own. It is an outcome like any other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, refuse } from "troupe";
import * as z from "zod";
import { ENGINES } from "./engines.ts";

const stock = actor("stock", {
  description: "Takes orders back.",
  per: "link",
  autoStart: true,
  state: z.object({}),
  messages: { reserve: { run: () => refuse("The customer has cancelled.", { code: "CANCELLED" }) } },
});

const order = actor("order", {
  description: "Counts its attempts.",
  per: "link",
  autoStart: true,
  state: z.object({ attempts: z.number().default(0) }),
  messages: {
    place: {
      run({ state, forward }) {
        state.attempts += 1;
        return forward(stock.at("main").reserve());
      },
    },
  },
});

for (const { name, open } of ENGINES)
  test(`C4 ${name}: a refusal of an author with the code CANCELLED is remembered for its key`, async () => {
    await using place = await open([stock, order]);
    const call = order.at("one").place();
    const first = await place.call(call, { key: "k" });
    assert.deepEqual(first, { refused: { code: "CANCELLED", message: "The customer has cancelled." } });
    assert.deepEqual(await place.call(call, { key: "k" }), first);
    assert.deepEqual(await place.state(order.id("one")), { attempts: 1 });
  });
