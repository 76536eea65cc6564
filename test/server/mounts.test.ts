// A server inside an application: Hono, Express, Fastify, plain node:http and bare fetch, driven by the official clients.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { demo } from "../../examples/server/index.ts";
import { CLIENTS, connect } from "../clients.ts";
import { MOUNTS } from "./mounted.ts";
import { callerOf } from "./progress.ts";

for (const [name, mount] of Object.entries(MOUNTS))
  describe(`mounted with ${name}`, () => {
    for (const which of CLIENTS) {
      const who = `the official client ${which.sdk}, ${which.era}`;

      test(`${who} lists, calls, reads and prompts #apptheory.transport.post #server.frameworks`, async () => {
        await using server = demo(async () => undefined);
        await using mounted = await mount(server);
        const { fetch } = mounted;
        await using client = await connect({ http: mounted.url }, which, fetch === undefined ? {} : { fetch });
        assert.deepEqual(
          (await client.tools()).map((tool) => tool.name),
          ["echo", "long_task", "area", "divide", "draw"],
        );
        assert.equal((await client.call("echo", { message: "hi" })).text, "hi");
        assert.deepEqual((await client.call("area", { width: 2, height: 3 })).structured, { area: 6 });
        const wrong = await client.call("echo", {});
        assert.ok(wrong.isError && wrong.text.includes("message"), wrong.text);
        assert.equal(await client.read("file://hello.txt"), "hello world");
        assert.equal(await client.read("notes://second"), "The note second.");
        assert.equal(await client.prompt("greet", { name: "Ana" }), "hello Ana");
        assert.equal(client.instructions, "Ask for an echo.");
      });

      test(`${who} receives what a tool emits while it runs #server.frameworks`, { timeout: 20_000 }, async () => {
        const seen = Promise.withResolvers<void>();
        await using server = demo(() => seen.promise);
        await using mounted = await mount(server);
        const caller = await callerOf(which, mounted.url, mounted.fetch);
        const steps: (string | undefined)[] = [];
        const result = await caller.call("long_task", (step) => {
          steps.push(step);
          // The tool goes on only once its client has been notified of the start.
          seen.resolve();
        });
        assert.deepEqual(steps, ['{"status":"started"}', '{"status":"done"}']);
        assert.deepEqual(result, [{ type: "text", text: "ok" }]);
        await caller.close();
      });
    }
  });
