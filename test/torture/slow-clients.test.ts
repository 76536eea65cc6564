/** C8 over real sockets: a client that does not read costs flags, not memory, blocks no other, and is notified once at the end. */
import assert from "node:assert/strict";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import type { Channel, Gateway } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { createGateway } from "../../src/mcp/gateway/index.ts";
import { cast } from "../../src/mcp/source/index.ts";
import { memorySessionStore, memoryStreamStore } from "../../src/core/store/index.ts";
import { type HttpListener, serveHttp, serveTcp, type TcpListener } from "../../src/mcp/transport/index.ts";
import { at, envelope, lineClient, type LineClient, modernHeaders, opened } from "../wire.ts";

const CHANGES = 10_000;
/** So long that some thousand notifications fill every buffer between two processes. */
const URIS = Array.from({ length: 8 }, (_, index) => `board://page/${index}${"x".repeat(4_000)}`);

/** Each turn changes its resources, and every second one its tools. */
const board = actor("board", {
  description: "A board everybody sees.",
  per: "shared",
  persistence: "memory",
  state: z.object({ turns: z.int().default(0) }),
  tools: {
    turn: {
      description: "Turn.",
      run({ state }) {
        state.turns += 1;
        return state.turns;
      },
    },
    odd: { description: "There at odd times.", enabled: ({ state: { turns } }) => turns % 2 === 1, view: () => "odd" },
  },
  resources: {
    now: { uri: "board://now", view: ({ state: { turns } }) => ({ turns }) },
    page: { uri: "board://page/{name}", view: ({ state: { turns } }) => ({ turns }) },
    big: { uri: "board://big", view: () => "b".repeat(1_000_000) },
  },
});

/** All messages that the gateway has passed to one client's stream. */
interface Way {
  readonly channel: Channel;
  readonly texts: string[];
}

