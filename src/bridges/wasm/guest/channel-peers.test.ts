import assert from "node:assert/strict";
import { test } from "node:test";
import { type ActorId, type Json, type Message, StoreError } from "../../../core/contract/index.ts";
import { FaultyStore, settle, SimulatedEntropy, until } from "../../../testing/index.ts";
import { readBody } from "../../../core/chain/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { base64, bytesOf, manifest, GuestError, guestMessage, type Script, stage, type Stage, textOf, decoded } from "./stage.fixture.ts";

/** Accepts channels, sends on them as requested, and records what it receives. */
const peer: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-channel-open": async ({ state }, [channel, data]) => {
    const accepted = decoded(data) !== "no";
    return { state: `${state}open ${decoded(data)};`, back: { accepted, message: bytesOf(`hello ${decoded(channel).slice(0, 3)}`) } };
  },
  "message-server-client.handle-channel-message": async ({ state, ask }, [channel, data]) => {
    if (decoded(data) === "echo")
      assert.deepEqual(await ask("message-server-host.send-on-channel", decoded(channel), bytesOf("echoed")), { ok: undefined });
    if (decoded(data) === "shut") assert.deepEqual(await ask("message-server-host.close-channel", decoded(channel)), { ok: undefined });
    if (decoded(data) === "leave") await ask("runtime.shutdown", undefined);
    if (decoded(data) === "echo and fail") {
      await ask("message-server-host.send-on-channel", decoded(channel), bytesOf("never"));
      throw new GuestError("no");
    }
    return { state: `${state}${decoded(data)};` };
  },
  "message-server-client.handle-channel-close": async ({ state }) => ({ state: `${state}closed;` }),
  "message-server-client.handle-request": async ({ state, ask }, [, data]) => {
    const [what = "", of = "", text = ""] = decoded(data).split(" ");
    const open = await (what === "open"
      ? ask("message-server-host.open-channel", of, bytesOf(text))
      : what === "say"
        ? ask("message-server-host.send-on-channel", of, bytesOf(text))
        : what === "close"
          ? ask("message-server-host.close-channel", of)
          : undefined);
    return { back: bytesOf(what === "heard" ? `${state}` : JSON.stringify(open)) };
  },
};

const outside = (on: Stage, to: ActorId, action: string, args: { readonly [key: string]: Json }): ReturnType<Stage["request"]> =>
  on.engine.call({ to, action, args: { channel: "ch_1", ...args } });
const open = (on: Stage, to: ActorId, data = "hi"): ReturnType<Stage["request"]> =>
  outside(on, to, "channel-open", { data: base64(data), end: { host: on.guests.host } });

test("a client opens a channel, sends on it, and receives by the actor's changes at its commit", async () => {
  await using on = await stage({ peer });
  const id = await on.start("peer");
  const heard: Json[] = [];
  on.engine.watch(id, ({ emit }) => void heard.push(...(emit ?? [])));
  assert.deepEqual(await open(on, id), { ok: { accepted: true, data: base64("hello ch_") } });
  assert.deepEqual((await on.state(id)).channels, { ch_1: { host: on.guests.host } });
  await outside(on, id, "channel-message", { data: base64("echo") });
  assert.deepEqual(heard, [{ channel: "ch_1", data: base64("echoed") }]);
  await outside(on, id, "channel-message", { data: base64("shut") });
  assert.deepEqual(heard[1], { channel: "ch_1", closed: "the other end closed it" });
  assert.deepEqual((await on.state(id)).channels, {});
  assert.match(JSON.stringify(await outside(on, id, "channel-message", { data: base64("x") })), /ChannelNotFound/u);
});

