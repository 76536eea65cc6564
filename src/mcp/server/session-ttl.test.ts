import assert from "node:assert/strict";
import { test } from "node:test";
import { memorySessionStore } from "../../core/store/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { createServer } from "./index.ts";
import { sessionTtl } from "./server.ts";

const MINUTE_MS = 60_000;

test("a session's time to live is the option, else MCP_SESSION_TTL_MINUTES, else an hour #apptheory.sessions.ttl", () => {
  assert.equal(sessionTtl({ env: {} }), 60 * MINUTE_MS);
  assert.equal(sessionTtl({ env: { MCP_SESSION_TTL_MINUTES: "5" } }), 5 * MINUTE_MS);
  assert.equal(sessionTtl({ env: { MCP_SESSION_TTL_MINUTES: "90" }, sessionTtlMs: 1_000 }), 1_000);
});

test("an invalid MCP_SESSION_TTL_MINUTES counts as 60 and is logged #apptheory.sessions.ttl", () => {
  for (const given of ["", "0", "-5", "1.5", "1e3", "abc", "5m", "9".repeat(400)]) {
    const logged: unknown[] = [];
    const log = (level: string, data: unknown): void => void logged.push([level, data]);
    assert.equal(sessionTtl({ env: { MCP_SESSION_TTL_MINUTES: given }, log }), 60 * MINUTE_MS, given);
    assert.equal(logged.length, 1, given);
    assert.match(JSON.stringify(logged), /^\[\["warning",.*session-ttl-refused.*MCP_SESSION_TTL_MINUTES/);
  }
});

test("each request extends a session by its time to live; an expired one is freed", async () => {
  const clock = new SimulatedClock();
  await using sessions = memorySessionStore();
  const env = { MCP_SESSION_TTL_MINUTES: "10" };
  await using server = createServer("ttl", "1", { clock, sessions, sharedSessions: false, env });
  const post = (message: object, session?: string): Promise<Response> =>
    server.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(session === undefined ? {} : { "mcp-session-id": session }),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
      }),
    );
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const session = (await post({ method: "initialize", params })).headers.get("mcp-session-id") ?? assert.fail();
  const status = async (): Promise<number> => (await post({ method: "ping" }, session)).status;
  for (let minutes = 0; minutes < 30; minutes += 6) {
    await clock.advance(6 * MINUTE_MS);
    assert.equal(await status(), 200, `after ${minutes} minutes`);
  }
  await clock.advance(10 * MINUTE_MS + 1);
  assert.equal(await status(), 404);
  await clock.advance(2 * MINUTE_MS);
  assert.equal(await sessions.get(session), undefined);
});
