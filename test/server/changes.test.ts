// Registries that change while official clients are connected, and registries combined with actors and services.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { actor } from "troupe";
import { fromAgenticService } from "troupe/agentic";
import { LocalEngine } from "troupe/engine";
import { audio, content, contents, createServer, embeddedResource, failure, image, resourceLink, type Server } from "troupe/server";
import { cast, prefix } from "troupe/source";
import { memoryStore } from "troupe/store";
import * as z from "zod";
import { lamp } from "../../src/bridges/embed/lamp.fixture.ts";
import { until } from "../../src/testing/index.ts";
import { CLIENTS, connect, type Which } from "../clients.ts";

const connected = (server: Server, which: Which) =>
  connect({ http: "http://localhost/mcp" }, which, { fetch: (url, init) => server.fetch(new Request(url, init)) });

const methods = ["notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed"];

for (const which of CLIENTS)
  describe(`the official client ${which.sdk}, ${which.era}`, () => {
    test("C8 is notified of each list that changed, and of the resource it subscribed to", async () => {
      await using server = createServer("s", "1");
      const undo = server.tools.register({ name: "a" }, () => "a");
      server.prompts.register({ name: "p" }, () => "p");
      server.resources.register({ name: "r", uri: "x://r" }, () => "r");
      await using client = await connected(server, which);
      if (which.era === "modern")
        await client.listen({
          toolsListChanged: true,
          promptsListChanged: true,
          resourcesListChanged: true,
          resourceSubscriptions: ["x://r"],
        });
      else await client.subscribe("x://r");
      const heard = (method: string): boolean => client.heard.some((one) => one.method === method);
      // The standalone stream of a legacy client opens asynchronously.
      await until("the client listens", () => {
        server.resources.changed("r");
        return heard("notifications/resources/updated");
      });
      undo();
      server.prompts.register({ name: "q" }, () => "q");
      server.resources.register({ name: "t", uri: "x://{id}" }, ({ args: { id } }) => id);
      await until("all three have been notified", () => methods.every(heard));
      assert.deepEqual(await client.tools(), []);
      assert.deepEqual(await client.prompts(), ["p", "q"]);
      assert.deepEqual(await client.templates(), ["x://{id}"]);
    });

    test("C8 is notified of a subscribed URI after another resource took it over", async () => {
      await using server = createServer("s", "1");
      server.resources.register({ name: "old", uri: "x://r" }, () => "old");
      await using client = await connected(server, which);
      if (which.era === "modern") await client.listen({ resourceSubscriptions: ["x://r"] });
      else await client.subscribe("x://r");
      const updates = (): number => client.heard.filter(({ method }) => method === "notifications/resources/updated").length;
      await until("the client listens", () => {
        server.resources.changed("old");
        return updates() > 0;
      });
      server.resources.unregister("old");
      server.resources.register({ name: "new", uri: "x://r" }, () => "new");
      const before = updates();
      // The first notification is for the new resource itself.
      await until("the client hears of it", () => {
        server.resources.changed("new");
        return updates() > before + 1;
      });
    });

    test("receives every kind of content", async () => {
      await using server = createServer("s", "1");
      const bytes = new Uint8Array([1, 2, 3]);
      server.tools.register({ name: "all", output: z.object({ n: z.number() }) }, () =>
        content(
          [
            "text",
            image(bytes, "image/png"),
            audio(bytes, "audio/wav"),
            resourceLink({ uri: "x://a", name: "a" }),
            embeddedResource({ uri: "x://b", text: "b" }),
          ],
          { n: 1 },
        ),
      );
      server.tools.register({ name: "fails" }, () => failure("It failed."));
      server.resources.register({ name: "both", uri: "x://both" }, () =>
        contents([
          { uri: "x://both/1", mimeType: "text/plain", text: "one" },
          { uri: "x://both/2", blob: bytes },
        ]),
      );
      await using client = await connected(server, which);
      const all = await client.call("all");
      assert.deepEqual([all.text, all.structured, all.isError], ["text", { n: 1 }, false]);
      const fails = await client.call("fails");
      assert.deepEqual([fails.text, fails.isError], ["It failed.", true]);
      assert.equal(await client.read("x://both"), "one");
      const received = JSON.stringify(client.frames);
      for (const part of [
        '"type":"image","data":"AQID"',
        '"type":"audio"',
        '"type":"resource_link"',
        '"uri":"x://b","text":"b"',
        '"blob":"AQID"',
      ])
        assert.ok(received.includes(part), part);
    });

    test("lists actors and services alongside a registry's tools", async () => {
      const tally = actor("tally", {
        description: "Counts.",
        per: "shared",
        state: z.object({ n: z.number().default(0) }),
        tools: {
          count: {
            description: "Count.",
            run({ state }) {
              state.n += 1;
              return state.n;
            },
          },
        },
      });
      const service = lamp();
      await using engine = await LocalEngine.start({ store: memoryStore(), kinds: [tally] });
      const light = fromAgenticService(service, { name: "lamp" });
      await using server = createServer("s", "1", { sources: [cast({ engine, kinds: [tally] }), prefix("lamp", light)] });
      server.tools.register({ name: "hello" }, () => "hello");
      await using client = await connected(server, which);
      assert.deepEqual((await client.tools()).map(({ name }) => name).toSorted(), ["count", "hello", "lamp__switch_on"]);
      assert.equal((await client.call("count")).text, "1");
      assert.equal((await client.call("hello")).text, "hello");
      await client.call("lamp__switch_on");
      assert.equal(service.isOn(), true);
      light[Symbol.dispose]();
    });
  });

test("a tool that needs a scope is refused without it, with a challenge, and served with it", async () => {
  await using server = createServer("s", "1");
  server.tools.register({ name: "wipe", scopes: ["admin"] }, ({ viewer }) => `Wiped by ${viewer.principal ?? "anonymous"}.`);
  const call = (scopes: readonly string[]): Promise<Response> =>
    server.fetchAs(
      { principal: "ana", scopes },
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/call",
          "mcp-name": "wipe",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: {
            name: "wipe",
            arguments: {},
            _meta: {
              "io.modelcontextprotocol/protocolVersion": "2026-07-28",
              "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
              "io.modelcontextprotocol/clientCapabilities": {},
            },
          },
        }),
      }),
    );
  const refused = await call([]);
  assert.equal(refused.status, 403);
  assert.match(refused.headers.get("www-authenticate") ?? "", /insufficient_scope.*scope="admin"/);
  assert.match(await (await call(["admin"])).text(), /Wiped by ana\./);
});