test("C3 what a failing call sends on a channel is dropped", async () => {
  await using on = await stage({ peer });
  const id = await on.start("peer");
  const heard: Json[] = [];
  on.engine.watch(id, ({ emit }) => void heard.push(...(emit ?? [])));
  await open(on, id);
  await outside(on, id, "channel-message", { data: base64("echo and fail") });
  assert.deepEqual([heard, (await on.state(id)).status], [[], "paused"]);
  assert.deepEqual(await outside(on, id, "channel-close", { why: "done" }), { ok: null });
  assert.deepEqual((await on.state(id)).channels, {});
});

test("a rejected channel does not exist, and a guest is notified of a closed one", async () => {
  await using on = await stage({ peer });
  const id = await on.start("peer");
  assert.deepEqual(await open(on, id, "no"), { ok: { accepted: false, data: base64("hello ch_") } });
  assert.deepEqual((await on.state(id)).channels, {});
  await open(on, id);
  assert.match(JSON.stringify(await open(on, id)), /is a channel ch_1 already/u);
  await outside(on, id, "channel-close", { why: "done" });
  assert.equal(textOf(await on.request(id, "heard")), "open no;open hi;closed;");
});

test("guests open channels to each other, and receive messages in order", async () => {
  await using on = await stage({ peer });
  const [a, b] = [await on.start("peer"), await on.start("peer")];
  assert.match(textOf(await on.request(a, `open ${b} no`)), /rejected the channel/u);
  const opened: unknown = JSON.parse(textOf(await on.request(a, `open ${b} hi`)));
  assert.ok(typeof opened === "object" && opened !== null && "ok" in opened && typeof opened.ok === "string");
  const channel = opened.ok;
  assert.match(channel, /^ch_[0-9a-f]{16}$/u);
  assert.deepEqual(
    [(await on.state(a)).channels, (await on.state(b)).channels],
    [{ [channel]: { actor: b } }, { [channel]: { actor: a } }],
  );
  await on.request(a, `say ${channel} one`);
  await on.request(a, `say ${channel} echo`);
  await until("the echo is heard", async () => textOf(await on.request(a, "heard")) === "echoed;");
  assert.equal(textOf(await on.request(b, "heard")), "open no;open hi;one;echo;");
  await on.request(b, `close ${channel}`);
  await until("the other hears it", async () => textOf(await on.request(a, "heard")) === "echoed;closed;");
  assert.match(textOf(await on.request(b, `say ${channel} x`)), /is closed/u);
  assert.match(textOf(await on.request(a, `say ${channel} x`)), /is closed/u);
});

test("a guest that shuts down closes its channels; sending to a stopped other end fails", async () => {
  await using on = await stage({ peer });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  for (const to of [b, c]) await on.request(a, `open ${to} hi`);
  const [toB = "", toC = ""] = Object.keys((await on.state(a)).channels);
  await on.request(a, `say ${toB} leave`);
  await until("its end is closed", async () => textOf(await on.request(a, "heard")) === "closed;");
  await on.engine.stop(c, "enough");
  // The end that has stopped closes its channel by a message, which may come first.
  assert.match(textOf(await on.request(a, `say ${toC} x`)), /guest\/peer3 has stopped|is closed/u);
  assert.deepEqual((await on.state(a)).channels, {});
});

test("an actor cannot send on the channel of others", async () => {
  await using on = await stage({ peer });
  const [a, b] = [await on.start("peer"), await on.start("peer")];
  await on.request(a, `open ${b} hi`);
  const [channel = ""] = Object.keys((await on.state(a)).channels);
  assert.match(JSON.stringify(await outside(on, b, "channel-message", { channel, data: base64("x") })), /ChannelNotFound/u);
  assert.match(JSON.stringify(await outside(on, b, "channel-close", { channel, why: "x" })), /ChannelNotFound/u);
  assert.match(JSON.stringify(await outside(on, b, "channel-open", { data: base64("x"), end: { actor: a } })), /whoever opens it/u);
});

