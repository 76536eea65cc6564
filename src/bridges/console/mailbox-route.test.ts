import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { isJsonObject, type Json, REDACTED } from "../../core/contract/index.ts";
import { itemsIn, servedConsole } from "./served.fixture.ts";

test("a mailbox shows the message whose work runs, and those that wait, without secrets", async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const kiln = actor("kiln", {
    description: "A kiln.",
    per: "shared",
    persistence: "memory",
    state: z.object({ fired: z.number().default(0) }),
    tools: {
      fire: {
        description: "Fire it.",
        async work() {
          begin();
          await ended;
        },
      },
      open: {
        description: "Open it.",
        input: z.object({ code: z.string() }),
        secret: ["code"],
        run: ({ state }) => void (state.fired += 1),
      },
    },
  });
  await using server = await servedConsole({ kinds: [kiln] });
  const call = (action: string, args: Json) =>
    server.engine.call({ to: kiln.id("main"), action, args, viewer: { principal: "ann", scopes: [], self: kiln.id("main") } });
  const calls = [call("tools/fire", {})];
  await begun;
  calls.push(call("tools/open", { code: "xyzzy" }), call("tools/open", { code: "plugh" }));
  const mailbox = async () => (await server.client.get("/actors/kiln/main/mailbox")).body;
  const { phase, queued, waiting = null, working } = await mailbox();
  assert.deepEqual([phase, queued, isJsonObject(working) && working["action"]], ["working", 2, "tools/fire"]);
  assert.deepEqual(
    itemsIn({ items: waiting }).map(({ action, args, principal }) => [action, args, principal]),
    [
      ["tools/open", { code: REDACTED }, "ann"],
      ["tools/open", { code: REDACTED }, "ann"],
    ],
  );
  end();
  await Promise.all(calls);
  assert.deepEqual(await mailbox(), { phase: "ready", queued: 0, waiting: [] });
});

test("where nothing runs there are no mailboxes", async () => {
  await using server = await servedConsole({ kinds: [], isOffline: true });
  assert.equal((await server.client.get("/actors/kiln/main/mailbox")).status, 409);
});
