// Closing a server: running requests have a grace period and are then aborted, new ones are refused, idle streams end at once.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test } from "node:test";
import { createServer, type Server } from "troupe/server";
import { until } from "../../src/testing/index.ts";
import { connect } from "../clients.ts";
import { legacyCaller, modernCaller } from "../server/callers.ts";
import { root, serveChild } from "../serve-child.ts";
import { eventReader } from "./event-reader.ts";
import { HTTP_SERVERS, type Send } from "./http-servers.ts";

interface Slow {
  readonly server: Server;
  readonly go: () => void;
  /** How many calls have started. */
  readonly begun: () => number;
  readonly aborted: Promise<void>;
}

/** A tool that waits until it is released, and reports when it is aborted. */
function slow(): Slow {
  const [gate, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let begun = 0;
  const server = createServer("s", "1");
  server.tools.register({ name: "slow" }, async ({ signal }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    begun += 1;
    await gate.promise;
    return "done";
  });
  return { server, go: () => gate.resolve(), begun: () => begun, aborted: aborted.promise };
}

/** The outcome of a request: its status, or that the connection was refused. */
const fate = async (answer: Promise<Response>): Promise<number | "refused" | "cut"> => {
  try {
    const response = await answer;
    await response.text();
    return response.status;
  } catch (error) {
    assert.ok(error instanceof TypeError, String(error));
    return String(error.cause).includes("ECONNREFUSED") ? "refused" : "cut";
  }
};

const listenRequest = (send: Send): Promise<Response> =>
  send("/mcp", {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      method: "subscriptions/listen",
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });

for (const [name, place] of Object.entries(HTTP_SERVERS))
  describe(`closing a server, by ${name}`, () => {
    test("ends idle streams at once, answers running requests, and refuses new ones", async () => {
      const { server, go, begun } = slow();
      await using own = server;
      await using at = await place(own);
      const [legacy, modern] = [await legacyCaller(at.send), modernCaller(at.send)];
      const streams = [eventReader(await legacy.get()), eventReader(await listenRequest(at.send))];
      assert.match((await streams[1]?.next())?.data ?? "", /acknowledged/);
      const running = [legacy.call(1, "slow"), modern.call(1, "slow")];
      await until("both run", () => begun() === 2);
      const closed = own.close({ graceMs: 60_000 });
      // While both calls are still running.
      for (const stream of streams) await stream.rest();
      assert.ok([503, "refused"].includes(await fate(modern.call(2, "slow"))));
      assert.ok([503, "refused"].includes(await fate(at.send("/readyz"))));
      go();
      for (const answer of running) assert.match(await (await answer).text(), /"text":"done"/);
      await closed;
      assert.ok([503, "refused"].includes(await fate(legacy.call(3, "slow"))));
    });

    for (const era of ["the legacy era", "2026-07-28"])
      test(`aborts requests that still run in ${era} after its grace period, and answers them`, async () => {
        const { server, begun, aborted } = slow();
        await using own = server;
        await using at = await place(own);
        const caller = era === "2026-07-28" ? modernCaller(at.send) : await legacyCaller(at.send);
        const running = fate(caller.call(1, "slow"));
        await until("it runs", () => begun() === 1);
        await own.close({ graceMs: 1 });
        await aborted;
        assert.ok([503, "cut"].includes(await running));
      });

    test("reports health and readiness to GET and HEAD", async () => {
      let ready = true;
      await using server = createServer("s", "1", { ready: () => ready });
      await using at = await place(server);
      const states = async (): Promise<unknown[]> =>
        Promise.all(
          ["/healthz", "/readyz"].flatMap((path) => ["GET", "HEAD"].map(async (method) => (await at.send(path, { method })).status)),
        );
      assert.deepEqual(await states(), [200, 200, 200, 200]);
      ready = false;
      assert.deepEqual(await states(), [200, 200, 503, 503]);
      assert.equal((await at.send("/readyz", { method: "POST" })).status, 405);
    });
  });

test("the guide's first server ends on SIGTERM", async () => {
  const child = spawn(process.execPath, ["--conditions=troupe-source", join(root, "examples/server/first.ts")], {
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  try {
    let output = "";
    child.stdout.on("data", (piece) => {
      output += String(piece);
    });
    await until("it listens", () => output.includes("\n"));
    const [, url = ""] = /MCP at (\S+)/.exec(output) ?? [];
    await using client = await connect({ http: url }, { sdk: "v1", era: "legacy" });
    assert.equal((await client.call("echo", { message: "hi" })).text, "hi");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});

// As the cluster guide describes for load balancers and restarts.
test("troupe serve, on SIGTERM, is healthy but not ready, and answers running requests", { timeout: 60_000 }, async () => {
  await using served = await serveChild(["test/transport/own-readiness.fixture.ts"]);
  const url = served.ready.http ?? assert.fail();
  const urls = ["/readyz", "/healthz"].map((path) => new URL(path, url).href);
  for (const one of urls) assert.equal((await fetch(one)).status, 200);
  await using client = await connect({ http: url }, { sdk: "v2", era: "modern" });
  const running = client.call("own_readiness", { urls });
  await client.call("until_it_waits");
  served.child.kill("SIGTERM");
  assert.equal((await running).text, "503 200");
  assert.equal(await served.ended, 0);
});