test("ends of another process are closed, and their guest is notified", async () => {
  await using on = await stage({ peer });
  const id = await on.start("peer");
  await outside(on, id, "channel-open", { data: base64("old"), end: { host: "a process that is gone" } });
  await until("it is told", async () => textOf(await on.request(id, "heard")) === "open old;closed;");
  assert.deepEqual((await on.state(id)).channels, {});
});

// ── the other end is missing ────────────────────────────────────────────────

const opener: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-channel-open": async () => ({ back: { accepted: true, message: undefined } }),
  "message-server-client.handle-channel-close": async ({ state }, [channel]) => ({ state: `${state}closed ${decoded(channel)};` }),
  "message-server-client.handle-request": async ({ state, ask }, [, data]) => {
    const to = decoded(data);
    if (to === "heard") return { back: bytesOf(`${state}`) };
    if (to.startsWith("long ")) {
      await ask("message-server-host.open-channel", to.slice(5), bytesOf("hi"));
      await ask("timing.sleep", 10_000n);
    }
    return { back: bytesOf(JSON.stringify(await ask("message-server-host.open-channel", to, bytesOf("hi")))) };
  },
};

const heard = async (on: Stage, id: ActorId): Promise<string> => textOf(await on.request(id, "heard"));
async function openChannel(on: Stage, from: ActorId, to: ActorId): Promise<string> {
  await on.request(from, to);
  return Object.keys((await on.state(from)).channels).at(-1) ?? assert.fail();
}

test("each of many ends of another process is closed once", async () => {
  await using on = await stage({ peer: opener });
  const id = await on.start("peer");
  const many = Array.from({ length: 30 }, (_, n) => `ch_${n}`);
  const openFrom = (channel: string): ReturnType<Stage["request"]> =>
    on.engine.call({ to: id, action: "channel-open", args: { channel, data: base64("hi"), end: { host: "a process that is gone" } } });
  await Promise.all(many.map(openFrom));
  await until("all are closed", async () => Object.keys((await on.state(id)).channels).length === 0);
  assert.equal((await heard(on, id)).split(";").length - 1, many.length);
  const sent = (await on.events(id)).flatMap((event) => readBody(event)?.sent ?? []);
  assert.equal(sent.length, many.length);
});

test("a channel end with an empty host is refused", async () => {
  await using on = await stage({ peer: opener });
  const id = await on.start("peer");
  const args = { channel: "ch_1", data: base64("hi"), end: { host: "" } };
  assert.match(JSON.stringify(await on.engine.call({ to: id, action: "channel-open", args })), /"code":"INVALID"/u);
});

test("stopping an actor closes its channels at their other ends, and no others", async () => {
  await using on = await stage({ peer: opener });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  const lost = await openChannel(on, a, b);
  const kept = await openChannel(on, c, b);
  await on.engine.stop(a, "enough");
  await until("it is told", async () => (await heard(on, b)) === `closed ${lost};`);
  assert.deepEqual((await on.state(b)).channels, { [kept]: { actor: c } });
});

test("detaching the engine while closes are sent causes no rejection", async () => {
  let leave = (): void => undefined;
  const notified: string[] = [];
  const store = new (class extends FaultyStore {
    override enqueue(message: Message): Promise<void> {
      notified.push(message.to);
      leave();
      return super.enqueue(message);
    }
  })(memoryStore(), () => "pass");
  await using on = await stage({ peer: opener }, { store });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  for (const to of [b, c]) await openChannel(on, a, to);
  leave = on.guests.attach(on.engine);
  await on.engine.stop(a, "enough");
  await until("one is notified", () => notified.length > 0);
  // An unhandled rejection would end the process.
  await settle();
  on.guests.attach(on.engine);
});

