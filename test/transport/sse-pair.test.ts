// The deprecated HTTP+SSE transport with the official clients that still support it.
import assert from "node:assert/strict";
import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { describe, test } from "node:test";
import express from "express";
import { actor } from "troupe";
import { LocalEngine } from "troupe/engine";
import { createServer, type Server } from "troupe/server";
import { cast } from "troupe/source";
import { memoryStore } from "troupe/store";
import * as z from "zod";
import { demo } from "../../examples/server/index.ts";
import { underHono } from "../../examples/server/mounts.ts";
import { until } from "../../src/testing/index.ts";
import { troupe } from "../cli/run.ts";
import { CLIENTS, connect, type ClientOptions } from "../clients.ts";
import { serveChild } from "../serve-child.ts";
import { callerOf } from "../server/progress.ts";
import { onLoopback } from "../on-loopback.ts";

interface Mounted extends AsyncDisposable {
  readonly sse: string;
  readonly mcp: string;
  readonly fetch?: ClientOptions["fetch"];
}

const at = (
  origin: string,
  prefix: string,
  more: { readonly fetch?: ClientOptions["fetch"]; readonly end?: () => Promise<void> } = {},
): Mounted => ({
  sse: `${origin}${prefix}/sse`,
  mcp: `${origin}${prefix}`,
  ...(more.fetch === undefined ? {} : { fetch: more.fetch }),
  [Symbol.asyncDispose]: more.end ?? (async () => undefined),
});

const listening = async (http: HttpServer, prefix: string): Promise<Mounted> => {
  const loopback = await onLoopback(http);
  return at(loopback.url, prefix, { end: () => loopback[Symbol.asyncDispose]() });
};

const express_ = (server: Server): HttpServer => {
  const app = express();
  app.use(express.json());
  app.use("/deep/tools", server.node);
  return createHttp(app);
};

const MOUNTS: Readonly<Record<string, (server: Server) => Mounted | Promise<Mounted>>> = {
  async "a listener of its own"(server) {
    const { http } = await server.listen({ http: { sse: true } });
    return at(new URL(http.url).origin, "/mcp");
  },
  async "a listener of its own, by the short path"(server) {
    const { http } = await server.listen({ http: { sse: true } });
    return { ...at(new URL(http.url).origin, "/mcp"), sse: new URL("/sse", http.url).href };
  },
  "bare fetch": (server) => at("http://localhost", "/mcp", { fetch: async (url, init) => server.fetch(new Request(url, init)) }),
  "Hono, under a prefix it takes away": (server) =>
    at("http://localhost", "/tools/mcp", { fetch: async (url, init) => underHono(server).fetch(new Request(url, init)) }),
  "node:http": (server) =>
    listening(
      createHttp((request, response) => void server.node(request, response)),
      "/mcp",
    ),
  "Express after express.json(), under a prefix it takes away": (server) => listening(express_(server), "/deep/tools"),
};

const tally = actor("tally", {
  description: "Counts.",
  per: "shared",
  state: z.object({ n: z.number().default(0) }),
  tools: { count: { description: "Count.", run: ({ state }) => `${(state.n += 1)}` } },
});

for (const [name, mount] of Object.entries(MOUNTS))
  describe(`HTTP+SSE by ${name}`, () => {
    for (const which of CLIENTS)
      test(`serves the official client ${which.sdk}, ${which.era}, together with one of Streamable HTTP`, { timeout: 20_000 }, async () => {
        await using engine = await LocalEngine.start({ store: memoryStore(), kinds: [tally] });
        await using server = createServer("s", "1", { sse: true, sources: [cast({ engine, kinds: [tally] })] });
        server.tools.register({ name: "echo", input: z.object({ message: z.string() }) }, ({ args: { message } }) => message);
        await using mounted = await mount(server);
        const manner = mounted.fetch === undefined ? {} : { fetch: mounted.fetch };
        await using old = await connect({ sse: mounted.sse }, which, manner);
        await using other = await connect({ http: mounted.mcp }, which, manner);
        assert.deepEqual((await old.tools()).map((tool) => tool.name).toSorted(), ["count", "echo"]);
        assert.equal((await old.call("echo", { message: "ž\n\r\n" })).text, "ž\n\r\n");
        assert.deepEqual(
          [(await old.call("count")).text, (await other.call("count")).text, (await old.call("count")).text],
          ["1", "2", "3"],
        );
        if (which.era === "modern") await old.listen({ toolsListChanged: true });
        server.tools.register({ name: "added" }, () => "added");
        await until("it has been notified", () => old.heard.some(({ method }) => method === "notifications/tools/list_changed"));
        assert.equal((await old.call("added")).text, "added");
      });
  });

describe("HTTP+SSE, in both directions", () => {
  for (const which of CLIENTS)
    test(`sends the official client ${which.sdk}, ${which.era}, each step while the tool runs`, { timeout: 20_000 }, async () => {
      const seen = Promise.withResolvers<void>();
      await using server = demo(() => seen.promise);
      const { http } = await server.listen({ http: { sse: true } });
      const caller = await callerOf(which, `${http.url}/sse`);
      const steps: (string | undefined)[] = [];
      const result = await caller.call("long_task", (step) => {
        steps.push(step);
        seen.resolve();
      });
      // These clients skip a step that arrives together with the reply, as the second may.
      assert.deepEqual([steps[0], result], ['{"status":"started"}', [{ type: "text", text: "ok" }]]);
      await caller.close();
    });

  for (const sdk of ["v1", "v2"] as const)
    test(`a MUD is played with ${sdk} over it, and over Streamable HTTP at once`, { timeout: 60_000 }, async () => {
      await using served = await serveChild(["examples/mud", "--http", "127.0.0.1:0", "--sse"]);
      const { http, sse } = served.ready;
      assert.ok(http !== undefined && sse !== undefined);
      const requests: string[] = [];
      const elicit = (message: string) => {
        requests.push(message);
        return { action: "accept", content: { confirm: true } } as const;
      };
      await using ada = await connect({ sse }, { sdk, era: "legacy" }, { elicit });
      await using bob = await connect({ http }, { sdk, era: "legacy" });
      for (const player of [ada, bob]) assert.equal((await player.call("say", { text: "hello" })).isError, false);
      await ada.tools();
      await ada.subscribe("game://room/current");
      for (const direction of ["north", "south"]) assert.equal((await bob.call("move", { direction })).isError, false);
      await until("ada has seen bob", () => ada.heard.some(({ method }) => method === "notifications/resources/updated"));
      assert.equal((await ada.call("pick_up", { item: "torch" })).isError, false);
      await until("ada's tools are others", () => ada.heard.some(({ method }) => method === "notifications/tools/list_changed"));
      for (const direction of ["north", "east", "south"]) assert.equal((await ada.call("move", { direction })).isError, false);
      // The server sends a request, which the client answers by POST.
      const fight = await ada.call("battle");
      assert.ok(!fight.isError && requests.length === 1, `${fight.text} ${requests.join()}`);
    });

  test("the command line serves it only together with HTTP", async () => {
    const ran = await troupe("serve", "examples/counter", "--stdio", "--sse");
    assert.equal(ran.code, 2, ran.stderr);
    assert.match(ran.stderr, /--sse is beside MCP's HTTP: give --http, too\./);
  });
});
