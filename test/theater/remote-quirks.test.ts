import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SimulatedClock, until } from "../../src/testing/index.ts";
import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import type { Stage, StageChange, StageCode } from "../../src/bridges/theater/stage.ts";
import { startMock } from "./mock/server.ts";
import { startNewMock } from "./new-mock.ts";
import { startOldMock } from "./old-mock.ts";

const manifest = 'name = "echo"\n';
const bytes = (text: string): Uint8Array => Buffer.from(text);
const never = new AbortController().signal;
const refused = (code: StageCode, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Error && "code" in error, String(error));
  assert.deepEqual([error.name, error.code], ["StageError", code], error.message);
  assert.match(error.message, words);
  return true;
};
const typesOf = async (stage: Stage, id: string): Promise<readonly string[]> =>
  (await stage.events(id, { limit: 100 })).map(({ type }) => type);

describe("a stage over Theater servers of several years", () => {
  test("each is spoken to in its codec, found out once", async () => {
    for (const start of [startOldMock, startNewMock]) {
      await using mock = await start();
      await using stage = remoteStage({ port: mock.port });
      await stage.start({ manifest });
      await stage.count();
      await stage.count();
      assert.equal(mock.actors.running.size, 1);
      assert.ok(mock.connections <= 3, `${mock.connections}`);
    }
  });

  test("a codec that is given is not found out", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, codec: "fragmenting" });
    assert.equal(await stage.count(), 0);
    assert.equal(mock.connections, 1);
    // To see that the connection is of use, and for the count.
    assert.deepEqual(mock.heard, ["ListActors", "ListActors"]);
  });

  test("what names an actor once stands for its id, and what names several is refused", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest: 'name = "alone"\n' });
    assert.equal((await stage.actor("alone")).id, id);
    assert.equal((await stage.actor(id.toUpperCase())).id, id);
    await stage.start({ manifest });
    await stage.start({ manifest });
    await assert.rejects(stage.send("echo", bytes("x")), refused("InvalidRequest", /2 actors.*by its id/u));
  });

  test("a list goes on after an id, whoever had it, and after nothing else", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest });
    assert.deepEqual(await stage.list(10, id.toUpperCase()), []);
    assert.equal((await stage.list(10, "0".repeat(8) + id.slice(8))).length, 1);
    await assert.rejects(stage.list(10, "nope"), refused("InvalidRequest", /after an actor that it had/u));
  });

  test("a component and a name are refused before anything is sent", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    await assert.rejects(stage.start({ manifest, component: bytes("x") }), refused("InvalidRequest", /name that place in the manifest/u));
    await assert.rejects(stage.start({ manifest, name: "x" }), refused("InvalidRequest", /keep the id/u));
    assert.deepEqual(mock.heard, []);
  });

  test("details tell what is measured and null where nothing is, and the manifest as the server gives it", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest: 'name = "echo"\n' });
    await stage.request(id, bytes("x"), never);
    const { metrics, manifestContent, manifest: reference } = await stage.actor(id);
    assert.deepEqual(
      { ...metrics, startedAt: undefined },
      {
        operations: 2,
        failedOperations: null,
        totalMs: 3,
        maxMs: 1.5,
        minMs: 1.5,
        memoryBytes: null,
        queued: null,
        startedAt: undefined,
        lastAt: null,
      },
    );
    assert.deepEqual(JSON.parse(manifestContent ?? ""), { name: "echo", version: "0.1.0", component: "echo.wasm" });
    assert.match(reference ?? "", /^[0-9a-f]{64}$/u);
  });

  test("a server that knows no manifests is not asked, and what was started here is known here", async () => {
    await using mock = await startOldMock();
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest });
    assert.equal((await stage.actor(id)).manifestContent, manifest);
    assert.equal(mock.heard.includes("GetActorManifest"), false);
    const foreign = mock.actors.make(manifest, null);
    assert.ok(foreign !== undefined);
    foreign.begin();
    assert.equal((await stage.actor(foreign.id)).manifestContent, undefined);
  });

  test("a restart that made another of it says whom", async () => {
    await using mock = await startOldMock({ restart: "new-id" });
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest });
    const error: unknown = await stage.restart(id).catch((reason: unknown) => reason);
    const [heir] = mock.actors.running.keys();
    assert.ok(heir !== undefined && error instanceof Error);
    refused("ActorError", new RegExp(`again as ${heir}, without its state`, "u"))(error);
  });

  test("an actor that failed is shown as paused in the list, and why a request to it fails is told", async () => {
    await using mock = await startOldMock();
    await using stage = remoteStage({ port: mock.port });
    const { id } = await stage.start({ manifest });
    await stage.send(id, bytes("fail"));
    await assert.rejects(
      stage.request(id, bytes("x"), never),
      refused("ActorError", /event [0-9a-f]{40}: it was told to fail.*start another/u),
    );
    assert.deepEqual(
      (await stage.list(10)).map(({ status }) => status),
      ["PAUSED"],
    );
  });

  test("whom others start and stop, a watcher hears of, and their events too", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, limits: { pollMs: 5 } });
    await using other = remoteStage({ port: mock.port });
    const heard: StageChange[] = [];
    const undo = stage.watch((change) => void heard.push(change));
    await until("a first look", () => mock.heard.filter((command) => command === "ListActors").length >= 3);
    const { id } = await other.start({ manifest });
    const hears = (what: StageChange["what"]) => heard.some((change) => change.actor === id && change.what === what);
    await until("began", () => hears("began"));
    await until("changed", async () => {
      await other.send(id, bytes("x"));
      return hears("changed");
    });
    await other.stop(id);
    await until("ended", () => hears("ended"));
    undo();
  });

  test("no more actors are followed than may be", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, limits: { followed: 2, pollMs: 5 } });
    const undo = stage.watch(() => undefined);
    const started = [];
    for (let index = 0; index < 6; index += 1) started.push(await stage.start({ manifest }));
    const followed = (): number => Array.from(mock.actors.running.values()).filter(({ followers }) => followers.size > 0).length;
    await until("two are", () => followed() === 2);
    // Whom somebody asks about is followed instead of another.
    const [first] = started;
    assert.ok(first !== undefined);
    await until("the first is", async () => {
      await stage.state(first.id);
      return (mock.actors.running.get(first.id)?.followers.size ?? 0) > 0;
    });
    await until("two are", () => followed() === 2);
    undo();
    await until("none is", async () => {
      await stage.events(first.id, { limit: 1 });
      return followed() === 0;
    });
  });

  test("the statuses of a list are requested on several connections at once", async () => {
    const ids = Array.from({ length: 9 }, (_, index) => `0b1c0000-0000-4000-8000-00000000000${index}`);
    const waiting: (() => void)[] = [];
    const requested: unknown[] = [];
    await using mock = await startMock({
      codec: "fragmenting",
      commands: {
        ListActors: () => ({ ActorList: { actors: ids.map((id) => [id, "echo"]) } }),
        async GetActorStatus({ id }) {
          requested.push(id);
          // The first shows that the server reports pauses. After it, four at a time.
          if (requested.length > 1) await new Promise<void>((resolve) => waiting.push(resolve));
          if (typeof id !== "string") throw new Error("no id");
          return { ActorStatus: { id, status: "Failed", paused: id === ids[3] } };
        },
      },
    });
    await using stage = remoteStage({ port: mock.port, codec: "fragmenting" });
    const list = stage.list(100);
    for (let left = 8; left > 0; left -= 4) {
      await until("four wait", () => waiting.length === 4);
      for (const go of waiting.splice(0)) go();
    }
    assert.deepEqual(
      (await list).map(({ status }) => status),
      ids.map((id) => (id === ids[3] ? "PAUSED" : "FAILED")),
    );
  });

  test("prioritized actors are followed before others, and polled where no more can be followed", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, limits: { followed: 2, pollMs: 5 } });
    const heard = new Set<string>();
    const undo = stage.watch(({ actor, what }) => void (what === "changed" && heard.add(actor)));
    const actors = Array.from({ length: 5 }, () => mock.actors.make(manifest, null)).filter((actor) => actor !== undefined);
    const others = Array.from({ length: 5 }, () => mock.actors.make(manifest, null)).filter((actor) => actor !== undefined);
    await until("two are followed", () => [...actors, ...others].filter(({ followers }) => followers.size > 0).length === 2);
    const ends = actors.map(({ id }) => stage.prioritize?.(id));
    await until("two of them are", () => actors.filter(({ followers }) => followers.size > 0).length === 2);
    for (const { id } of others) await stage.state(id);
    assert.deepEqual(
      others.filter(({ followers }) => followers.size > 0),
      [],
    );
    assert.deepEqual(heard, new Set());
    for (const actor of actors) actor.send([1]);
    await until("each has changed", () => heard.size === actors.length);
    for (const end of ends) end?.();
    await until("others are followed again", async () => {
      for (const { id } of others) await stage.state(id);
      return actors.every(({ followers }) => followers.size === 0);
    });
    undo();
  });

  test("what an prioritized actor did before it could be followed is noticed", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    const heard: StageChange[] = [];
    const undo = stage.watch((change) => void heard.push(change));
    const release = mock.holdBack("SubscribeToActor");
    const actor = mock.actors.make(manifest, null);
    assert.ok(actor !== undefined);
    const end = stage.prioritize?.(actor.id);
    await until("it is to be followed", () => actor.followers.size === 1);
    // As if it had happened before.
    actor.followers.clear();
    actor.send([1]);
    release();
    await until("the change is noticed", () => heard.some((change) => change.actor === actor.id && change.what === "changed"));
    end?.();
    undo();
  });

  test("the events of one call are one change", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port });
    const actor = mock.actors.make(manifest, null);
    assert.ok(actor !== undefined);
    let changes = 0;
    const undo = stage.watch(({ what }) => (changes += Number(what === "changed")));
    await until("it is followed", () => actor.followers.size === 1);
    const before = (await stage.events(actor.id, { limit: 100 })).length;
    actor.send([1]);
    await until("the change is noticed", () => changes > 0);
    assert.ok((await stage.events(actor.id, { limit: 100 })).length > before + 1);
    assert.equal(changes, 1);
    undo();
  });

  test("no more channels than may be", async () => {
    await using mock = await startNewMock();
    await using stage = remoteStage({ port: mock.port, limits: { channels: 1 } });
    const { id } = await stage.start({ manifest });
    const peer = { message: () => undefined, closed: () => undefined };
    const channel = await stage.open(id, bytes("x"), peer);
    await assert.rejects(stage.open(id, bytes("x"), peer), refused("InvalidRequest", /close one first/u));
    await channel.close();
    await (await stage.open(id, bytes("x"), peer)).close();
  });

  test("an event is found by its id among all actors, and where not all could be searched, that is said", async () => {
    await using mock = await startNewMock();
    const clock = new SimulatedClock();
    const stageOf = () => remoteStage({ port: mock.port, codec: "fragmenting", clock, limits: { connections: 4 } });
    await using starter = stageOf();
    for (let count = 0; count < 120; count += 1) await starter.start({ manifest });
    const last = (await starter.list(1_000)).at(-1)?.id ?? "";
    const [event] = await starter.events(last, { limit: 1 });
    assert.ok(event !== undefined);
    await using stage = stageOf();
    assert.deepEqual(await stage.event(event.id), event);
    await using other = stageOf();
    assert.equal(await other.event("ff".repeat(20)), undefined);

    await using late = stageOf();
    await late.events((await late.list(1))[0]?.id ?? "", { limit: 1 });
    const release = mock.holdBack("GetActorEvents");
    const asked = mock.heard.length;
    const found = assert.rejects(
      late.event(event.id),
      refused("Timeout", /^Of 120 actors at .* 0 were searched for the event .*: read the events/u),
    );
    await until("it is asked", () => mock.heard.slice(asked).includes("GetActorEvents"));
    await clock.advance(20_000);
    await found;
    release();
  });

  test("where a server keeps no chains, what was seen is told, from an actor's start where it was started here", async () => {
    await using mock = await startNewMock({ events: false });
    const clock = new SimulatedClock();
    await using stage = remoteStage({ port: mock.port, codec: "fragmenting", clock });
    const foreign = mock.actors.make(manifest, null);
    assert.ok(foreign !== undefined);
    foreign.begin();
    const { id } = await stage.start({ manifest, initialState: bytes("one") });
    const asked = typesOf(stage, id);
    // It is silent to what it does not know, and asked only once.
    let isAnswered = false;
    void asked.finally(() => (isAnswered = true));
    await until("it is found out", async () => {
      if (!isAnswered) await clock.advance(3_000);
      return isAnswered;
    });
    assert.deepEqual(await asked, ["theater-runtime", "wasm", "StateChanged"]);
    await stage.send(id, bytes("two"));
    await until("the event comes", async () => (await typesOf(stage, id)).length === 5);
    assert.equal((await typesOf(stage, id)).at(-1), "StateChanged");
    const [first] = await stage.events(id, { limit: 100 });
    assert.ok(first !== undefined);
    assert.equal((await stage.event(first.id))?.id, first.id);

    // Of one that others started, from the first time it is asked about.
    assert.deepEqual(await typesOf(stage, foreign.id), []);
    await assert.rejects(stage.events(foreign.id, { limit: 1, after: first.id }), refused("InvalidRequest", /keeps no chains/u));
    await until("it is followed", () => foreign.followers.size > 0);
    foreign.send([1]);
    await until("its events come", async () => (await typesOf(stage, foreign.id)).length === 2);
    assert.equal(mock.heard.includes("GetActorEvents"), false);
    await stage.stop(id);
    assert.equal((await typesOf(stage, id)).length, 5);
  });

  test("options that make no sense are refused", () => {
    assert.throws(() => remoteStage({ port: 0 }), refused("InvalidRequest", /1 to 65535/u));
    assert.throws(() => remoteStage({ limits: { replyMs: 0.5 } }), refused("InvalidRequest", /limits\.replyMs/u));
  });
});
