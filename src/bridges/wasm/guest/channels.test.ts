import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorId, Json } from "../../../core/contract/index.ts";
import { until } from "../../../testing/index.ts";
import { base64, bytesOf, Said, type Script, stage, type Stage, textOf, told } from "./stage.fixture.ts";

/** Takes channels, says on them what it is told, and keeps what it heard. */
const peer: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-channel-open": async ({ state }, [channel, data]) => {
    const accepted = told(data) !== "no";
    return { state: `${state}open ${told(data)};`, back: { accepted, message: bytesOf(`hello ${told(channel).slice(0, 3)}`) } };
  },
  "message-server-client.handle-channel-message": async ({ state, ask }, [channel, data]) => {
    if (told(data) === "echo")
      assert.deepEqual(await ask("message-server-host.send-on-channel", told(channel), bytesOf("echoed")), { ok: undefined });
    if (told(data) === "shut") assert.deepEqual(await ask("message-server-host.close-channel", told(channel)), { ok: undefined });
    if (told(data) === "leave") await ask("runtime.shutdown", undefined);
    if (told(data) === "echo and fail") {
      await ask("message-server-host.send-on-channel", told(channel), bytesOf("never"));
      throw new Said("no");
    }
    return { state: `${state}${told(data)};` };
  },
  "message-server-client.handle-channel-close": async ({ state }) => ({ state: `${state}closed;` }),
  "message-server-client.handle-request": async ({ state, ask }, [, data]) => {
    const [what = "", of = "", text = ""] = told(data).split(" ");
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

test("somebody outside opens a channel, talks on it, and hears by the actor's changes, with its commit", async () => {
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

test("C3 what a failing call says on a channel is not heard", async () => {
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

test("a channel that is not accepted is none; one that is closed is told of", async () => {
  await using on = await stage({ peer });
  const id = await on.start("peer");
  assert.deepEqual(await open(on, id, "no"), { ok: { accepted: false, data: base64("hello ch_") } });
  assert.deepEqual((await on.state(id)).channels, {});
  await open(on, id);
  assert.match(JSON.stringify(await open(on, id)), /is a channel ch_1 already/u);
  await outside(on, id, "channel-close", { why: "done" });
  assert.equal(textOf(await on.request(id, "heard")), "open no;open hi;closed;");
});

test("guests open channels to each other: both hold an end, and hear each other in order", async () => {
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

test("a guest that shuts down closes its channels; on one whose other end was stopped nothing is said", async () => {
  await using on = await stage({ peer });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  for (const to of [b, c]) await on.request(a, `open ${to} hi`);
  const [toB = "", toC = ""] = Object.keys((await on.state(a)).channels);
  await on.request(a, `say ${toB} leave`);
  await until("its end is closed", async () => textOf(await on.request(a, "heard")) === "closed;");
  await on.engine.stop(c, "enough");
  assert.match(textOf(await on.request(a, `say ${toC} x`)), /guest\/peer3 has stopped/u);
  assert.deepEqual((await on.state(a)).channels, {});
});

test("nobody speaks on another's channel", async () => {
  await using on = await stage({ peer });
  const [a, b] = [await on.start("peer"), await on.start("peer")];
  await on.request(a, `open ${b} hi`);
  const [channel = ""] = Object.keys((await on.state(a)).channels);
  assert.match(JSON.stringify(await outside(on, b, "channel-message", { channel, data: base64("x") })), /ChannelNotFound/u);
  assert.match(JSON.stringify(await outside(on, b, "channel-close", { channel, why: "x" })), /ChannelNotFound/u);
  assert.match(JSON.stringify(await outside(on, b, "channel-open", { data: base64("x"), end: { actor: a } })), /whoever opens it/u);
});

test("ends that another process held are closed, and their guest is told", async () => {
  await using on = await stage({ peer });
  const id = await on.start("peer");
  await outside(on, id, "channel-open", { data: base64("old"), end: { host: "a process that is gone" } });
  await until("it is told", async () => textOf(await on.request(id, "heard")) === "open old;closed;");
  assert.deepEqual((await on.state(id)).channels, {});
});
