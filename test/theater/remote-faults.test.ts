import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import type { Clock } from "../../src/core/contract/index.ts";
import { SimulatedClock, SimulatedEntropy, until } from "../../src/testing/index.ts";
import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import type { Stage, StageChange, StageCode } from "../../src/bridges/theater/stage.ts";
import { encoded, framed } from "./mock/frames.ts";
import { startMock } from "./mock/server.ts";
import { startNewMock } from "./new-mock.ts";
import { startOldMock } from "./old-mock.ts";
import { onLoopback } from "../on-loopback.ts";

const manifest = 'name = "echo"\n';
const bytes = (text: string): Uint8Array => Buffer.from(text);
const textOf = (data: Uint8Array | undefined): string | undefined => (data === undefined ? undefined : Buffer.from(data).toString());
const never = new AbortController().signal;
const silentPeer = { message: () => undefined, closed: () => undefined };
const refused = (code: StageCode, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Error && "code" in error, String(error));
  assert.deepEqual([error.name, error.code], ["StageError", code], error.message);
  assert.match(error.message, words);
  return true;
};
const count = (heard: readonly string[], command: string): number => heard.filter((one) => one === command).length;

describe("a stage over a Theater server that fails", () => {
  test("a reply that does not come in time is a Timeout that names the server, and a late one is nobody's", async () => {
    await using mock = await startOldMock();
    const clock = new SimulatedClock();
    await using stage = remoteStage({ port: mock.port, codec: "raw", clock });
    const { id } = await stage.start({ manifest, initialState: bytes("one") });
    const other = await stage.start({ manifest, initialState: bytes("two") });
    const release = mock.holdBack("GetActorState");
    const late = stage.state(id);
    const rejected = assert.rejects(late, refused("Timeout", new RegExp(`127\\.0\\.0\\.1:${mock.port} .*try again`, "u")));
    await until("asked", () => count(mock.heard, "GetActorState") === 1);
    await clock.advance(30_000);
    await rejected;
    release();
    assert.equal(textOf(await stage.state(other.id)), "two");
    assert.equal(textOf(await stage.state(id)), "one");
  });

  test("a request is waited for longer, and has its own end", async () => {
    await using mock = await startNewMock();
    const clock = new SimulatedClock();
    await using stage = remoteStage({ port: mock.port, codec: "fragmenting", clock });
    const { id } = await stage.start({ manifest });
    const actor = mock.actors.running.get(id);
    assert.ok(actor !== undefined);
    const patient = stage.request(id, bytes("wait"), never);
    await until("taken", () => actor.waiting === 1);
    await clock.advance(100_000);
    actor.letGo();
    assert.equal(textOf(await patient), "wait");
    const rejected = assert.rejects(stage.request(id, bytes("wait"), never), refused("Timeout", /unknown: read the actor's events/u));
    await until("taken", () => actor.waiting === 1);
    await clock.advance(300_000);
    await rejected;
    assert.equal(count(mock.heard, "RequestActorMessage"), 2);
  });

  test("slow requests hold up nothing else", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, limits: { connections: 2 } });
    const { id } = await stage.start({ manifest });
    const actor = mock.actors.running.get(id);
    assert.ok(actor !== undefined);
    const slow = Array.from({ length: 10 }, () => stage.request(id, bytes("wait"), never));
    await until("all are taken", () => actor.waiting === 10);
    assert.equal(textOf(await stage.request(id, bytes("quick"), never)), "quick");
    assert.equal(await stage.count(), 1);
    actor.letGo();
    assert.equal((await Promise.all(slow)).length, 10);
  });

  const written: readonly (readonly [command: string, run: (stage: Stage, id: string) => Promise<unknown>, words: RegExp])[] = [
    ["StartActor", (stage) => stage.start({ manifest }), /unknown: list the actors/u],
    ["StopActor", (stage, id) => stage.stop(id), /unknown: list the actors/u],
    ["RestartActor", (stage, id) => stage.restart(id), /unknown: list the actors/u],
    ["SendActorMessage", (stage, id) => stage.send(id, bytes("x")), /unknown: read the actor's events/u],
    ["RequestActorMessage", (stage, id) => stage.request(id, bytes("x"), never), /unknown: read the actor's events/u],
    ["OpenChannel", (stage, id) => stage.open(id, bytes("x"), silentPeer), /unknown: read the actor's events/u],
  ];
  for (const [command, run, words] of written) {
    test(`${command} is sent once where the connection breaks behind it, and its outcome is unknown`, async () => {
      await using mock = await startNewMock();
      await using stage = remoteStage({ port: mock.port });
      const { id } = await stage.start({ manifest });
      const before = count(mock.heard, command);
      mock.dieAt(command);
      await assert.rejects(run(stage, id), refused("CommunicationError", words));
      assert.equal(count(mock.heard, command), before + 1);
      assert.equal(await stage.count(), 1);
    });
  }

  test("what is said on a channel is sent once, and the channel ends with its connection", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest });
    const why: string[] = [];
    const channel = await stage.open(id, bytes("hello"), { message: () => undefined, closed: (reason) => void why.push(reason) });
    mock.dieAt("SendOnChannel");
    await assert.rejects(channel.send(bytes("x")), refused("CommunicationError", /unknown/u));
    await until("the end", () => why.length > 0);
    assert.equal(why.length, 1);
    assert.match(why[0] ?? "", /broke.*open another/u);
    assert.equal(count(mock.heard, "SendOnChannel"), 1);
    await assert.rejects(channel.send(bytes("x")), refused("ChannelClosed", /open another/u));
  });

  test("what only reads is sent again, so often and no more", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest });
    mock.dieAt("GetActorState");
    await assert.rejects(stage.state(id), refused("CommunicationError", /closed in place of its state/u));
    assert.equal(count(mock.heard, "GetActorState"), 3);
  });

  test("a server that comes back is reached again, also by who watches", async () => {
    const mock = await startOldMock();
    await using stage = remoteStage({ port: mock.port, limits: { attempts: 1_000, retryMs: 1, retryMaxMs: 5, pollMs: 5 } });
    const heard: StageChange[] = [];
    stage.watch((change) => void heard.push(change));
    const { id } = await stage.start({ manifest, initialState: bytes("kept") });
    await mock.close();
    const waiting = stage.state(id);
    await using again = await startOldMock({ port: mock.port, actors: mock.actors });
    assert.equal(textOf(await waiting), "kept");
    heard.length = 0;
    await until("changed", async () => {
      await stage.send(id, bytes("x"));
      return heard.some(({ what }) => what === "changed");
    });
    assert.equal(again.actors.running.size, 1);
  });

  test("a server that comes back with the other codec is understood", async () => {
    const mock = await startOldMock();
    await using stage = remoteStage({ port: mock.port, limits: { attempts: 1_000, retryMs: 1, retryMaxMs: 5, probeMs: 500 } });
    await stage.start({ manifest });
    await mock.close();
    await using again = await startNewMock({ port: mock.port });
    const { id } = await stage.start({ manifest });
    assert.equal((await stage.actor(id)).name, "echo");
    assert.equal(again.actors.running.size, 1);
  });

  test("where nothing listens, every call says so after so many attempts", async () => {
    const server = createServer();
    const { port } = await onLoopback(server);
    server.close();
    await once(server, "close");
    await using stage = remoteStage({ port, limits: { attempts: 3, retryMs: 1 } });
    await assert.rejects(stage.count(), refused("CommunicationError", /ECONNREFUSED.*3 times/u));
  });

  test("attempts come further and further apart", async () => {
    const server = createServer();
    const { port } = await onLoopback(server);
    server.close();
    await once(server, "close");
    const waited: number[] = [];
    const connectMs = 77_777;
    const clock: Clock = {
      now: () => 0,
      after(ms, run) {
        if (ms === connectMs) return () => undefined;
        waited.push(ms);
        setImmediate(run);
        return () => undefined;
      },
    };
    const limits = { attempts: 8, connectMs };
    await using stage = remoteStage({ port, codec: "raw", clock, entropy: new SimulatedEntropy(), limits });
    await assert.rejects(stage.count(), refused("CommunicationError", /ECONNREFUSED/u));
    const most = [200, 400, 800, 1_600, 3_200, 5_000, 5_000];
    assert.equal(waited.length, most.length);
    for (const [index, ms] of waited.entries()) assert.ok(ms >= (most[index] ?? 0) / 2 && ms <= (most[index] ?? 0), `${ms}`);
    assert.ok(waited.some((ms, index) => ms !== most[index]));
  });

  test("something that listens and never answers is no Theater server", async () => {
    const sockets = new Set<{ destroy(): void }>();
    const server = createServer((socket) => void sockets.add(socket.on("error", () => undefined)));
    const clock = new SimulatedClock();
    await using stage = remoteStage({ port: (await onLoopback(server)).port, clock });
    const rejected = assert.rejects(stage.count(), refused("CommunicationError", /none of its codecs: check the port/u));
    await until("it was asked under both", () => sockets.size === 2);
    // What waits for its answer waits since the connection came about.
    await until("both wait", async () => {
      await clock.advance(3_000);
      return sockets.size === 2;
    });
    await rejected;
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  test("something that speaks another protocol is no Theater server", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    });
    await using stage = remoteStage({ port: (await onLoopback(server)).port, limits: { attempts: 2, retryMs: 1 } });
    await assert.rejects(stage.count(), refused("CommunicationError", /check the port/u));
    server.close();
  });

  const noise: readonly (readonly [what: string, bytes: Buffer])[] = [
    ["bytes that are no JSON", framed("\u0000 nonsense")],
    ["a frame longer than any may be", Buffer.from("ffffffff00", "hex")],
    ["JSON that is no response", framed('{"Complete":[49]}')],
    ["a reply to another question", framed(JSON.stringify({ Complete: [...Buffer.from('{"ActorList":{"actors":[]}}')] }))],
    ["a reply about another actor", framed(JSON.stringify({ Complete: [...Buffer.from('{"SentMessage":{"id":"another"}}')] }))],
  ];
  for (const [what, garbage] of noise) {
    test(`${what}: not taken for the answer, nothing is sent again, and what follows is understood`, async () => {
      await using mock = await startNewMock();
      await using stage = remoteStage({ port: mock.port });
      const { id } = await stage.start({ manifest });
      mock.garble("SendActorMessage", garbage);
      await assert.rejects(stage.send(id, bytes("x")), refused("SerializationError", /unknown: read the actor's events/u));
      assert.equal(count(mock.heard, "SendActorMessage"), 1);
      assert.equal(textOf(await stage.request(id, bytes("y"), never)), "y");
      mock.garble("GetActorState", garbage);
      assert.equal(textOf(await stage.state(id)), "x");
    });
  }

  test("a frame longer than this side takes is not held", async () => {
    await using mock = await startOldMock();
    await using stage = remoteStage({ port: mock.port, limits: { frameBytes: 4_096 } });
    const { id } = await stage.start({ manifest });
    await assert.rejects(stage.send(id, Buffer.alloc(4_096)), refused("InvalidRequest", /cannot be sent.*4096 bytes/u));
    assert.equal(count(mock.heard, "SendActorMessage"), 0);
    mock.actors.running.get(id)?.send([...Buffer.alloc(4_096)]);
    await assert.rejects(stage.state(id), refused("SerializationError", /at most 4096 bytes/u));
    assert.equal(await stage.count(), 1);
  });

  test("a caller who leaves a request costs its connection, and nobody else's", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest });
    const leaving = new AbortController();
    const request = stage.request(id, bytes("wait"), leaving.signal);
    await until("taken", () => mock.actors.running.get(id)?.waiting === 1);
    leaving.abort();
    await assert.rejects(request, refused("CommunicationError", /read its events/u));
    mock.actors.running.get(id)?.letGo();
    assert.equal(textOf(await stage.request(id, bytes("mine"), never)), "mine");
  });

  test("a connection nobody uses is closed", async () => {
    await using mock = await startOldMock();
    const clock = new SimulatedClock();
    await using stage = remoteStage({ port: mock.port, codec: "raw", clock });
    assert.equal(await stage.count(), 0);
    assert.equal(mock.connections, 1);
    await clock.advance(60_000);
    await until("closed", () => mock.connections === 0);
    assert.equal(await stage.count(), 0);
  });

  test("a start that succeeded answers with the id, although the server is lost right after it", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, codec: "fragmenting", limits: { attempts: 1 } });
    const release = mock.holdBack("StartActor");
    const starting = stage.start({ manifest });
    await until("taken", () => count(mock.heard, "StartActor") === 1);
    mock.dieAt("ListActors");
    release();
    const [id] = mock.actors.running.keys();
    assert.deepEqual(await starting, { id, name: id, status: "RUNNING" });
  });

  test("a restart that succeeded is not to be repeated, although the server is lost right after it", async () => {
    await using mock = await startOldMock({ restart: "new-id" });
    await using stage = remoteStage({ port: mock.port, codec: "raw", limits: { attempts: 1 } });
    const { id } = await stage.start({ manifest });
    const release = mock.holdBack("RestartActor");
    const restarting = assert.rejects(
      stage.restart(id),
      refused("CommunicationError", /restarted the actor.*before you restart it again/u),
    );
    await until("taken", () => count(mock.heard, "RestartActor") === 1);
    mock.dieAt("ListActors");
    release();
    await restarting;
  });

  test("a list that comes after a newer one ends no actor and no channel", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, codec: "fragmenting", clock: new SimulatedClock() });
    const changes: StageChange[] = [];
    stage.watch((change) => void changes.push(change));
    assert.equal(await stage.count(), 0);
    const lists = count(mock.heard, "ListActors");
    const release = mock.holdBack("ListActors");
    const outdated = stage.count();
    await until("requested", () => count(mock.heard, "ListActors") > lists);
    // From here on, lists are not held back.
    mock.holdBack("ListActors")();
    const actor = mock.actors.make(manifest, null);
    assert.ok(actor !== undefined);
    assert.equal(await stage.count(), 1);
    const ends: string[] = [];
    await stage.open(actor.id, bytes("x"), { message: () => undefined, closed: (why) => void ends.push(why) });
    release();
    assert.equal(await outdated, 0);
    assert.deepEqual([changes.map(({ what }) => what).includes("ended"), ends], [false, []]);
  });

  test("an actor that has ended since it was listed does not fail the list", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, codec: "fragmenting" });
    const { id } = await stage.start({ manifest });
    mock.garble("GetActorStatus", encoded("fragmenting", { Error: { error: "ActorNotFound" } }));
    assert.deepEqual(
      (await stage.list(10)).map((actor) => actor.id),
      [id],
    );
  });

  for (const error of ["ActorNotFound", "ActorNotRunning"]) {
    test(`a subscription that is refused (${error}) leaves no connection open`, async () => {
      const id = "0b1c0000-0000-4000-8000-000000000001";
      const commands = {
        ListActors: () => ({ ActorList: { actors: [[id, "echo"]] } }),
        SubscribeToActor: () => ({ Error: { error } }),
      };
      await using mock = await startMock({ codec: "fragmenting", commands });
      await using stage = remoteStage({ port: mock.port, codec: "fragmenting", limits: { pollMs: 1 } });
      const undo = stage.watch(() => undefined);
      await until("it was tried ten times", () => count(mock.heard, "SubscribeToActor") >= 10);
      assert.ok(mock.connections <= 3, `${mock.connections}`);
      undo();
    });
  }

  test("an actor that was stopped while the list was read is not followed again", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, limits: { pollMs: 5, freshMs: 60_000 } });
    const undo = stage.watch(() => undefined);
    const actor = mock.actors.make(manifest, null);
    assert.ok(actor !== undefined);
    await until("it is followed", () => actor.followers.size === 1);
    // A connection besides the one that waits for the list.
    await Promise.all([stage.state(actor.id), stage.state(actor.id)]);
    const release = mock.holdBack("ListActors");
    const before = count(mock.heard, "ListActors");
    await until("the list is read, with it", () => count(mock.heard, "ListActors") > before);
    const followed = count(mock.heard, "SubscribeToActor");
    await stage.stop(actor.id);
    release();
    await until("the list is read again", () => count(mock.heard, "ListActors") >= before + 4);
    assert.equal(count(mock.heard, "SubscribeToActor"), followed);
    undo();
  });

  test("disposing ends what waits and leaves no connection", async () => {
    await using mock = await startNewMock();
    const stage = remoteStage({ port: mock.port });
    stage.watch(() => undefined);
    const { id } = await stage.start({ manifest });
    const why: string[] = [];
    await stage.open(id, bytes("x"), { message: () => undefined, closed: (reason) => void why.push(reason) });
    const request = assert.rejects(stage.request(id, bytes("wait"), never), { name: "StageError", code: "CommunicationError" });
    await until("taken", () => mock.actors.running.get(id)?.waiting === 1);
    await stage[Symbol.asyncDispose]();
    await request;
    assert.equal(why.length, 1);
    await until("closed", () => mock.connections === 0);
    await assert.rejects(stage.count(), refused("CommunicationError", /closed here/u));
  });
});
