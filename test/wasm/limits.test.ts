// Much at once: calls that wait, channels, bytes, and those who do not read what they asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Log } from "../../src/core/contract/index.ts";
import { until } from "../../src/testing/index.ts";
import { serveTheater, theaterFace } from "../../src/bridges/theater/index.ts";
import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import { WireClient } from "../../src/bridges/theater/server/wire-client.fixture.ts";
import { bytes, grounds, never, text } from "./grounds.ts";
import { labelled, refusal } from "./mischief.ts";

const MEBIBYTE = 1_048_576;
const filled = (length: number): Uint8Array => new Uint8Array(length).fill(0x41);

test("three hundred guests wait for one, another spins meanwhile, and each is answered once", async () => {
  await using on = await grounds({ limits: { callMs: 100 } });
  for (const [name, component] of Object.entries({ slow: "later", echo: "echo", bad: "hostile" })) await on.start(component, name);
  const names = Array.from({ length: 300 }, (_, n) => `a${n}`);
  await Promise.all(names.map((name) => on.start("asker", name)));
  const asked = names.map((name) => on.stage.request(name, bytes(`message-server-host.request slow ${name}\n&&\nset answered`), never));
  const waiting = async (): Promise<number> => (text(await on.stage.state("slow")) ?? "").split("\n").length;
  await until("all wait", async () => (await waiting()) === names.length);
  assert.equal(text(await on.stage.request("echo", bytes("meanwhile"), never)), "meanwhile");
  assert.equal((await refusal(() => on.stage.request("bad", bytes("l"), never), "bad"))?.code, "ActorError");
  for (const name of names) await on.stage.send("slow", bytes(`to ${name}`));
  const answers = new Set((await Promise.all(asked)).map(text));
  assert.deepEqual(answers, new Set([...answers, ...names.map((name) => `ok to ${name}\n&&\nok`)]));
  assert.equal(answers.size, names.length);
  for (const name of names) assert.equal(text(await on.stage.state(name)), "answered");
  assert.ok(on.sandbox.measures.workers <= 2);
});

test("a guest that begins by spawning its like ends with its thirty-third generation, and nobody waits for it", async () => {
  await using on = await grounds();
  await on.start("echo", "echo");
  await on.start("asker", "root");
  await labelled(on, "bomb", "asker", "do supervisor.spawn store:bomb");
  assert.match(text(await on.stage.request("root", bytes("supervisor.spawn store:bomb"), never)) ?? "", /^ok [0-9a-f-]{36}$/u);
  assert.equal(await on.stage.count(), 2 + 32);
  assert.equal(text(await on.stage.request("echo", bytes("meanwhile"), never)), "meanwhile");
  await on.stage.stop("root");
  await until("its family is gone", async () => (await on.stage.count()) === 1);
});

test("sixty-four channels to one guest are each their own, outlive its failure, and end with it", async () => {
  await using on = await grounds();
  await on.start("asker", "asker");
  const heard = Array.from({ length: 64 }, (): string[] => []);
  const channels = await Promise.all(
    heard.map((said) => {
      const peer = { message: (data: Uint8Array) => said.push(text(data) ?? ""), closed: (why: string) => said.push(why) };
      return on.stage.open("asker", bytes(""), peer);
    }),
  );
  await Promise.all(channels.map((channel, n) => channel.send(bytes(`set ${n}\n&&\nget`))));
  assert.deepEqual(
    heard,
    channels.map((_, n) => [`ok\n&&\nok ${n}`]),
  );
  const [first] = channels;
  const trapped = await refusal(() => first?.send(bytes("trap")) ?? Promise.reject(new Error("none")), "trap");
  assert.equal(trapped?.code, "ActorError");
  await on.stage.restart("asker");
  await first?.send(bytes("get"));
  assert.equal(heard[0]?.length, 2);
  await on.stage.stop("asker");
  await until("all have ended", () => heard.every((said) => said.at(-1) === "the actor has stopped"));
  assert.equal((await refusal(() => first?.send(bytes("get")) ?? Promise.reject(new Error("none")), "ended"))?.code, "ChannelClosed");
});

test("sixteen mebibytes are a state and an answer; what a door cannot carry is said, and the guest goes on", async () => {
  await using on = await grounds({ limits: { callMs: 2_000 } });
  const echo = await on.start("echo", "echo");
  await using door = await serveTheater({ stage: on.stage });
  const most = filled(16 * MEBIBYTE);
  assert.ok(Buffer.from(await on.stage.request("echo", most, never)).equals(most));
  const refused = await refusal(() => on.stage.request("echo", filled(16 * MEBIBYTE + 1), never), "more");
  assert.match(refused?.message ?? "", /returned more than 16777216 bytes/u);
  await on.stage.restart("echo");
  await on.stage.send("echo", most);
  await until("it is the state", async () => (await on.stage.state("echo"))?.length === most.length);
  // A state of its own beside such an answer is more than a call returns.
  await on.stage.send("echo", bytes("small"));
  await until("it is the state", async () => text(await on.stage.state("echo")) === "small");

  const part = filled(11 * MEBIBYTE);
  for (const [codec, fits] of [
    ["raw", false],
    ["fragmenting", true],
  ] as const) {
    await using stage = remoteStage({ port: door.port, codec });
    if (fits) assert.ok(Buffer.from(await stage.request(echo.id, part, never)).equals(part));
    else assert.equal((await refusal(() => stage.request(echo.id, part, never), codec))?.code, "InvalidRequest");
    assert.equal(text(await stage.request(echo.id, bytes("?"), never)), "?");
  }

  await using face = theaterFace({ stage: on.stage });
  const call = (data: Uint8Array): ReturnType<typeof face.act> =>
    face.act({ scopes: [] }, "tools/request_message", { actor_id: "echo", data: Buffer.from(data).toString("base64") }, {});
  assert.ok("ok" in (await call(filled(4 * MEBIBYTE))));
  assert.match(JSON.stringify(await call(filled(5 * MEBIBYTE))), /"refused":.*4194304/u);
  assert.ok("ok" in (await call(bytes("?"))));
});

test("a subscriber who never reads is dropped, and those beside go on", async () => {
  await using on = await grounds({ limits: { callMs: 1_000 } });
  const { id } = await on.start("hostile", "loud");
  await on.start("echo", "echo");
  const logged: string[] = [];
  const log: Log = (_level, data) => void logged.push(JSON.stringify(data));
  await using door = await serveTheater({ stage: on.stage, limits: { queuedBytes: MEBIBYTE }, log });
  using client = new WireClient(door.url, "raw");
  assert.match(JSON.stringify(await client.request({ SubscribeToActor: { id } })), /Subscribed/u);
  client.socket.pause();
  const dropped = (): boolean => logged.some((line) => line.includes("queue-full"));
  for (let n = 0; !dropped(); n += 1) {
    assert.ok(n < 50);
    assert.equal((await refusal(() => on.stage.request("loud", bytes("G"), never), "loud"))?.code, "ActorError");
    await on.stage.restart("loud");
    assert.equal(text(await on.stage.request("echo", bytes(`${n}`), never)), `${n}`);
  }
});
