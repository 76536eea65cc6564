// A server inside an application: Hono and bare fetch, plain node:http, Express after its body parser, a body parsed by somebody else; driven by the official clients.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { text as bodyOf } from "node:stream/consumers";
import { describe, test } from "node:test";
import type { Server } from "troupe/server";
import { demo } from "../../examples/server/index.ts";
import { underHono, withExpress, withHono, withNode, withParsed } from "../../examples/server/mounts.ts";
import { CLIENTS, connect } from "../clients.ts";
import { callerOf } from "./progress.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

interface Mounted extends AsyncDisposable {
  readonly url: string;
  readonly fetch?: Fetch;
}

const listening = async (http: HttpServer): Promise<Mounted> => {
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => {
        http.close(resolve);
      });
    },
  };
};

const inProcess = (fetch: (request: Request) => Response | Promise<Response>, path = "/mcp"): Mounted => ({
  url: `http://localhost${path}`,
  fetch: async (url, init) => fetch(new Request(url, init)),
  async [Symbol.asyncDispose]() {},
});

const MOUNTS: Readonly<Record<string, (server: Server) => Mounted | Promise<Mounted>>> = {
  "bare fetch": (server) => inProcess(server.fetch),
  Hono: (server) => inProcess((request) => withHono(server).fetch(request)),
  "Hono, under a prefix it takes away": (server) => inProcess((request) => underHono(server).fetch(request), "/tools/mcp"),
  "node:http": (server) => listening(withNode(server)),
  "Express after express.json(), under a prefix it takes away": (server) => listening(createHttp(withExpress(server))),
  "a framework that hands the parsed body on": (server) =>
    listening(
      createHttp((request, response) => {
        const parse = async (): Promise<void> => {
          const body = await bodyOf(request);
          await withParsed(server, { request, response }, body === "" ? undefined : JSON.parse(body));
        };
        void parse();
      }),
    ),
};

for (const [name, mount] of Object.entries(MOUNTS))
  describe(`mounted with ${name}`, () => {
    for (const which of CLIENTS) {
      const who = `the official client ${which.sdk}, ${which.era}`;

      test(`${who} lists, calls, reads and prompts`, async () => {
        await using server = demo(async () => undefined);
        await using mounted = await mount(server);
        const { fetch } = mounted;
        await using client = await connect({ http: mounted.url }, which, fetch === undefined ? {} : { fetch });
        assert.deepEqual(
          (await client.tools()).map((tool) => tool.name),
          ["echo", "long_task", "area", "draw"],
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

      test(`${who} sees what a tool emits while the tool runs`, { timeout: 20_000 }, async () => {
        const seen = Promise.withResolvers<void>();
        await using server = demo(() => seen.promise);
        await using mounted = await mount(server);
        const caller = await callerOf(which, mounted.url, mounted.fetch);
        const steps: (string | undefined)[] = [];
        const result = await caller.call("long_task", (step) => {
          steps.push(step);
          // The tool goes on only now that its client has heard of its start.
          seen.resolve();
        });
        assert.deepEqual(steps, ['{"status":"started"}', '{"status":"done"}']);
        assert.deepEqual(result, [{ type: "text", text: "ok" }]);
        await caller.close();
      });
    }
  });
