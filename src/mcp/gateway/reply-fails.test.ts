import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type JsonObject, CONTENT, type Json, type Log, type Reply, type Source, StoreError } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { bodyOf, channelDouble, ENVELOPE, exchangeOf, gatewayOf, until, world } from "./kit.fixture.ts";

const BROKEN: JsonObject = {
  get open(): Json {
    throw new RangeError("secret detail");
  },
};
const REPLIES: Readonly<Record<string, Reply>> = { "its content": { ok: BROKEN }, "its meta": { ok: { [CONTENT]: [], meta: BROKEN } } };
const MEDIA = { accept: "application/json, text/event-stream", "content-type": "application/json" };

type Made = ReturnType<typeof gatewayOf>;

/** A source whose replies cannot be serialised, given later or at once. */
function sourceOf(reply: Reply, now: boolean): Source {
  const source = world().source;
  return {
    surface: (viewer) => source.surface(viewer),
    watch: () => () => undefined,
    act: async () => reply,
    ...(now ? { actNow: () => reply } : {}),
  };
}

const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
const call = (id: number, meta?: JsonObject): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "look", ...(meta === undefined ? {} : { _meta: meta }) },
});

async function overHttp(made: Made, headers: Readonly<Record<string, string>>, message: JsonObject): Promise<JsonObject> {
  return bodyOf(await made.exchange(exchangeOf("POST", { ...MEDIA, ...headers }, message).exchange));
}

async function overStream(made: Made, ...messages: readonly JsonObject[]): Promise<JsonObject> {
  const channel = channelDouble();
  const connection = made.connect(channel, { principal: "local", scopes: [] });
  for (const message of messages) connection.receive(JSON.stringify(message));
  const find = (): JsonObject | undefined => channel.messages.find(({ id }) => id === 2);
  await until(() => find() !== undefined);
  await connection.close();
  return find() ?? {};
}

const begin: JsonObject = { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize };

const WAYS: Readonly<Record<string, (made: Made) => Promise<JsonObject>>> = {
  "HTTP, a session": async (made) => {
    const { headers } = await made.exchange(exchangeOf("POST", MEDIA, begin).exchange);
    return overHttp(made, { "mcp-session-id": headers?.["mcp-session-id"] ?? "" }, call(2));
  },
  "HTTP, 2026-07-28": (made) =>
    overHttp(made, { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "look" }, call(2, ENVELOPE)),
  "a stream, a session": (made) => overStream(made, begin, { jsonrpc: "2.0", method: "notifications/initialized" }, call(2)),
  "a stream, 2026-07-28": (made) => overStream(made, call(2, ENVELOPE)),
};

describe("a reply that cannot be serialised", () => {
  for (const [way, ask] of Object.entries(WAYS))
    for (const [part, reply] of Object.entries(REPLIES))
      for (const now of [true, false])
        test(`${way}: ${part}, ${now ? "at once" : "later"}: is an error to its client, and logged once`, async () => {
          const logged: Parameters<Log>[] = [];
          await using made = gatewayOf(sourceOf(reply, now), { log: (...one) => void logged.push(one) });
          const { error } = await ask(made);
          assert.deepEqual(error, { code: -32603, message: "Something failed inside the server; its log says what." });
          const errors = logged.filter(([level]) => level === "error");
          assert.equal(errors.length, 1);
          const { event, method, error: name } = Object(errors[0]?.[1]);
          assert.deepEqual({ event, method, name }, { event: "request-failed", method: "tools/call", name: "RangeError" });
          assert.ok(!JSON.stringify(errors).includes("secret"));
        });

  test("calls that fail alike are logged once in 5 s, with a count of the others", async () => {
    const clock = new SimulatedClock();
    const logged: unknown[] = [];
    await using made = gatewayOf(
      {
        ...sourceOf({ ok: null }, false),
        act: () => Promise.reject(new StoreError("STORE_FULL", "The disk is full.")),
      },
      { clock, log: (_level, data) => void logged.push(data) },
    );
    const ask = WAYS["HTTP, 2026-07-28"];
    for (let n = 0; n < 20; n += 1) await ask?.(made);
    await clock.advance(5_000);
    await ask?.(made);
    const line = { event: "request-failed", method: "tools/call", error: "STORE_FULL", why: "The disk is full." };
    assert.deepEqual(logged, [line, { ...line, unsaid: 19 }]);
  });
});