/** Records sent messages by stream. */
const watched = (gateway: Gateway, ways: Way[]): Gateway => {
  const noted = (channel: Channel): Channel => {
    const texts: string[] = [];
    const seen: Channel = {
      send(text, eventId, retryMs) {
        texts.push(text);
        channel.send(text, eventId, retryMs);
      },
      get ready() {
        return channel.ready;
      },
      onReady: (run) => channel.onReady(run),
      disconnected: channel.disconnected,
      close: () => channel.close(),
    };
    ways.push({ channel, texts });
    return seen;
  };
  return {
    connect: (channel, caller) => gateway.connect(noted(channel), caller),
    exchange(exchange) {
      let stream: Channel | undefined;
      const inner = exchange.stream.bind(exchange);
      exchange.stream = (headers) => (stream ??= noted(inner(headers)));
      return gateway.exchange(exchange);
    },
    drain: (graceMs) => gateway.drain(graceMs),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
};

const round = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const notified = (frames: readonly unknown[]): readonly string[] =>
  frames.flatMap((frame) => {
    const method = at(frame, "method");
    if (method === "notifications/tools/list_changed") return ["tools"];
    return method === "notifications/resources/updated" ? [String(at(frame, "params", "uri"))] : [];
  });

const sorted = (words: readonly string[]): readonly string[] => words.toSorted();

describe("C8 a client that does not read", () => {
  let engine: LocalEngine;
  let gateway: Gateway;
  let http: HttpListener;
  let tcp: TcpListener;
  let ways: Way[];

  beforeEach(async () => {
    ways = [];
    engine = await LocalEngine.start({ kinds: [board] });
    gateway = createGateway({
      source: cast({ engine, kinds: [board] }),
      info: { name: "slow", version: "1" },
      sessions: memorySessionStore(),
      streams: memoryStreamStore(),
      listMode: { modern: "dynamic" },
      rateLimit: false,
    });
    const noted = watched(gateway, ways);
    const limits = { blockedMs: 600_000 };
    http = await serveHttp({ gateway: noted, limits });
    tcp = await serveTcp({ gateway: noted, limits });
  });
  afterEach(async () => {
    await http.close({ graceMs: 0 });
    await tcp.close({ graceMs: 0 });
    await gateway[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const turn = (): Promise<unknown> =>
    engine.call({ to: "board/main", action: "tools/turn", args: {}, start: null, viewer: { scopes: [], self: "board/main" } });

  const turns = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      await turn();
      if (n % 8 === 0) await round();
    }
  };

  /** Runs turns until that stream is full. Returns how many messages had been sent by then. */
  const blocked = async (way: Way): Promise<number> => {
    for (let n = 0; way.channel.ready; n += 1) {
      assert.ok(n < 100_000, "the client does not read");
      await turn();
      await round();
    }
    for (let n = 0; n < 20; n += 1) await round();
    const { length } = way.texts;
    await turns(CHANGES);
    assert.equal(way.texts.length, length, `nothing is sent or queued for ${CHANGES} changes`);
    return length;
  };

  const lastWay = async (): Promise<Way> => {
    for (;;) {
      const way = ways.at(-1);
      if (way !== undefined && way.texts.length > 0) return way;
      await sleep(1);
    }
  };

  const player = async (): Promise<LineClient> => {
    const client = await lineClient(tcp.url);
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "line", version: "1" } };
    await client.request("initialize", params);
    client.say({ jsonrpc: "2.0", method: "notifications/initialized" });
    await client.request("resources/subscribe", { uri: "board://now" });
    await client.request("tools/list");
    return client;
  };

  /** Once it reads again, it is notified of each URI once, and of the lists at most once. */
  const assertNotifiedOnce = async (way: Way, from: number, response: IncomingMessage): Promise<void> => {
    response.resume();
    while (way.texts.length < from + URIS.length) await sleep(1);
    for (let n = 0; n < 20; n += 1) await round();
    const heard = notified(way.texts.slice(from).map((text): unknown => JSON.parse(text)));
    assert.deepEqual(sorted(heard.filter((one) => one !== "tools")), sorted(URIS));
    assert.ok(heard.filter((one) => one === "tools").length <= 1);
    response.destroy();
  };

  test(`on a socket costs no more after ${CHANGES} changes than after one, and is then notified of each once`, async () => {
    await using slow = await player();
    const way = await lastWay();
    await using quick = await player();
    slow.socket.pause();
    // Unread answers fill the connection first.
    for (let n = 0; n < 14; n += 1) slow.say({ jsonrpc: "2.0", id: `big-${n}`, method: "resources/read", params: { uri: "board://big" } });
    while (way.texts.filter((text) => text.includes("big-")).length < 14) await sleep(1);
    const from = await blocked(way);

    const reply = await quick.request("tools/call", { name: "turn", arguments: {} });
    const now = Number(at(reply, "result", "content", 0, "text"));
    assert.ok(now > CHANGES, JSON.stringify(reply));
    assert.ok(
      notified(quick.frames).includes("tools") && notified(quick.frames).includes("board://now"),
      "a client that reads is notified",
    );

    // It has listed the tools of an even board, so each notification after that was for an odd one.
    const notices = way.texts.slice(0, from).filter((text) => text.includes("tools/list_changed")).length;
    const listsDiffer = notices % 2 !== now % 2;
    const before = slow.frames.length;
    slow.socket.resume();
    await slow.request("ping");
    assert.deepEqual(sorted(notified(slow.frames.slice(before))), sorted([...(listsDiffer ? ["tools"] : []), "board://now"]));
    assert.equal(at(slow.frames.at(-1), "result") !== undefined, true, "all of it before the reply");
    const after = slow.frames.length;
    await turn();
    await slow.until((frame) => slow.frames.indexOf(frame) >= after && notified([frame])[0] === "board://now");
  });

  const streamOf = (
    url: string,
    options: { readonly method: string; readonly headers: Record<string, string> },
    body?: string,
  ): Promise<IncomingMessage> =>
    new Promise((settle, fail) => {
      const request = httpRequest(url, options, settle);
      request.on("error", fail);
      request.end(body);
    });

  test(`on a legacy stream costs no more after ${CHANGES} changes than after one, then gets each URI once`, async () => {
    const session = await opened(http.url);
    for (const uri of URIS) await session.request("resources/subscribe", { uri });
    const response = await streamOf(http.url, { method: "GET", headers: { ...session.headers, accept: "text/event-stream" } });
    response.on("error", () => undefined);
    const way = await lastWay();
    const from = await blocked(way);
    const other = await session.request("tools/call", { name: "turn", arguments: {} });
    assert.equal(other.status, 200, "its own calls go on");
    await assertNotifiedOnce(way, from, response);
  });

  test(`on a modern listen costs no more after ${CHANGES} changes than after one, then gets each URI once`, async () => {
    const notifications = { toolsListChanged: true, resourceSubscriptions: URIS };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: { notifications, _meta: envelope() } });
    const headers = {
      ...modernHeaders("subscriptions/listen"),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const response = await streamOf(http.url, { method: "POST", headers }, body);
    response.on("error", () => undefined);
    const way = await lastWay();
    const from = await blocked(way);
    await assertNotifiedOnce(way, from, response);
  });
});
