import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Json } from "../../../core/contract/index.ts";
import { SimulatedClock, until } from "../../../testing/index.ts";
import { type Codec, encodeFrame } from "../wire/codec.ts";
import { MemoryStage } from "./memory-stage.fixture.ts";
import type { TheaterOptions } from "./options.ts";
import { serveTheater } from "./serve-theater.ts";
import { WireClient } from "./wire-client.fixture.ts";

const numbers = (text: string): readonly number[] => Array.from(Buffer.from(text));
const ID = "00000000-0000-4000-8000-000000000001";

async function openServer(t: TestContext, options: Partial<TheaterOptions> = {}) {
  const stage = new MemoryStage();
  const logged: Json[] = [];
  const door = await serveTheater({ stage, log: (_level, data) => logged.push(data), ...options });
  const clients: WireClient[] = [];
  const connected = (codec: Codec = "raw"): WireClient => {
    const client = new WireClient(door.url, codec);
    clients.push(client);
    return client;
  };
  t.after(async () => {
    for (const client of clients) client[Symbol.dispose]();
    stage.settle();
    await door.close();
  });
  await stage.start({ manifest: 'name = "echo"' });
  const logs = (words: string): boolean => JSON.stringify(logged).includes(words);
  return { stage, door, connected, logs };
}

void test("an invalid command is answered with an error, and the next is served", async (t) => {
  const { connected } = await openServer(t);
  const client = connected();
  for (const text of ["", "nonsense", "{", "[]", '{"a":1,"b":2}', "[".repeat(1_000), '"\xff"']) {
    client.sendRaw(encodeFrame(Buffer.from(text, "latin1")));
    assert.match(JSON.stringify(await client.next()), /"InvalidRequest"/, text);
  }
  assert.deepEqual(await client.request("ListActors"), { ActorList: { actors: [ID] } });
});

void test("a command with too many values or members is answered with an error", async (t) => {
  const { connected } = await openServer(t);
  const members = `{${Array.from({ length: 10_001 }, (_, n) => `"k${n}":0`).join(",")}}`;
  const values = `[${"[1,2],".repeat(100_000)}"x"]`;
  for (const codec of ["raw", "fragmenting"] as const) {
    const client = connected(codec);
    await client.request("ListActors");
    for (const text of [members, values]) {
      const json = `{"SendActorMessage":{"id":"${ID}","data":${text}}}`;
      client.sendRaw(encodeFrame(Buffer.from(codec === "raw" ? json : `{"Complete":${JSON.stringify(numbers(json))}}`)));
      assert.match(JSON.stringify(await client.next()), /InvalidRequest.*(10000 members|more values)/);
    }
    assert.match(JSON.stringify(await client.request("ListActors")), /ActorList/);
  }
});

