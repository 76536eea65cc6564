// A long call without progress becomes an event stream, since proxies and clients give up on a silent response.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createServer } from "troupe/server";
import { SimulatedClock } from "../../src/testing/index.ts";
import { HTTP_SERVERS, type Send } from "../transport/http-servers.ts";
import { envelope, modernHeaders } from "../wire.ts";

const SILENT_MS = 10_000;
const KEEP_ALIVE_MS = 15_000;
const BOTH = "application/json, text/event-stream";

const REQUESTS: Readonly<Record<string, readonly [params: object, name: string]>> = {
  "tools/call": [{ name: "slow", arguments: {} }, "slow"],
  "prompts/get": [{ name: "slow" }, "slow"],
  "resources/read": [{ uri: "slow://one" }, "slow://one"],
  "completion/complete": [{ ref: { type: "ref/resource", uri: "slow://{id}" }, argument: { name: "id", value: "" } }, ""],
};

/** A server whose answers all wait to be released. */
function slowServer() {
  const clock = new SimulatedClock();
  const server = createServer("slow", "1", { clock, handlerMs: 600_000 });
  let begun = Promise.withResolvers<void>();
  let released = Promise.withResolvers<void>();
  const wait = async (): Promise<string> => {
    begun.resolve();
    await released.promise;
    return "done";
  };
  server.tools.register({ name: "slow" }, wait);
  server.tools.register({ name: "fast" }, () => Promise.resolve("done"));
  server.prompts.register({ name: "slow" }, wait);
  server.resources.register({ name: "slow", uri: "slow://{id}", complete: { id: async () => [await wait()] } }, wait);
  return {
    clock,
    server,
    next: () => {
      begun = Promise.withResolvers();
      released = Promise.withResolvers();
      return begun.promise;
    },
    release: () => released.resolve(),
  };
}

type Ask = (method: string, accept?: string) => Promise<Response>;

const ERAS: Readonly<Record<string, (send: Send) => Promise<Ask>>> = {
  "2025-11-25": async (send) => {
    const headers = { accept: BOTH, "content-type": "application/json" };
    const post = (body: object, more: Readonly<Record<string, string>>): Promise<Response> =>
      send("/mcp", { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }) });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const answer = await post({ method: "initialize", params }, {});
    await answer.text();
    const session = { "mcp-session-id": answer.headers.get("mcp-session-id") ?? "" };
    return (method, accept = BOTH) => post({ method, params: REQUESTS[method]?.[0] }, { ...session, accept });
  },
  "2026-07-28":
    async (send) =>
    (method, accept = BOTH) => {
      const [params, name] = REQUESTS[method] ?? [{}, ""];
      return send("/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", accept, ...modernHeaders(method, name === "" ? undefined : name) },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: envelope() } }),
      });
    },
};

for (const [where, place] of Object.entries(HTTP_SERVERS))
  for (const [era, callerFor] of Object.entries(ERAS))
    describe(`a silent call, ${era}, ${where}`, { timeout: 60_000 }, () => {
      for (const method of Object.keys(REQUESTS))
        test(`${method} becomes an event stream with comments after 10 s, and ends with its reply`, async () => {
          const { clock, server, next, release } = slowServer();
          await using _server = server;
          await using at = await place(server);
          const ask = await callerFor(at.send);
          const begun = next();
          const sent = ask(method);
          await begun;
          await clock.advance(SILENT_MS);
          const response = await sent;
          assert.deepEqual([response.status, response.headers.get("content-type")], [200, "text/event-stream"]);
          await clock.advance(KEEP_ALIVE_MS);
          release();
          const text = await response.text();
          assert.match(text, /^: keep-alive$/m);
          const last = text.trimEnd().split("\ndata: ").at(-1) ?? "";
          assert.match(last, /"id":1,"result":.*"done"/);
        });

      test("is answered with JSON if it ends sooner", async () => {
        const { clock, server, next, release } = slowServer();
        await using _server = server;
        await using at = await place(server);
        const ask = await callerFor(at.send);
        const begun = next();
        const sent = ask("tools/call");
        await begun;
        await clock.advance(SILENT_MS / 2);
        release();
        const response = await sent;
        assert.equal(response.headers.get("content-type"), "application/json");
        await response.text();
      });
    });

test("silent calls share one timer, which ends with the last of them", async () => {
  const { clock, server, next, release } = slowServer();
  await using _server = server;
  await using at = await (HTTP_SERVERS["fetch"] ?? assert.fail())(server);
  const ask = await (ERAS["2026-07-28"] ?? assert.fail())(at.send);
  const handlers = clock.pending;
  const begun = next();
  const sent = [ask("tools/call"), ask("tools/call"), ask("tools/call")];
  await begun;
  assert.ok(clock.pending > handlers);
  release();
  for (const one of sent) await (await one).text();
  assert.equal(clock.pending, handlers + 1);
  await clock.advance(SILENT_MS);
  assert.equal(clock.pending, handlers);
});
