import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordedServer, textOf } from "./recorded.fixture.ts";

test("the log is listed newest first, by level, actor and text, a page at a time", async () => {
  await using server = await RecordedServer.start();
  const { live } = server;
  live.logged("info", "listening", { transport: "http" });
  live.logged("debug", "looked", { actor: "safe/main" });
  live.logged("error", "fault", { actor: "safe/main", cause: { code: "BAD_TURN" }, why: "It Broke" });
  live.logged("warn", "client-dropped", { session: "session|1", principal: "ann" });
  const events = async (query: string): Promise<readonly string[]> =>
    (await server.items(`/log?${query}`)).map(({ event }) => textOf(event));
  assert.deepEqual(await events(""), ["client-dropped", "fault", "looked", "listening"]);
  assert.deepEqual(await events("level=warn"), ["client-dropped", "fault"]);
  assert.deepEqual(await events("actor=safe%2Fmain"), ["fault", "looked"]);
  assert.deepEqual(await events("search=it+broke"), ["fault"]);
  const { body } = await server.api("/log?limit=2");
  assert.equal(body["next"], "3");
  assert.deepEqual(await events("limit=2&after=3"), ["looked", "listening"]);
  const [dropped, fault] = await server.items("/log");
  assert.deepEqual([dropped?.["session"], dropped?.["principal"]], ["session|1", "ann"]);
  assert.deepEqual([fault?.["actor"], fault?.["code"]], ["safe/main", "BAD_TURN"]);
  assert.equal((await server.api("/log?actor=nothing")).status, 400);
});

test("many entries of no concern do not push out errors, and large fields are cut", async () => {
  await using server = await RecordedServer.start();
  server.live.logged("error", "fault", { why: "x".repeat(100_000), at: 3, inner: { much: "x" } });
  for (let n = 0; n < 5_000; n += 1) server.live.logged("debug", "noise", { n });
  const items = await server.items("/log?limit=1500");
  assert.equal(items.length, 1_001);
  const fault = items.at(-1);
  assert.equal(fault?.["event"], "fault");
  assert.deepEqual(fault["fields"], { why: "x".repeat(1_024), at: 3 });
});
