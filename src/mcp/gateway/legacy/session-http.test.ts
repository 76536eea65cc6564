import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Answer, JsonObject, Caller, Clock, Gateway, Source } from "../../../core/contract/index.ts";
import { registry } from "../../source/index.ts";
import { objectIn } from "../json-rpc.ts";
import {
  bodyOf,
  channelDouble,
  exchangeOf,
  gatewayOf,
  quiet,
  type Sent,
  sessionsDouble,
  streamsDouble,
  until,
  world,
} from "../kit.fixture.ts";

const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const ann: Caller = { principal: "iss|ann", scopes: [], peer: "127.0.0.1" };
const bob: Caller = { principal: "iss|bob", scopes: [], peer: "127.0.0.1" };

interface Opened {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  post(body: unknown, more?: Readonly<Record<string, string>>, caller?: Caller): Promise<Answer>;
  sent(body: unknown): { readonly sent: Sent; readonly answer: Promise<Answer> };
}

async function open(
  gateway: Gateway,
  how: { readonly version?: string; readonly caller?: Caller; readonly capabilities?: JsonObject } = {},
): Promise<Opened> {
  const { version = "2025-11-25", caller, capabilities = {} } = how;
  const initialize = {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: version, capabilities, clientInfo: { name: "t", version: "1" } },
  };
  const answer = await gateway.exchange(exchangeOf("POST", ACCEPT, initialize, caller).exchange);
  assert.equal(answer.status, 200);
  const id = answer.headers?.["mcp-session-id"] ?? "";
  const headers = { ...ACCEPT, "mcp-session-id": id, "mcp-protocol-version": version };
  const made: Opened = {
    id,
    headers,
    post: async (body, more, as = caller) => gateway.exchange(exchangeOf("POST", { ...headers, ...more }, body, as).exchange),
    sent(body) {
      const sent = exchangeOf("POST", headers, body, caller);
      return { sent, answer: Promise.resolve(gateway.exchange(sent.exchange)) };
    },
  };
  assert.equal((await made.post({ jsonrpc: "2.0", method: "notifications/initialized" })).status, 202);
  return made;
}

const call = (name: string, args: JsonObject = {}, id: number | string = 1, meta?: JsonObject): object => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
});

function steppedClock(): Clock & { step(ms: number): Promise<void> } {
  let now = 1_000_000;
  const waits = new Map<object, { readonly at: number; readonly run: () => void }>();
  return {
    now: () => now,
    after(ms, run) {
      const key = {};
      waits.set(key, { at: now + ms, run });
      return () => void waits.delete(key);
    },
    async step(ms) {
      now += ms;
      for (const [key, wait] of [...waits].filter(([, one]) => one.at <= now)) {
        waits.delete(key);
        wait.run();
      }
      await quiet();
    },
  };
}

const refusedIn = (reply: JsonObject | undefined): unknown => objectIn(objectIn(reply, "result"), "_meta")?.["troupe/refused"];