void test("commands of one read yield to other connections", async (t) => {
  const { stage, connected } = await openServer(t);
  let inTurn = 0;
  let most = 0;
  const list = stage.list.bind(stage);
  stage.list = (...received) => {
    inTurn += 1;
    most = Math.max(most, inTurn);
    return list(...received);
  };
  const turn = (): void => {
    inTurn = 0;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  t.after(() => clearImmediate(next));
  const client = connected();
  await client.request("ListActors");
  client.sendRaw(Buffer.concat(Array.from({ length: 1_000 }, () => encodeFrame(Buffer.from('"ListActors"')))));
  await until("all are answered", () => client.received.length === 1_001);
  assert.ok(most <= 4, `${most} in one turn of the event loop`);
});

void test("a frame longer than the limit is answered and ends the connection", async (t) => {
  const { connected } = await openServer(t);
  const client = connected();
  client.sendRaw(Uint8Array.of(255, 255, 255, 255, 1, 2, 3));
  assert.match(JSON.stringify(await client.next()), /"InvalidRequest":"A frame may have at most 33554432 bytes/);
  await until("it has ended", () => client.closed);
});

void test("an incomplete frame ends the connection after its time limit", async (t) => {
  const clock = new SimulatedClock();
  const { connected, logs } = await openServer(t, { clock });
  const client = connected();
  await client.request("ListActors");
  client.sendRaw(Uint8Array.of(0, 0));
  await until("its timer is set", () => clock.pending === 1);
  await clock.advance(60_000);
  await until("it has ended", () => client.closed && logs("frame-slow"));
});

void test("a frame's time limit is suspended while the server does not read", async (t) => {
  const clock = new SimulatedClock();
  const { connected, logs, stage } = await openServer(t, { clock });
  const client = connected();
  client.send({ RequestActorMessage: { id: ID, data: numbers("wait") } });
  await until("the request arrives", () => stage.find(ID).received.length === 1);
  const frame = encodeFrame(Buffer.from('"ListActors"'.padEnd(24 * 1_048_576)));
  client.sendRaw(frame.subarray(0, 1_000));
  await until("both timers are set", () => clock.pending === 2);
  client.sendRaw(frame.subarray(1_000, -1));
  await until("the frame's has ended", () => clock.pending === 1);
  await clock.advance(60_000);
  stage.settle();
  assert.match(JSON.stringify(await client.next()), /"RequestedMessage"/);
  client.sendRaw(frame.subarray(-1));
  assert.deepEqual(await client.next(), { ActorList: { actors: [ID] } });
  assert.equal(logs("frame-slow"), false);

  client.send({ RequestActorMessage: { id: ID, data: numbers("wait") } });
  await until("the next request arrives", () => stage.find(ID).received.length === 2);
  client.sendRaw(frame.subarray(0, 1_000));
  await until("both timers are set again", () => clock.pending === 2);
  client.sendRaw(frame.subarray(1_000, -1));
  await until("the frame's has ended again", () => clock.pending === 1);
  stage.settle();
  assert.match(JSON.stringify(await client.next()), /"RequestedMessage"/);
  await until("the frame's begins anew", () => clock.pending === 1);
  await clock.advance(60_000);
  await until("it was dropped", () => client.closed && logs("frame-slow"));
});

void test("an unanswered request is a Timeout, and the next command is served", async (t) => {
  const clock = new SimulatedClock();
  const { connected, stage } = await openServer(t, { clock });
  const client = connected();
  client.send({ RequestActorMessage: { id: ID, data: numbers("wait") } });
  client.send("ListActors");
  await until("the request arrives", () => stage.find(ID).received.length === 1);
  await clock.advance(300_000);
  assert.match(JSON.stringify(await client.next()), /"error":"Timeout"/);
  assert.match(JSON.stringify(await client.next()), /"ActorList"/);
  assert.deepEqual(stage.find(ID).received, ["wait", "wait given up"]);
});

void test("a request is cancelled when its connection ends", async (t) => {
  const { connected, stage } = await openServer(t);
  const client = connected();
  client.send({ RequestActorMessage: { id: ID, data: numbers("wait") } });
  await until("the request arrives", () => stage.find(ID).received.length === 1);
  client.socket.resetAndDestroy();
  await until("it was given up", () => stage.find(ID).received.includes("wait given up"));
});

void test("a client that half-closes still receives its answers", async (t) => {
  const { connected, stage } = await openServer(t);
  const client = connected();
  client.send({ RequestActorMessage: { id: ID, data: numbers("wait") } });
  client.send("ListActors");
  client.end();
  await until("the request arrives", () => stage.find(ID).received.length === 1);
  stage.settle();
  assert.match(JSON.stringify(await client.next()), /"RequestedMessage"/);
  assert.match(JSON.stringify(await client.next()), /"ActorList"/);
  await until("it has ended", () => client.closed);
});

void test("a client that does not read pushes is disconnected, others are not", async (t) => {
  const { connected, stage, logs } = await openServer(t, { limits: { queuedBytes: 100_000 } });
  const [deaf, well] = [connected(), connected()];
  await deaf.request({ SubscribeToActor: { id: ID } });
  await well.request({ SubscribeToActor: { id: ID } });
  deaf.socket.pause();
  let expected = 0;
  await until("it was dropped", () => {
    for (let at = 0; at < 20; at += 1) stage.find(ID).record("x".repeat(5_000));
    expected += 20;
    return logs("queue-full");
  });
  await until("the other client has all pushes", () => well.received.length === expected + 1);
  await until("its subscription has ended", () => stage.find(ID).listeners.size === 1);
});

void test("a client that does not read an answer is disconnected after a time limit", async (t) => {
  const clock = new SimulatedClock();
  const { connected, stage, logs } = await openServer(t, { clock });
  const client = connected();
  await client.request("ListActors");
  client.socket.pause();
  for (let at = 0; at < 40; at += 1) client.send({ RequestActorMessage: { id: ID, data: numbers("much") } });
  await until("its answers wait", () => clock.pending === 1 && stage.find(ID).received.length > 0);
  const received = stage.find(ID).received.length;
  assert.ok(received < 5, String(received));
  await clock.advance(60_000);
  await clock.advance(60_000);
  await until("it was dropped", () => logs("blocked"));
});

void test("queued commands are bounded, and all are answered", async (t) => {
  const { connected, stage } = await openServer(t, { limits: { waiting: 4 } });
  const client = connected();
  client.send({ RequestActorMessage: { id: ID, data: numbers("wait") } });
  await until("the request arrives", () => stage.find(ID).received.length === 1);
  for (let at = 0; at < 200; at += 1) client.send({ SendActorMessage: { id: ID, data: new Uint8Array(60_000) } });
  await until("the client has to wait", () => client.socket.writableLength > 0);
  stage.settle();
  await until("all are answered", () => client.received.length === 201);
});

void test("an answer too long for the codec becomes an error", async (t) => {
  const { connected } = await openServer(t, { limits: { frameBytes: 1_000_000, messageBytes: 2_000_000 } });
  for (const codec of ["raw", "fragmenting"] as const) {
    const client = connected(codec);
    assert.match(
      JSON.stringify(await client.request({ RequestActorMessage: { id: ID, data: numbers("much") } })),
      /"SerializationError":"The answer is longer than/,
    );
  }
});

void test("the number of connections is bounded", async (t) => {
  const { connected, logs } = await openServer(t, { limits: { connections: 2 } });
  await connected().request("ListActors");
  await connected().request("ListActors");
  const third = connected();
  await until("it was refused", () => third.closed && logs("connection-refused"));
});
