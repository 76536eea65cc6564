import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import type { JsonObject, Source } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { cast } from "../source/index.ts";
import { bodyOf, channelDouble, ENVELOPE, exchangeOf, gatewayOf, until, world } from "./kit.fixture.ts";

const MODERN = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "look",
};

const request = (id: number, method: string, params: JsonObject = {}): string => JSON.stringify({ jsonrpc: "2.0", id, method, params });
const look = (id: number, meta?: JsonObject): string =>
  request(id, "tools/call", { name: "look", ...(meta === undefined ? {} : { _meta: meta }) });
const initialize = request(0, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
const initialized = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });

/** A source whose answers are there at once. */
function quickOf(act: () => void = () => undefined): { readonly source: Source; readonly made: ReturnType<typeof world> } {
  const made = world();
  const source: Source = {
    surface: (viewer) => made.source.surface(viewer),
    watch: (...watch) => made.source.watch(...watch),
    act: () => assert.fail("it can answer on the spot"),
    actNow: () => {
      act();
      return { ok: "done" };
    },
    catalogue: (viewer) => made.source.catalogue?.(viewer),
  };
  return { source, made };
}

describe("a source that answers synchronously", () => {
  test("is answered in the same tick, on a stream", async () => {
    await using gateway = gatewayOf(quickOf().source);
    for (const meta of [undefined, ENVELOPE]) {
      const channel = channelDouble();
      const connection = gateway.connect(channel, { principal: "local", scopes: [] });
      if (meta === undefined) connection.receive(initialize);
      connection.receive(look(1, meta));
      connection.receive(look(2, meta));
      assert.deepEqual(
        channel.messages.flatMap(({ id }) => (id === 0 ? [] : [id])),
        [1, 2],
      );
      await connection.close();
    }
  });

  test("is answered synchronously over HTTP", async () => {
    await using gateway = gatewayOf(quickOf().source);
    const answer = gateway.exchange(exchangeOf("POST", MODERN, look(1, ENVELOPE)).exchange);
    assert.ok(!(answer instanceof Promise));
    assert.equal(bodyOf(answer)["id"], 1);
  });

  test("C8 notifies of a change before the reply all the same", async () => {
    const { source, made } = quickOf(() => made.set(!made.open));
    await using gateway = gatewayOf(source);
    const channel = channelDouble();
    const connection = gateway.connect(channel, { principal: "local", scopes: [] });
    for (const line of [initialize, initialized, request(1, "tools/list")]) connection.receive(line);
    await until(() => channel.messages.some(({ id }) => id === 1));
    for (let id = 2; id < 6; id += 1) {
      const { length } = channel.messages;
      connection.receive(look(id));
      await until(() => channel.messages.some((message) => message["id"] === id));
      const methods = channel.messages.slice(length).map(({ method, id: of }) => method ?? of);
      assert.equal(methods.at(-1), id);
      assert.ok(methods.includes("notifications/tools/list_changed"));
    }
    await connection.close();
  });
});

describe("an actor in memory", () => {
  const library = actor("library", {
    description: "A library.",
    persistence: "memory",
    state: z.object({ books: z.number().default(0) }),
    tools: {
      put: {
        description: "Puts a book.",
        run({ state }) {
          state.books += 1;
          return null;
        },
      },
      take: { description: "Takes a book.", enabled: ({ state: { books } }) => books > 0, run: () => null },
    },
    resources: { state: { uri: "library://state", view: ({ state }) => state } },
  });

  test("is listed in the same tick, with its current state, on a stream and over HTTP", async () => {
    await using engine = await LocalEngine.start({ kinds: [library] });
    await using gateway = gatewayOf(cast({ engine, kinds: [library] }));
    const channel = channelDouble();
    const connection = gateway.connect(channel, { principal: "local", scopes: [] });
    // The first request waits until the lists that changes are compared with are known.
    for (const line of [initialize, initialized, request(1, "prompts/list")]) connection.receive(line);
    await until(() => channel.messages.some(({ id }) => id === 1));
    const listedNow = (id: number, list: "tools" | "resources" | "prompts"): unknown => {
      connection.receive(request(id, `${list}/list`));
      const reply = channel.messages.find((message) => message["id"] === id);
      const entries: unknown = Object(reply?.["result"])[list];
      assert.ok(Array.isArray(entries), `${list}/list is waited for`);
      return entries.map((entry: unknown): unknown => Object(entry)["name"]);
    };
    assert.deepEqual(listedNow(2, "tools"), ["put"]);
    connection.receive(request(3, "tools/call", { name: "put" }));
    await until(() => channel.messages.some(({ id }) => id === 3));
    assert.deepEqual(listedNow(4, "tools"), ["put", "take"]);
    assert.deepEqual(listedNow(5, "resources"), ["state"]);
    assert.deepEqual(listedNow(6, "prompts"), []);
    await connection.close();

    const headers = { ...MODERN, "mcp-method": "tools/list" };
    const answer = gateway.exchange(exchangeOf("POST", headers, request(7, "tools/list", { _meta: ENVELOPE })).exchange);
    assert.ok(!(answer instanceof Promise));
    assert.equal(bodyOf(answer)["id"], 7);
  });
});