describe("a legacy session over HTTP", () => {
  test("gets an id of 128 bits, answers in JSON and negotiates its revision #gateway.legacy #secure.ids #spec.7.stateful", async () => {
    await using gateway = gatewayOf(world().source);
    const session = await open(gateway);
    assert.match(session.id, /^[0-9a-f]{32}$/);
    const answer = await session.post(call("look"));
    assert.equal(answer.status, 200);
    assert.deepEqual(bodyOf(answer), { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "Shut." }] } });
    const negotiated = async (version: string): Promise<unknown> => {
      const body = {
        jsonrpc: "2.0",
        id: "i",
        method: "initialize",
        params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "t", version: "1" } },
      };
      const result = bodyOf(await gateway.exchange(exchangeOf("POST", ACCEPT, body).exchange))["result"];
      return typeof result === "object" && result !== null && "protocolVersion" in result ? result.protocolVersion : undefined;
    };
    for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) assert.equal(await negotiated(version), version);
    for (const version of ["2024-10-07", "2026-07-28", "1999-01-01"]) assert.equal(await negotiated(version), "2025-11-25");
  });

  test("stores its client's name and capabilities, and nothing else it sent", async () => {
    const sessions = sessionsDouble();
    await using gateway = gatewayOf(world().source, { sessions });
    const much = Array.from({ length: 100 }, () => ({}));
    const capabilities = {
      elicitation: { form: { much }, url: {}, much },
      sampling: { tools: { much } },
      roots: { listChanged: true },
      much,
    };
    const { id } = await open(gateway, { capabilities });
    const row = sessions.rows.get(id);
    assert.deepEqual(row?.client, { name: "t", version: "1" });
    assert.deepEqual(row?.capabilities, { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} });
  });

  test("is bound to its principal on every request #sessions.principal #spec.6.privacy.access #spec.6.access #spec.7.state.sessions #spec.8.security", async () => {
    await using gateway = gatewayOf(world().source);
    const session = await open(gateway, { caller: ann });
    assert.equal((await session.post(call("look"), {}, ann)).status, 200);
    for (const caller of [bob, { scopes: [] }]) {
      assert.equal((await session.post(call("look"), {}, caller)).status, 404);
      assert.equal((await gateway.exchange(exchangeOf("GET", session.headers, undefined, caller).exchange)).status, 404);
      assert.equal((await gateway.exchange(exchangeOf("DELETE", session.headers, undefined, caller).exchange)).status, 404);
    }
    assert.equal((await gateway.exchange(exchangeOf("POST", session.headers, call("look"), ann, "meta").exchange)).status, 404);
    assert.equal((await session.post(call("look"), {}, ann)).status, 200);
  });

  test("without a principal has a stand-in that does not disclose its id", async () => {
    const seen: (string | undefined)[] = [];
    const { source } = world();
    const spied = {
      ...source,
      surface: source.surface.bind(source),
      watch: source.watch.bind(source),
      act: (...given: Parameters<typeof source.act>) => (seen.push(given[0].principal), source.act(...given)),
    };
    await using gateway = gatewayOf(spied);
    const session = await open(gateway);
    await session.post(call("look"));
    assert.match(seen[0] ?? "", /^session\|[0-9a-f]{32}$/);
    assert.doesNotMatch(seen[0] ?? "", new RegExp(session.id));
  });

  test("answers 400 without an id or with an unknown version, and 404 if unknown or ended #gateway.http.delete", async () => {
    await using gateway = gatewayOf(world().source);
    assert.equal((await gateway.exchange(exchangeOf("POST", ACCEPT, call("look")).exchange)).status, 400);
    assert.equal((await gateway.exchange(exchangeOf("POST", { ...ACCEPT, "mcp-session-id": "feed" }, call("look")).exchange)).status, 404);
    const session = await open(gateway);
    assert.equal((await session.post(call("look"), { "mcp-protocol-version": "1999-01-01" })).status, 400);
    assert.equal((await gateway.exchange(exchangeOf("DELETE", session.headers).exchange)).status, 204);
    assert.equal((await session.post(call("look"))).status, 404);
    assert.equal((await gateway.exchange(exchangeOf("DELETE", session.headers).exchange)).status, 404);
  });

  test("is refused under the id of the request if that can be read", async () => {
    await using gateway = gatewayOf(world().source);
    const session = await open(gateway);
    const { "mcp-session-id": id, ...bare } = session.headers;
    const ping = { jsonrpc: "2.0", id: "r", method: "ping" };
    const of = async (headers: Readonly<Record<string, string>>, body: unknown): Promise<readonly unknown[]> => {
      const answer = await gateway.exchange(exchangeOf("POST", headers, body).exchange);
      return [answer.status, bodyOf(answer)["id"]];
    };
    const initialize = { ...ping, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } };
    const long = { ...ping, params: { text: "x".repeat(70_000) } };
    assert.deepEqual(
      [
        await of(bare, ping),
        await of({ ...bare, "mcp-session-id": "unknown" }, ping),
        await of({ ...session.headers, "mcp-protocol-version": "1999-01-01" }, ping),
        await of(session.headers, initialize),
        await of(session.headers, [ping]),
        await of(bare, { jsonrpc: "2.0", method: "notifications/initialized" }),
        await of(bare, long),
      ],
      [
        [400, "r"],
        [404, "r"],
        [400, "r"],
        [400, "r"],
        [400, null],
        [400, null],
        [400, null],
      ],
    );
    assert.equal((await of(session.headers, ping))[0], 200, String(id));
  });

  test("survives a restart with its subscriptions and log level #sessions.restart #spec.7.state.sessions", async () => {
    const sessions = sessionsDouble();
    const first = gatewayOf(world().source, { sessions });
    const session = await open(first, { caller: ann });
    await session.post({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "door://state" } });
    await session.post({ jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "error" } });
    await first[Symbol.asyncDispose]();
    const made = world();
    await using second = gatewayOf(made.source, { sessions });
    assert.equal(bodyOf(await second.exchange(exchangeOf("POST", session.headers, call("look"), ann).exchange))["id"], 1);
    assert.equal((await second.exchange(exchangeOf("POST", session.headers, call("look"), bob).exchange)).status, 404);
    const slow = exchangeOf("POST", session.headers, call("slow"), ann);
    await second.exchange(slow.exchange);
    assert.equal(slow.opened(), false, "the log level was restored");
    const stream = exchangeOf("GET", session.headers, undefined, ann);
    await second.exchange(stream.exchange);
    made.set(true);
    await until(() => stream.channel.messages.some((message) => message["method"] === "notifications/resources/updated"));
  });

  test("C8 after a restart the client is notified once of lists it has not seen since", async () => {
    const sessions = sessionsDouble();
    const first = gatewayOf(world().source, { sessions });
    const session = await open(first, { caller: ann });
    await first[Symbol.asyncDispose]();
    await using second = gatewayOf(world().source, { sessions });
    await second.exchange(exchangeOf("POST", session.headers, { jsonrpc: "2.0", id: 1, method: "prompts/list" }, ann).exchange);
    const methodsOnStream = async (): Promise<readonly unknown[]> => {
      const stream = exchangeOf("GET", session.headers, undefined, ann);
      await second.exchange(stream.exchange);
      const methods = stream.channel.messages.map((message) => message["method"]);
      stream.channel.close();
      return methods;
    };
    assert.deepEqual(await methodsOnStream(), ["notifications/tools/list_changed", "notifications/resources/list_changed"]);
    assert.deepEqual(await methodsOnStream(), []);
  });

  test("after a restart a subscription counts once its resource is offered again", async () => {
    const sessions = sessionsDouble();
    const lamp = { resources: { lamp: { uri: "room://lamp", view: () => "lit" } } };
    const first = gatewayOf(registry(lamp), { sessions });
    const session = await open(first, { caller: ann });
    await session.post({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "room://lamp" } });
    await first[Symbol.asyncDispose]();
    const source = registry({});
    await using second = gatewayOf(source, { sessions });
    const stream = exchangeOf("GET", session.headers, undefined, ann);
    await second.exchange(stream.exchange);
    const updates = () => stream.channel.messages.filter((message) => message["method"] === "notifications/resources/updated").length;
    assert.equal(updates(), 0, "there is nothing to read yet");
    source.add(lamp);
    await until(() => updates() === 1);
    source.changed("lamp");
    await until(() => updates() === 2);
  });

  test("after a restart a subscription counts at the next stream, where a source does not say that its resource is offered again", async () => {
    const sessions = sessionsDouble();
    const lamp = { resources: { lamp: { uri: "room://lamp", view: () => "lit" } } };
    const first = gatewayOf(registry(lamp), { sessions });
    const session = await open(first, { caller: ann });
    await session.post({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "room://lamp" } });
    await first[Symbol.asyncDispose]();
    const inner = registry({});
    const source: Source = {
      surface: (viewer) => inner.surface(viewer),
      act: (...one) => inner.act(...one),
      watch: (viewer, dirty, only) => (only === undefined ? () => undefined : inner.watch(viewer, dirty, only)),
    };
    await using second = gatewayOf(source, { sessions });
    const before = exchangeOf("GET", session.headers, undefined, ann);
    await second.exchange(before.exchange);
    before.leave();
    inner.add(lamp);
    const stream = exchangeOf("GET", session.headers, undefined, ann);
    await second.exchange(stream.exchange);
    inner.changed("lamp");
    await until(() => stream.channel.messages.some((message) => message["method"] === "notifications/resources/updated"));
  });

  test("C8 after a restart the client is notified once of each subscription", async () => {
    const sessions = sessionsDouble();
    const first = gatewayOf(world().source, { sessions });
    const session = await open(first, { caller: ann });
    await session.post({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "door://state" } });
    await first[Symbol.asyncDispose]();
    const made = world();
    await using second = gatewayOf(made.source, { sessions });
    // Before its client listens again, which starts the watch.
    made.set(true);
    const updatesOnStream = async (): Promise<readonly unknown[]> => {
      const stream = exchangeOf("GET", session.headers, undefined, ann);
      await second.exchange(stream.exchange);
      const { messages } = stream.channel;
      stream.channel.close();
      return messages.flatMap(({ method, params }) => (method === "notifications/resources/updated" ? [params] : []));
    };
    assert.deepEqual(await updatesOnStream(), [{ uri: "door://state" }]);
    assert.deepEqual(await updatesOnStream(), []);
  });

  test("expires when idle, is touched at most every ttl/10, and an open stream keeps it #sessions.idle #spec.6.trust.desktop #spec.7.state.sessions", async () => {
    const sessions = sessionsDouble();
    const clock = steppedClock();
    let touched = 0;
    const counted = { ...sessions, touch: (...given: Parameters<typeof sessions.touch>) => ((touched += 1), sessions.touch(...given)) };
    await using gateway = gatewayOf(world().source, { sessions: counted, clock, sessionTtlMs: 100_000, rateLimit: false });
    const idle = await open(gateway);
    const listening = await open(gateway);
    const stream = exchangeOf("GET", listening.headers);
    await gateway.exchange(stream.exchange);
    for (let call_ = 0; call_ < 50; call_ += 1) await idle.post(call("look"));
    assert.equal(touched, 0);
    for (let round = 0; round < 12; round += 1) await clock.step(10_001);
    assert.equal((await idle.post(call("look"))).status, 404);
    assert.equal((await listening.post(call("look"))).status, 200);
    assert.equal(sessions.rows.has(idle.id), false);
  });

  test("expires with very many others while requests are served", async () => {
    const [sessions, streams, clock] = [sessionsDouble(), streamsDouble(), steppedClock()];
    for (let n = 0; n < 1_000; n += 1)
      await sessions.put({ id: `s${n}`, protocol: "2025-11-25", client: {}, capabilities: {}, subscriptions: [], createdAt: 0, seenAt: 0 });
    let rounds = 0;
    const round = (): void => {
      rounds += 1;
      next = setImmediate(round);
    };
    let next = setImmediate(round);
    const at: number[] = [];
    const ended = Promise.withResolvers<void>();
    const counted: typeof streams = {
      ...streams,
      async delete(id) {
        await streams.delete(id);
        at.push(rounds);
        if (at.length === 1_000) ended.resolve();
      },
    };
    await using _ = gatewayOf(world().source, { sessions, streams: counted, clock, sessionTtlMs: 100_000 });
    await clock.step(1_000_000);
    await ended.promise;
    clearImmediate(next);
    const [first = 0, last = 0] = [at[0], at.at(-1)];
    assert.ok(last - first >= 10, `${last - first} rounds of the event loop`);
  });

  test("expires after its TTL, or a tenth later if only the stored time is known", async () => {
    const [sessions, clock, ttl] = [sessionsDouble(), steppedClock(), 60 * 60_000];
    const open_ = () => gatewayOf(world().source, { sessions, clock, sessionTtlMs: ttl, rateLimit: false });
    await using gateway = open_();
    const [client, reader] = [await open(gateway), await open(gateway)];
    const before = sessions.rows.get(client.id)?.seenAt;
    const stream = exchangeOf("GET", reader.headers);
    await gateway.exchange(stream.exchange);
    await clock.step(0.098 * ttl);
    assert.equal((await client.post(call("look"))).status, 200);
    stream.channel.close();
    assert.equal(sessions.rows.get(client.id)?.seenAt, before, "not stored");
    await clock.step(0.999 * ttl);
    for (const one of [client, reader]) assert.equal((await one.post(call("look"))).status, 200);
    await clock.step(ttl + 1);
    assert.equal((await client.post(call("look"))).status, 404, "here it is known to the millisecond");
    await using other = open_();
    const elsewhere = exchangeOf("POST", reader.headers, call("look"));
    assert.equal((await other.exchange(elsewhere.exchange)).status, 200, "elsewhere the row is all there is");
    await clock.step(1.1 * ttl + 1);
    const last = exchangeOf("POST", client.headers, call("look"));
    assert.equal((await other.exchange(last.exchange)).status, 404);
  });
});

