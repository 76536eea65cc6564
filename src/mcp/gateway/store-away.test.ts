// What the clients of sessions see while the store fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, changedSession, isJsonObject, type SessionStore, StoreError } from "../../core/contract/index.ts";
import { bodyOf, exchangeOf, gatewayOf, sessionsDouble, world } from "./kit.fixture.ts";

const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const INITIALIZE = { jsonrpc: "2.0", id: "first", method: "initialize", params: { protocolVersion: "2025-11-25" } };

function failing() {
  const stored = sessionsDouble();
  const state = { away: false };
  const unless = <T>(run: () => Promise<T>): Promise<T> =>
    state.away ? Promise.reject(new StoreError("STORE_IO", "the disk is unavailable")) : run();
  const sessions: SessionStore = {
    ...stored,
    put: (row) => unless(() => stored.put(row)),
    get: (id) => unless(() => stored.get(id)),
    delete: (id) => unless(() => stored.delete(id)),
  };
  return { sessions, state };
}

test("while the store fails a session is answered 503 with the request's id, and survives", async () => {
  const { sessions, state } = failing();
  const logged: JsonObject[] = [];
  await using gateway = gatewayOf(world().source, {
    sessions,
    sharedSessions: true,
    log: (_level, entry) => void (isJsonObject(entry) && logged.push(entry)),
  });
  const begun = await gateway.exchange(exchangeOf("POST", ACCEPT, INITIALIZE).exchange);
  const headers = { ...ACCEPT, "mcp-session-id": begun.headers?.["mcp-session-id"] ?? "" };
  const ping = { jsonrpc: "2.0", id: 7, method: "ping" };
  const ask = async (verb: "POST" | "GET" | "DELETE", body?: object, of: Readonly<Record<string, string>> = headers) =>
    gateway.exchange(exchangeOf(verb, of, body).exchange);
  state.away = true;
  for (const [id, answer] of [
    [7, await ask("POST", ping)],
    ["first", await ask("POST", INITIALIZE, ACCEPT)],
    [null, await ask("GET")],
    [null, await ask("DELETE")],
  ] as const) {
    assert.deepEqual([answer.status, answer.headers?.["retry-after"]], [503, "1"]);
    const body = bodyOf(answer);
    assert.deepEqual(
      [body["id"], body["error"]],
      [id, { code: -31503, message: "The server's sessions are out of reach; try again in a moment.", data: { code: "STORE_IO" } }],
    );
  }
  assert.equal(
    logged.filter(({ event, error }) => event === "exchange-failed" && error === "STORE_IO").length,
    1,
    "it is in the log once in a while",
  );
  state.away = false;
  assert.equal((await ask("POST", ping)).status, 200, "what could not be ended goes on");
  assert.equal((await ask("DELETE")).status, 204);
});

test("a session's change is stored as a change, and again if it failed", async () => {
  const stored = sessionsDouble();
  let puts = 0;
  let isDown = false;
  const sessions: SessionStore = {
    ...stored,
    async put(row) {
      puts += 1;
      await stored.put(row);
    },
    async change(id, change) {
      if (isDown) throw new StoreError("STORE_FULL", "The disk is full.");
      const row = stored.rows.get(id);
      if (row !== undefined) stored.rows.set(id, changedSession(row, change));
      return stored.rows.get(id);
    },
  };
  await using gateway = gatewayOf(world().source, { sessions });
  const begun = await gateway.exchange(exchangeOf("POST", ACCEPT, INITIALIZE).exchange);
  const id = begun.headers?.["mcp-session-id"] ?? "";
  const ask = async (method: string, params: object) =>
    bodyOf(
      await gateway.exchange(exchangeOf("POST", { ...ACCEPT, "mcp-session-id": id }, { jsonrpc: "2.0", id: 1, method, params }).exchange),
    );
  const row = () => stored.rows.get(id);
  assert.deepEqual((await ask("logging/setLevel", { level: "debug" }))["result"], {});
  assert.equal(row()?.logLevel, "debug");
  isDown = true;
  assert.ok((await ask("resources/subscribe", { uri: "door://state" }))["error"]);
  isDown = false;
  assert.deepEqual((await ask("resources/subscribe", { uri: "door://state" }))["result"], {});
  assert.deepEqual(row()?.subscriptions, ["door://state"]);
  assert.deepEqual((await ask("resources/unsubscribe", { uri: "door://state" }))["result"], {});
  assert.deepEqual(row()?.subscriptions, []);
  assert.equal(puts, 1, "only a new session is put");
});
