// Tools that report progress: what is sent and when, and what happens to them if their client disconnects.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createServer, type Server, type ServerOptions } from "troupe/server";
import { memorySessionStore, memoryStreamStore } from "troupe/store";
import { network } from "../../src/mcp/gateway/legacy/cluster.fixture.ts";
import { until } from "../../src/testing/index.ts";
import { CLIENTS } from "../clients.ts";
import { eventReader } from "../transport/event-reader.ts";
import { HTTP_SERVERS, type Send } from "../transport/http-servers.ts";
import { post, rawSocket } from "../transport/raw-socket.ts";
import { type HandCaller, legacyCaller, modernCaller, resumedCaller } from "./callers.ts";
import { callerOf } from "./progress.ts";

interface LongTask {
  readonly server: Server;
  /** Lets the tool go on. */
  readonly go: () => void;
  /** Resolves when the tool has ended, in whichever way. */
  readonly ended: Promise<unknown>;
  /** Whether its call was aborted. */
  readonly aborted: () => boolean;
}

/** A server whose one tool reports its start, waits for `go`, and reports its end. */
function longTask(options: ServerOptions = {}): LongTask {
  const gate = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  let left = false;
  const server = createServer("s", "1", options);
  server.tools.register({ name: "long_task" }, async ({ emit, signal }) => {
    signal.addEventListener("abort", () => {
      left = true;
      gate.resolve();
    });
    emit({ status: "started" });
    await gate.promise;
    emit({ status: "done" });
    end.resolve();
    return "ok";
  });
  return { server, go: () => gate.resolve(), ended: end.promise, aborted: () => left };
}

const step = (n: number, status: string) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: "p", progress: n, message: JSON.stringify({ status }) },
});
const reply = (id: number) => ({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "ok" }] } });

const ERAS: Readonly<Record<string, (send: Send) => Promise<Pick<HandCaller, "call">>>> = {
  "the legacy era": (send) => legacyCaller(send),
  "2026-07-28": async (send) => modernCaller(send),
};

for (const [name, place] of Object.entries(HTTP_SERVERS))
  describe(`progress of a running tool, by ${name}`, () => {
    for (const [era, caller] of Object.entries(ERAS))
      test(`reaches a client that requested it before the tool goes on, ${era}`, async () => {
        const { server, go } = longTask();
        await using own = server;
        await using at = await place(own);
        const events = eventReader(await (await caller(at.send)).call(1, "long_task", { token: "p" }));
        let first = await events.next();
        // The first event may be an empty one that opens the stream.
        if (first?.data === "") first = await events.next();
        assert.deepEqual(JSON.parse(first?.data ?? ""), step(1, "started"));
        go();
        assert.deepEqual(await events.json(), step(2, "done"));
        assert.match(JSON.stringify(await events.json()), /"id":1,"result":\{.*"content":\[\{"type":"text","text":"ok"\}\]/);
        assert.equal(await events.next(), undefined);
      });

    test("is not sent to a client that did not request it, in either era", async () => {
      for (const caller of Object.values(ERAS)) {
        const { server, go } = longTask();
        await using own = server;
        await using at = await place(own);
        go();
        const answer = await (await caller(at.send)).call(1, "long_task");
        assert.equal(answer.headers.get("content-type"), "application/json");
        assert.match(await answer.text(), /^\{"jsonrpc":"2.0","id":1,"result":\{.*"text":"ok"/);
      }
    });

    for (const [how, token] of [
      ["with a progress token", "p"],
      ["without one", undefined],
    ] as const)
      test(`is sent as named events in the profile apptheory, ${how} #apptheory.streaming.events`, async () => {
        const { server, go } = longTask({ profile: "apptheory" });
        await using own = server;
        await using at = await place(own);
        const caller = await legacyCaller(at.send);
        const events = eventReader(await caller.call(1, "long_task", token === undefined ? {} : { token }));
        const seen: unknown[] = [];
        for (let event = await events.next(); event !== undefined; event = await events.next()) {
          go();
          if (event.data !== "") seen.push([event.event, JSON.parse(event.data)]);
        }
        const requested = (n: number, status: string): unknown[] => (token === undefined ? [] : [["message", step(n, status)]]);
        assert.deepEqual(seen, [
          ["progress", { status: "started" }],
          ...requested(1, "started"),
          ["progress", { status: "done" }],
          ...requested(2, "done"),
          ["message", reply(1)],
        ]);
      });

    test("goes on in the legacy era if its client disconnects, and the reply can be resumed", async () => {
      const { server, go, ended, aborted } = longTask();
      await using own = server;
      await using at = await place(own);
      const caller = await legacyCaller(at.send);
      const disconnect = new AbortController();
      const events = eventReader(await caller.call(1, "long_task", { token: "p", signal: disconnect.signal }));
      let last = "";
      for (let event = await events.next(); event !== undefined; event = await events.next()) {
        last = event.id ?? "";
        if (event.data !== "") break;
      }
      disconnect.abort();
      await events.cancel().catch(() => undefined);
      // The stream is resumed while the tool runs, and also carries later progress.
      const back = eventReader(await caller.get(last));
      go();
      const rest = (await back.rest()).filter(({ data }) => data !== "").map(({ data }): unknown => JSON.parse(data));
      assert.deepEqual(rest.at(-1), reply(1));
      await ended;
      assert.equal(aborted(), false);
    });

    test("stops in 2026-07-28 if the client disconnects, which aborts the tool", async () => {
      const { server, ended, aborted } = longTask();
      await using own = server;
      await using at = await place(own);
      const disconnect = new AbortController();
      const events = eventReader(await modernCaller(at.send).call(1, "long_task", { token: "p", signal: disconnect.signal }));
      assert.deepEqual(await events.json(), step(1, "started"));
      disconnect.abort();
      await events.cancel().catch(() => undefined);
      await ended;
      assert.equal(aborted(), true);
    });
  });

describe("progress of a running tool, by a listener", () => {
  for (const which of CLIENTS)
    test(`reaches the official client ${which.sdk}, ${which.era}, before the tool goes on`, { timeout: 20_000 }, async () => {
      const { server, go } = longTask();
      await using own = server;
      const { http } = await own.listen({ http: true });
      const caller = await callerOf(which, http.url);
      const steps: (string | undefined)[] = [];
      const result = await caller.call("long_task", (progress) => {
        steps.push(progress);
        go();
      });
      assert.deepEqual([steps, result], [['{"status":"started"}', '{"status":"done"}'], [{ type: "text", text: "ok" }]]);
      await caller.close();
    });

  test("stops if the official client v2 of 2026-07-28 disconnects, and with no older one", { timeout: 20_000 }, async () => {
    for (const which of CLIENTS) {
      const { server, go, ended, aborted } = longTask();
      await using own = server;
      const { http } = await own.listen({ http: true });
      const caller = await callerOf(which, http.url);
      const started = Promise.withResolvers<void>();
      const answer = caller.call("long_task", () => started.resolve()).catch(() => undefined);
      await started.promise;
      // Disconnects without a cancellation, which any client may send.
      await caller.close();
      if (which.era === "legacy") go();
      await Promise.all([ended, answer]);
      assert.equal(aborted(), which.era === "modern", `${which.sdk}, ${which.era}`);
    }
  });

  test("has its first step on the wire, byte for byte, before the tool goes on #apptheory.properties.incremental", async () => {
    const { server, go } = longTask({ profile: "apptheory" });
    await using own = server;
    const { http } = await own.listen({ http: true });
    await using client = await rawSocket(http.port);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "long_task" } });
    client.write(post(body, { accept: "text/event-stream" }));
    const started = await client.until('event: progress\ndata: {"status":"started"}\n\n');
    assert.match(started, /^HTTP\/1\.1 200 OK\r\n/);
    assert.doesNotMatch(started, /done/);
    go();
    await client.until(
      /event: message\n(?:id: .*\n)?data: \{"jsonrpc":"2\.0","id":1,"result":\{"content":\[\{"type":"text","text":"ok"\}\]\}\}\n\n\r\n0\r\n\r\n$/,
    );
  });
});