describe("a legacy reply", () => {
  test("becomes an event stream only if something precedes it #gateway.http.post", async () => {
    await using gateway = gatewayOf(world().source);
    const session = await open(gateway);
    const quick = session.sent(call("look"));
    await quick.answer;
    assert.equal(quick.sent.opened(), false);
    const slow = session.sent(call("slow", {}, 7, { progressToken: "p" }));
    const answer = await slow.answer;
    assert.equal(answer.body, undefined);
    const [priming, ...events] = slow.sent.channel.events;
    assert.deepEqual([priming?.text, typeof priming?.id, typeof priming?.retryMs], ["", "string", "number"]);
    assert.deepEqual(
      slow.sent.channel.messages.map((message) => message["method"] ?? message["id"]),
      ["notifications/progress", "notifications/message", 7],
    );
    assert.equal(new Set(events.map((event) => event.id)).size, 3);
    assert.equal(slow.sent.channel.ended, true);
  });

  test("of a revision before 2025-11-25 is not primed", async () => {
    await using gateway = gatewayOf(world().source);
    const session = await open(gateway, { version: "2025-06-18" });
    const slow = session.sent(call("slow"));
    await slow.answer;
    assert.ok(slow.sent.channel.events.every((event) => event.text !== ""));
  });

  test("survives a broken connection, and is resumed by Last-Event-ID #gateway.http.event-ids #gateway.leave.legacy", async () => {
    const made = world();
    const streams = streamsDouble();
    await using gateway = gatewayOf(made.source, { streams });
    const session = await open(gateway);
    const slow = session.sent(call("slow", {}, 7));
    await until(() => slow.sent.channel.events.length >= 1);
    const last = slow.sent.channel.events[0]?.id ?? "";
    slow.sent.leave();
    const again = exchangeOf("GET", { ...session.headers, "last-event-id": last });
    const resumed = await gateway.exchange(again.exchange);
    assert.equal(resumed.open, true);
    await slow.answer;
    assert.equal(made.calls, 1, "closing the stream does not cancel");
    assert.equal(again.channel.messages.at(-1)?.["id"], 7);
    assert.equal(again.channel.ended, true);
    const later = exchangeOf("GET", { ...session.headers, "last-event-id": last });
    const replayed = await gateway.exchange(later.exchange);
    assert.notEqual(replayed.open, true);
    assert.equal(later.channel.messages.at(-1)?.["id"], 7);
    const other = await open(gateway);
    const foreign = exchangeOf("GET", { ...other.headers, "last-event-id": last });
    await gateway.exchange(foreign.exchange);
    assert.ok(
      foreign.channel.messages.every((message) => message["id"] !== 7),
      "another session's events stay its own",
    );
  });

  test("of a process that has ended is an error of its request", async () => {
    const [sessions, streams] = [sessionsDouble(), streamsDouble()];
    const first = gatewayOf(world().source, { sessions, streams });
    const session = await open(first, { capabilities: { elicitation: {} } });
    const lostAt = async (name: string, id: number | string): Promise<string> => {
      const { sent } = session.sent(call(name, {}, id));
      await until(() => sent.channel.events.length >= 1);
      return sent.channel.events[0]?.id ?? "";
    };
    const events = [await lostAt("confirm", 7), await lostAt("confirm", "é")];
    // As after a crash: the running reply has left events, but no end.
    await using second = gatewayOf(world().source, { sessions, streams });
    const resumed = async (last: string): Promise<readonly [number, readonly JsonObject[], string]> => {
      const again = exchangeOf("GET", { ...session.headers, "last-event-id": last });
      const { status } = await second.exchange(again.exchange);
      return [status, again.channel.messages, again.channel.events.at(-1)?.id ?? ""];
    };
    const [status, messages, after] = await resumed(events[0] ?? "");
    assert.deepEqual([status, messages.map(({ id, method }) => [id, method])], [200, [[7, undefined]]]);
    assert.deepEqual([Object(messages[0]?.["error"])["code"], Object(messages[0]?.["error"])["data"]], [-31503, { applied: "unknown" }]);
    assert.equal((await resumed(after))[0], 405, "clients that come back for what follows an error");
    // Nothing is known of a request that the event does not name.
    assert.notEqual((await resumed(events[1] ?? ""))[1].at(-1)?.["id"], "é");
    await first[Symbol.asyncDispose]();
  });

  test("of a cancelled request is not sent, but its exchange ends #gateway.cancel #apptheory.later.cancel", async () => {
    const made = world();
    made.slowMs = 60_000;
    await using gateway = gatewayOf(made.source);
    const session = await open(gateway, { version: "2025-06-18" });
    await session.post({ jsonrpc: "2.0", id: 1, method: "logging/setLevel", params: { level: "error" } });
    const slow = session.sent(call("slow", {}, "s"));
    await quiet();
    await session.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "s", reason: "no" } });
    const answer = await slow.answer;
    assert.deepEqual([answer.status, answer.body], [202, undefined]);
    assert.equal(made.calls, 0);
  });

  test("waits for a question on its own stream, which a POST answers #gateway.needs.elicitation", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const session = await open(gateway, { capabilities: { elicitation: {} } });
    const confirm = session.sent(call("confirm"));
    await until(() => confirm.sent.channel.messages.length === 1);
    const question = confirm.sent.channel.messages[0];
    assert.equal(question?.["method"], "elicitation/create");
    assert.equal(made.calls, 0);
    assert.equal(
      (await session.post({ jsonrpc: "2.0", id: question?.["id"], result: { action: "accept", content: { yes: true } } })).status,
      202,
    );
    await confirm.answer;
    assert.match(JSON.stringify(confirm.sent.channel.messages.at(-1)), /"yes":true/);
    assert.equal(made.calls, 1);
  });

  test("stops waiting for answers when the server closes, and nothing is applied", async () => {
    const made = world();
    // Time stands still: only the drain itself can end the wait.
    const clock = steppedClock();
    await using gateway = gatewayOf(made.source, { clock });
    const session = await open(gateway, { capabilities: { elicitation: {} } });
    const confirm = session.sent(call("confirm"));
    await until(() => confirm.sent.channel.messages.length === 1);
    await gateway.drain(60_000);
    await confirm.answer;
    const [, cancelled, reply] = confirm.sent.channel.messages;
    assert.equal(cancelled?.["method"], "notifications/cancelled");
    assert.match(JSON.stringify(reply), /The server is closing: call again in a moment\. Nothing was applied\..*"isError":true/);
    assert.deepEqual(refusedIn(reply), { code: "DRAINING", applied: false });
    assert.equal(made.calls, 0);
  });

  test("reports a refused, invalid or missing answer, and nothing is applied #gateway.needs.nothing-held #spec.6.sampling.control", async () => {
    const made = world();
    const clock = steppedClock();
    await using gateway = gatewayOf(made.source, { clock, rateLimit: false });
    const session = await open(gateway, { capabilities: { elicitation: {} } });
    const answers: ((id: unknown) => object | undefined)[] = [
      (id) => ({ jsonrpc: "2.0", id, error: { code: -1, message: "User rejected" } }),
      (id) => ({ jsonrpc: "2.0", id, result: { action: "perhaps" } }),
      (id) => ({ jsonrpc: "2.0", id, result: { action: "accept", content: { yes: { deep: true } } } }),
      (id) => ({ jsonrpc: "2.0", id, result: { action: "accept", content: { yes: "y".repeat(300_000) } } }),
      () => undefined,
    ];
    for (const [id, make] of answers.entries()) {
      const confirm = session.sent(call("confirm", {}, id));
      await until(() => confirm.sent.channel.messages.length === 1);
      const answer = make(confirm.sent.channel.messages[0]?.["id"]);
      if (answer === undefined) await clock.step(11 * 60_000);
      else await session.post(answer);
      await confirm.answer;
      const reply = confirm.sent.channel.messages.at(-1);
      assert.match(JSON.stringify(reply), /"isError":true/);
      const code = answer === undefined ? "DEADLINE" : "CANNOT_ASK";
      assert.deepEqual(refusedIn(reply), { code, applied: false });
    }
    assert.equal(made.calls, 0);
  });
});

