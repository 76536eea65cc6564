// What the test kit is given, and what it hears of what broke.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createServer, type ServerOptions } from "troupe/server";
import { type Served, testServer } from "troupe/testing";

test("what a handler of createServer throws, or returns that is no JSON, is in faults, and is told to no client", async () => {
  const boom = new Error("boom");
  const make = (options: ServerOptions) => {
    const own = createServer("breaks", "1.0.0", options);
    own.tools.register({ name: "throws" }, () => {
      throw boom;
    });
    own.tools.register({ name: "circles" }, () => {
      const ring: Record<string, unknown> = {};
      ring["ring"] = ring;
      return ring;
    });
    return own;
  };
  await using server = await testServer(make);
  const result = await server.client().callTool("throws");
  assert.equal(result.isError, true);
  assert.doesNotMatch(JSON.stringify(result), /boom/);
  assert.equal(server.faults[0]?.error, boom);
  assert.match(String(server.faults[0]), /^The server threw Error: boom, at .*test-server\.test\.ts:8:16$/);
  assert.equal((await server.client().callTool("circles")).isError, true);
  assert.match(String(server.faults[1]), /tools\/circles returned is not JSON/);
});

/** As JavaScript would have it. */
const read = (text: string): Served => JSON.parse(text);

test("what is nothing to test is refused with what would be", async () => {
  for (const nothing of ["{}", "null", '"server"', '{ "name": "x" }'])
    await assert.rejects(testServer(read(nothing)), /nothing here to test: give testServer a list of kinds/);
  await assert.rejects(
    testServer(() => JSON.parse("null")),
    /What the function made is no server/,
  );
});