describe("a reply that breaks off, resumed at a second server with the same stores", () => {
  const KEY = { requestStateKey: new Uint8Array(32) };
  const send =
    (server: Server): Send =>
    (path, init) =>
      server.fetch(new Request(new URL(path, "http://localhost"), init));

  /** Disconnects once the tool has reported its start. Returns the id of the last event that arrived. */
  const broken = async (caller: HandCaller): Promise<string> => {
    const disconnect = new AbortController();
    const events = eventReader(await caller.call(1, "long_task", { token: "p", signal: disconnect.signal }));
    let last = "";
    for (let event = await events.next(); event !== undefined; event = await events.next()) {
      last = event.id ?? "";
      if (event.data !== "") break;
    }
    disconnect.abort();
    return last;
  };

  test("is complete once the tool has ended, even if the servers do not communicate", async () => {
    const stores = { sessions: memorySessionStore(), streams: memoryStreamStore() };
    const first = longTask(stores);
    await using one = first.server;
    await using other = createServer("s", "1", stores);
    const caller = await legacyCaller(send(one));
    const last = await broken(caller);
    first.go();
    await first.ended;
    const moved = resumedCaller(send(other), caller.session);
    const rest: unknown[] = [];
    // Until then each stream ends without a reply, and the client retries.
    await until("the reply is stored", async () => {
      const events = await eventReader(await moved.get(last)).rest();
      rest.push(...events.filter(({ data }) => data !== "").map(({ data }): unknown => JSON.parse(data)));
      return rest.length > 0;
    });
    assert.deepEqual(rest, [reply(1)]);
  });

  test("is followed step by step while the tool runs if the servers are peers", async () => {
    const net = network();
    const stores = { sessions: memorySessionStore(), streams: memoryStreamStore(), ...KEY };
    const first = longTask({ ...stores, peers: net.join("a") });
    await using one = first.server;
    await using other = createServer("s", "1", { ...stores, peers: net.join("b") });
    const caller = await legacyCaller(send(one));
    const last = await broken(caller);
    const rest = eventReader(await resumedCaller(send(other), caller.session).get(last)).rest();
    await until("the other server has requested the rest", () => net.passed.some(({ topic }) => topic === "session/follow"));
    first.go();
    const messages = (await rest).filter(({ data }) => data !== "").map(({ data }): unknown => JSON.parse(data));
    assert.deepEqual(messages.at(-1), reply(1));
  });
});