describe("the standalone stream", () => {
  test("is the only one, is primed, and carries nothing but changes #gateway.http.get #spec.5.notification.resources", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const session = await open(gateway);
    await session.post({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const stream = exchangeOf("GET", session.headers);
    const answer = await gateway.exchange(stream.exchange);
    assert.deepEqual([answer.status, answer.open], [200, true]);
    assert.equal(stream.channel.events[0]?.text, "");
    await session.post(call("open", { how: "softly" }));
    await until(() => stream.channel.messages.length > 0);
    await quiet();
    assert.deepEqual(
      stream.channel.messages.map((message) => message["method"]),
      ["notifications/tools/list_changed", "notifications/resources/list_changed"],
    );
  });

  for (const revision of ["2025-03-26", "2025-06-18", "2025-11-25"])
    test(`the newest GET takes over the stream of a session, with or without an event id, ${revision}`, async () => {
      const made = world();
      await using gateway = gatewayOf(made.source);
      const session = await open(gateway, { version: revision });
      await session.post({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      await session.post({ jsonrpc: "2.0", id: 2, method: "resources/subscribe", params: { uri: "door://state" } });
      const first = exchangeOf("GET", session.headers);
      assert.equal((await gateway.exchange(first.exchange)).status, 200);
      // Like a connection that broke silently: it accepts writes that no one reads.
      made.set(true);
      await until(() => first.channel.messages.length === 3);
      let before = first;
      for (const headers of [{}, { "last-event-id": first.channel.events[0]?.id ?? "none" }, {}]) {
        const next = exchangeOf("GET", { ...session.headers, ...headers });
        const answer = await gateway.exchange(next.exchange);
        assert.deepEqual([answer.status, answer.open], [200, true]);
        assert.equal(before.channel.ended, true);
        // C8: what the client may have missed, once.
        await until(() => next.channel.messages.length === 4);
        assert.deepEqual(
          next.channel.messages.map((message) => message["method"]),
          [...["tools", "resources", "prompts"].map((list) => `notifications/${list}/list_changed`), "notifications/resources/updated"],
        );
        before = next;
      }
      made.set(false);
      await until(() => before.channel.messages.length === 7);
      await quiet();
      assert.deepEqual([first.channel.messages.length, before.channel.messages.length], [3, 7]);
    });

  test("C8 keeps flags while the client does not read, and sends each notification once #spec.7.performance.subscriptions", async () => {
    const made = world();
    await using gateway = gatewayOf(made.source);
    const session = await open(gateway);
    const stream = exchangeOf("GET", session.headers);
    await gateway.exchange(stream.exchange);
    await session.post({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "door://state" } });
    stream.channel.block();
    for (let change = 0; change < 1_001; change += 1) made.set(change % 2 === 0);
    await quiet();
    assert.equal(stream.channel.messages.length, 0);
    stream.channel.unblock();
    await until(() => stream.channel.messages.length === 3);
    await quiet();
    assert.equal(stream.channel.messages.length, 3);
    stream.leave();
    made.set(false);
    made.set(true);
    made.set(false);
    const again = exchangeOf("GET", session.headers);
    await gateway.exchange(again.exchange);
    await until(() => again.channel.messages.length === 3);
    // A change that is reverted is not a change of the list.
    again.leave();
    made.set(true);
    made.set(false);
    const third = exchangeOf("GET", session.headers);
    await gateway.exchange(third.exchange);
    await until(() => third.channel.messages.length > 0);
    await quiet();
    assert.deepEqual(
      third.channel.messages.map((message) => message["method"]),
      ["notifications/resources/updated"],
    );
  });

  test("that was replaced by another no longer counts", async () => {
    await using gateway = gatewayOf(world().source, { limits: { listens: 2 } });
    const session = await open(gateway);
    const stream = exchangeOf("GET", session.headers);
    await gateway.exchange(stream.exchange);
    const last = stream.channel.events[0]?.id ?? "";
    for (let round = 0; round < 5; round += 1) {
      const again = exchangeOf("GET", { ...session.headers, "last-event-id": last });
      assert.equal((await gateway.exchange(again.exchange)).status, 200);
    }
  });

  test("ends with a drain", async () => {
    await using gateway = gatewayOf(world().source);
    const session = await open(gateway);
    const stream = exchangeOf("GET", session.headers);
    await gateway.exchange(stream.exchange);
    await gateway.drain(10);
    assert.equal(stream.channel.ended, true);
    assert.equal((await session.post(call("look"))).status, 503);
  });
});

describe("what a POST must be", () => {
  test("batches are part of 2025-03-26 only, bounded, and answered as one #gateway.batch", async () => {
    await using gateway = gatewayOf(world().source);
    const old = await open(gateway, { version: "2025-03-26" });
    const batch = [
      call("look", {}, 1),
      { jsonrpc: "2.0", method: "notifications/cancelled", params: {} },
      call("measure", {}, 2),
      { nonsense: true },
    ];
    const answer = await old.post(batch);
    const body: unknown = bodyOf(answer);
    assert.ok(Array.isArray(body));
    assert.deepEqual(
      body.map((one: JsonObject) => one["id"]),
      [1, 2, null],
    );
    assert.equal((await old.post([{ jsonrpc: "2.0", method: "notifications/cancelled" }])).status, 202);
    assert.equal((await old.post([])).status, 400);
    assert.equal((await old.post(Array.from({ length: 65 }, (_, id) => call("look", {}, id)))).status, 400);
    const streamed = old.sent([call("slow", {}, "a", { progressToken: 1 }), call("look", {}, "b")]);
    await streamed.answer;
    assert.deepEqual(
      new Set(streamed.sent.channel.messages.map((message) => message["id"] ?? message["method"])),
      new Set(["a", "b", "notifications/progress", "notifications/message"]),
    );
    for (const version of ["2024-11-05", "2025-06-18", "2025-11-25"])
      assert.equal((await (await open(gateway, { version })).post(batch)).status, 400);
  });

  test("media types, JSON and UTF-8 are checked, each with its own status #secure.depth #spec.7.json-rpc", async () => {
    await using gateway = gatewayOf(world().source);
    const session = await open(gateway);
    assert.equal((await session.post(call("look"), { "content-type": "text/plain" })).status, 415);
    assert.equal((await session.post(call("look"), { accept: "application/json" })).status, 406);
    assert.equal((await session.post(call("look"), { accept: "*/*" })).status, 200);
    const bad = async (body: unknown): Promise<unknown> => {
      const answer = await session.post(body);
      assert.equal(answer.status, 400);
      const { error, id } = bodyOf(answer);
      return [typeof error === "object" && error !== null && "code" in error ? error.code : undefined, id];
    };
    assert.deepEqual(await bad("{"), [-32700, null]);
    assert.deepEqual(await bad(Buffer.from([0x22, 0xff, 0x22])), [-32700, null]);
    assert.deepEqual(await bad('"text"'), [-32600, null]);
    assert.deepEqual(await bad({ jsonrpc: "1.0", id: 4, method: "ping" }), [-32600, 4]);
    assert.deepEqual(await bad({ jsonrpc: "2.0", id: null, method: "ping" }), [-32600, null]);
    assert.deepEqual(await bad(`${"[".repeat(100)}${"]".repeat(100)}`), [-32600, null]);
    assert.equal((await session.post(`"${"x".repeat(5_000_000)}"`)).status, 413);
  });

  test("GET and DELETE without a session are not for this endpoint", async () => {
    await using gateway = gatewayOf(world().source);
    for (const verb of ["GET", "DELETE"] as const) {
      const answer = await gateway.exchange(exchangeOf(verb, ACCEPT).exchange);
      assert.deepEqual([answer.status, answer.headers?.["allow"]], [405, "POST"]);
    }
  });

  test("a meta session has two tools", async () => {
    await using gateway = gatewayOf(world().source);
    const initialize = {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    };
    const answer = await gateway.exchange(exchangeOf("POST", ACCEPT, initialize, undefined, "meta").exchange);
    const headers = { ...ACCEPT, "mcp-session-id": answer.headers?.["mcp-session-id"] ?? "" };
    const listed = JSON.stringify(
      bodyOf(
        await gateway.exchange(exchangeOf("POST", headers, { jsonrpc: "2.0", id: 1, method: "tools/list" }, undefined, "meta").exchange),
      ),
    );
    assert.match(listed, /"actions"/);
    assert.doesNotMatch(listed, /"look"/);
  });
});

test("a channel double does what channels do", () => {
  const channel = channelDouble();
  channel.send("{}");
  channel.leave();
  channel.send("{}");
  assert.equal(channel.events.length, 1);
});

test("a session that has ended is not written again by requests that still ran", async () => {
  const { source } = world();
  const sessions = sessionsDouble();
  const slow: Source = {
    surface: async (viewer) => {
      await quiet();
      return source.surface(viewer);
    },
    act: (viewer, ref, args, options) => source.act(viewer, ref, args, options),
    watch: (...watch) => source.watch(...watch),
  };
  await using gateway = gatewayOf(slow, { sessions });
  const session = await open(gateway);
  const subscribed = session.post({ jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "door://state" } });
  assert.equal((await gateway.exchange(exchangeOf("DELETE", session.headers).exchange)).status, 204);
  await subscribed;
  assert.equal(sessions.rows.size, 0);
});

test("subscribing and unsubscribing, sent without waiting, leave a stored session unsubscribed", async () => {
  const sessions = sessionsDouble();
  await using gateway = gatewayOf(world().source, { sessions });
  const session = await open(gateway);
  const ask = (id: number, method: string): Promise<Answer> =>
    session.post({ jsonrpc: "2.0", id, method, params: { uri: "door://state" } });
  const answers = await Promise.all([ask(1, "resources/subscribe"), ask(2, "resources/unsubscribe")]);
  assert.deepEqual(
    answers.map((answer) => bodyOf(answer)["result"]),
    [{}, {}],
  );
  assert.deepEqual(sessions.rows.get(session.id)?.subscriptions, []);
});

test("a session's subscriptions are bounded in number and total length", async () => {
  const rows = sessionsDouble();
  let puts = 0;
  const sessions: typeof rows = {
    ...rows,
    put(row) {
      puts += 1;
      return rows.put(row);
    },
  };
  await using gateway = gatewayOf(world().source, { sessions, limits: { subscriptions: 2, subscriptionLength: 34 } });
  const session = await open(gateway);
  const ask = async (method: string, params: JsonObject): Promise<JsonObject> =>
    bodyOf(await session.post({ jsonrpc: "2.0", id: 1, method, params }));
  const subscribe = (uri: string): Promise<JsonObject> => ask("resources/subscribe", { uri });
  const written = async (run: () => Promise<JsonObject>): Promise<readonly [boolean, number]> => {
    const before = puts;
    return ["result" in (await run()), puts - before];
  };
  assert.deepEqual(await written(() => subscribe("door://state")), [true, 1]);
  assert.deepEqual(await written(() => subscribe("door://state")), [true, 0]);
  assert.match(JSON.stringify(await subscribe("door://part/hinge")), /"result"/);
  assert.match(JSON.stringify(await subscribe("door://part/lock")), /may subscribe to 2 resources/);
  await ask("resources/unsubscribe", { uri: "door://part/hinge" });
  assert.deepEqual(await written(() => ask("resources/unsubscribe", { uri: "door://part/hinge" })), [true, 0]);
  assert.match(JSON.stringify(await subscribe(`door://part/${"x".repeat(40)}`)), /may have 34 characters in all/);
  assert.deepEqual(await written(() => ask("logging/setLevel", { level: "error" })), [true, 1]);
  assert.deepEqual(await written(() => ask("logging/setLevel", { level: "error" })), [true, 0]);
});

test("above a caller's limit the session that was unused for longest ends", async () => {
  const clock = steppedClock();
  const sessions = sessionsDouble();
  const { source } = world();
  await using gateway = gatewayOf(source, { sessions, clock, limits: { sessionsPerCaller: 2 } });
  const begin = async (caller: Caller): Promise<Opened> => {
    await clock.step(10);
    return open(gateway, { caller });
  };
  const statuses = async (...opened: readonly Opened[]): Promise<readonly number[]> =>
    Promise.all(opened.map(async (one) => (await one.post({ jsonrpc: "2.0", id: 1, method: "ping" })).status));
  const others = await begin(bob);
  const first = await begin(ann);
  const second = await begin(ann);
  await clock.step(10);
  assert.deepEqual(await statuses(first), [200]);
  const third = await begin(ann);
  assert.deepEqual(await statuses(first, second, third, others), [200, 404, 200, 200]);
  assert.deepEqual([...sessions.rows.keys()].toSorted(), [others.id, first.id, third.id].toSorted());
  // Busy sessions are not ended.
  void gateway.exchange(exchangeOf("GET", { ...first.headers, accept: "text/event-stream" }, undefined, ann).exchange);
  await quiet();
  await clock.step(10);
  assert.deepEqual(await statuses(third), [200]);
  const fourth = await begin(ann);
  assert.deepEqual(await statuses(first, third, fourth), [200, 404, 200]);
  await gateway.exchange(exchangeOf("DELETE", fourth.headers, undefined, ann).exchange);
  const fifth = await begin(ann);
  assert.deepEqual(await statuses(first, fifth), [200, 200]);
});

test("sessions without a principal count for their peer, unless it is local", async () => {
  const sessions = sessionsDouble();
  const { source } = world();
  await using gateway = gatewayOf(source, { sessions, limits: { sessionsPerCaller: 2 } });
  for (const peer of ["203.0.113.7", "203.0.113.7", "203.0.113.7", "2001:db8::1", "2001:db8::2", "2001:db8::3"])
    await open(gateway, { caller: { scopes: [], peer } });
  assert.equal(sessions.rows.size, 4);
  for (let more = 0; more < 4; more += 1) await open(gateway, { caller: { scopes: [], peer: "127.0.0.1" } });
  assert.equal(sessions.rows.size, 8);
});