test("only the process that runs the engine can report that an actor has stopped", async () => {
  await using on = await stage({ peer: opener });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  const channel = await openChannel(on, a, b);
  const close = (more: { readonly end?: string }, viewer?: Message["viewer"]): ReturnType<Stage["request"]> =>
    on.engine.call({
      to: b,
      action: "channel-close",
      args: { channel, why: "lies", ...more },
      ...(viewer === undefined ? {} : { viewer }),
    });
  assert.match(JSON.stringify(await close({})), /ChannelNotFound/u);
  assert.match(JSON.stringify(await close({ end: c })), /ChannelNotFound/u);
  assert.match(JSON.stringify(await close({ end: a }, { scopes: [] })), /ChannelNotFound/u);
  assert.deepEqual((await on.state(b)).channels, { [channel]: { actor: a } });
});

/** Drops what an engine sends outside turns, as in a process that ends earlier. */
const losing = (): FaultyStore =>
  new (class extends FaultyStore {
    override enqueue(): Promise<void> {
      return Promise.reject(new StoreError("STORE_FULL", "No space."));
    }
  })(memoryStore(), () => "pass");

test("after a process ended too early, the first call in the next one finds a stopped other end", async () => {
  const store = losing();
  const contents = memoryContents();
  await using on = await stage({ peer: opener }, { store, contents });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  const lost = await openChannel(on, a, b);
  const kept = await openChannel(on, b, c);
  await on.engine.stop(a, "enough");
  assert.deepEqual(Object.keys((await on.state(b)).channels), [lost, kept]);
  await on.engine[Symbol.asyncDispose]();
  await using next = await stage({ peer: opener }, { store, contents, entropy: new SimulatedEntropy(7) });
  await until("it is told", async () => (await heard(next, b)) === `closed ${lost};`);
  assert.deepEqual((await next.state(b)).channels, { [kept]: { actor: c } });
});

test("the next process's first call closes a channel whose opener was killed as it opened it, or restarted", async () => {
  const store = losing();
  const contents = memoryContents();
  await using on = await stage({ peer: opener }, { store, contents });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  const lost = await openChannel(on, a, b);
  const kept = await openChannel(on, b, c);
  await on.engine.stop(a, "enough");
  await on.engine.call(await on.guests.prepare({ to: a, manifest: manifest("peer") }));
  const cut = assert.rejects(on.request(a, `long ${b}`));
  await until("it is open", async () => Object.keys((await on.state(b)).channels).length === 3);
  const half = Object.keys((await on.state(b)).channels).find((channel) => channel !== lost && channel !== kept) ?? "";
  await on.engine[Symbol.asyncDispose]();
  await cut;
  await using next = await stage({ peer: opener }, { store, contents, entropy: new SimulatedEntropy(7) });
  await until("it is told", async () => (await heard(next, b)).split(";").length === 3);
  for (const channel of [lost, half]) assert.ok((await heard(next, b)).includes(`closed ${channel};`));
  assert.deepEqual((await next.state(b)).channels, { [kept]: { actor: c } });
});

test("C5 the next process's first call gets the messages sent before a channel was closed, and one close", async () => {
  const talker: Script = {
    ...opener,
    "message-server-client.handle-channel-message": async ({ state }, [, data]) => ({ state: `${state}${decoded(data)};` }),
    "message-server-client.handle-send": async ({ ask }, [data = ""]) => {
      for (const last of ["one", "two"]) await ask("message-server-host.send-on-channel", decoded(data), bytesOf(last));
      await ask("message-server-host.close-channel", decoded(data));
      return {};
    },
  };
  const [store, contents] = [memoryStore(), memoryContents()];
  await using on = await stage({ talker }, { store, contents });
  const [a, b] = [await on.start("talker"), await on.start("talker")];
  const channel = await openChannel(on, a, b);
  await on.engine[Symbol.asyncDispose]();
  await using next = await stage({ talker }, { store, contents, entropy: new SimulatedEntropy(7) });
  await next.engine.call(guestMessage(a, "send", channel));
  await until("it has heard that", async () => (await heard(next, b)).includes("closed"));
  await settle();
  assert.equal(await heard(next, b), `one;two;closed ${channel};`);
});
