// Transcripts of servers that wait for something real: a socket, a timer; recorded, and replayed.
import assert from "node:assert/strict";
import { createServer as httpServer } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer, type ServerOptions } from "troupe/server";
import { recordTranscript, remoteServer, replayTranscript, type TestClient, type TestServer, testServer } from "troupe/testing";
import { runningScript } from "../cli/run.ts";
import { type Loopback, onLoopback } from "../on-loopback.ts";

const answers = { elicitation: [{ action: "accept", content: {} }] };

const makeErrands = (from: string, options: ServerOptions = {}) => {
  const own = createServer("errands", "1.0.0", { rateLimit: false, ...options });
  own.tools.register({ name: "fetches" }, async () => (await fetch(from)).text());
  own.tools.register({ name: "naps" }, async ({ emit }) => {
    await sleep(20);
    emit("half");
    await sleep(20);
    return "rested";
  });
  own.tools.register({ name: "asks" }, async ({ ask }) => {
    await sleep(5);
    ask({ sure: { method: "elicitation/create", params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } } } });
    await sleep(5);
    return "sure";
  });
  own.tools.register({ name: "opens" }, async () => {
    await sleep(5);
    if (!own.tools.has("opened")) own.tools.register({ name: "opened" }, () => "in");
    return "open";
  });
  // Like a worker's doing, in that nothing of it is seen from outside.
  own.tools.register({ name: "hides" }, () => sleep(30, "found", { ref: false }));
  own.tools.register({ name: "never" }, () => new Promise<string>(() => undefined));
  return own;
};

const visit = async (client: TestClient): Promise<void> => {
  await client.callTool("fetches");
  await client.callTool("naps", {}, { progressToken: 1 });
  await client.callTool("asks");
  await client.callTool("fetches");
};

/** What one upstream says. */
const upstream = (): Promise<Loopback> => onLoopback(httpServer((_request, response) => void setTimeout(() => response.end("42"), 10)));

test("tools that fetch and sleep are recorded and replayed, on a clock that stands still", async () => {
  await using there = await upstream();
  const served = (options: ServerOptions) => makeErrands(there.url, options);
  await using first = await testServer(served);
  const transcript = await recordTranscript(first, { name: "errands", client: { answers, listen: true } }, visit);
  await using again = await testServer(served, { seed: 2 });
  assert.deepEqual(await replayTranscript(again, transcript), []);
});

test("what is recorded of a server over HTTP is replayed there, streams and questions too", async () => {
  await using there = await upstream();
  await using server = makeErrands(there.url);
  const { http } = await server.listen({ http: { port: 0 } });
  const elsewhere = (): Promise<TestServer> => testServer(remoteServer(http.url));
  await using first = await elsewhere();
  const transcript = await recordTranscript(first, { name: "elsewhere", client: { answers, listen: true } }, visit);
  await using again = await elsewhere();
  assert.deepEqual(await replayTranscript(again, transcript), []);
  await using inside = await testServer((options: ServerOptions) => makeErrands(there.url, options));
  assert.deepEqual(await replayTranscript(inside, transcript), []);
});

test("what is recorded of a server in another process is replayed there, however long it takes", async () => {
  const server = `
    import { setTimeout as sleep } from "node:timers/promises";
    import { createServer } from "troupe/server";
    const own = createServer("far", "1.0.0");
    own.tools.register({ name: "naps" }, () => sleep(50, "rested"));
    console.log((await own.listen({ http: { port: 0 } })).http.url);`;
  await using running = runningScript({ args: ["--conditions=troupe-source", "--input-type=module", "-e", server] });
  await running.said(/http:.*\n/);
  const url = running.out().trim();
  await using first = await testServer(remoteServer(url));
  const transcript = await recordTranscript(first, { name: "far" }, async (client) => void (await client.callTool("naps")));
  await using again = await testServer(remoteServer(url));
  assert.deepEqual(await replayTranscript(again, transcript), []);
});

test("what a server tells on an open stream is waited for", async () => {
  const fresh = async (): Promise<{ readonly url: string } & AsyncDisposable> => {
    const server = makeErrands("");
    const { http } = await server.listen({ http: { port: 0 } });
    return { url: http.url, [Symbol.asyncDispose]: () => server.close() };
  };
  await using one = await fresh();
  await using first = await testServer(remoteServer(one.url));
  const transcript = await recordTranscript(first, { name: "told", client: { listen: true } }, async (client) => {
    await client.callTool("opens");
    await client.notifications.first("notifications/tools/list_changed");
  });
  await using two = await fresh();
  await using again = await testServer(remoteServer(two.url));
  assert.deepEqual(await replayTranscript(again, transcript), []);
});

test("an answer that does not come is a difference that says why", async () => {
  const make = (options: ServerOptions) => makeErrands("", options);
  await using first = await testServer(make);
  const transcript = await recordTranscript(first, { name: "short" }, async (client) => void (await client.callTool("naps")));
  const changed = structuredClone(transcript);
  const body = changed.input.mcp.steps[2]?.request.body;
  assert.ok(body);
  Object.assign(body, { value: body.value.replace("naps", "never") });
  await using idle = await testServer(make);
  const [why] = await replayTranscript(idle, changed);
  assert.deepEqual([why?.step, why?.where], ["3_tools_call", "answer"]);
  assert.match(String(why?.actual), /nothing was under way.*simulated clock.*withinMs/);
  await using server = makeErrands("");
  const { http } = await server.listen({ http: { port: 0 } });
  await using elsewhere = await testServer(remoteServer(http.url));
  assert.ok(elsewhere.remote && !idle.remote);
  assert.match(String((await replayTranscript(elsewhere, changed, { withinMs: 50 }))[0]?.actual), /none within 50 ms/);
  await server.close({ graceMs: 0 });
});

test("what nobody sees is waited for where withinMs says how long", async () => {
  // Its socket keeps the process there.
  await using there = await upstream();
  const served = (options: ServerOptions) => makeErrands(there.url, options);
  await using first = await testServer(served);
  const transcript = await recordTranscript(first, { name: "hidden" }, async (client) => void (await client.callTool("hides")));
  await using again = await testServer(served);
  assert.deepEqual(await replayTranscript(again, transcript, { withinMs: 20_000 }), []);
});
