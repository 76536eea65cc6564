import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Codec } from "../wire/codec.ts";
import { MemoryStage } from "./memory-stage.fixture.ts";
import { serveTheater } from "./serve-theater.ts";
import { WireClient } from "./wire-client.fixture.ts";

const CODECS: readonly Codec[] = ["raw", "fragmenting"];
const numbers = (text: string): readonly number[] => Array.from(Buffer.from(text));
const FIRST = "00000000-0000-4000-8000-000000000001";
const UNKNOWN_ID = "99999999-0000-4000-8000-000000000009";

async function openServer(t: TestContext, codec: Codec, actors = 1) {
  const stage = new MemoryStage();
  const door = await serveTheater({ stage });
  const client = new WireClient(door.url, codec);
  t.after(async () => {
    client[Symbol.dispose]();
    await door.close();
  });
  for (let at = 0; at < actors; at += 1) await stage.start({ manifest: 'name = "echo"' });
  return { stage, client, door };
}

for (const codec of CODECS) {
  void test(`every command has Theater's answer (${codec})`, async (t) => {
    const { client, stage } = await openServer(t, codec, 0);
    const manifest =
      'name = "echo"\nversion = "1.0.0"\ncomponent = "/echo.wasm"\n[[handlers]]\ntype = "runtime"\nconfig = {}\n[[handlers]]\ntype = "unheard-of"\n[[handler]]\ntype = "timing"\nmax_sleep_duration = 5\n';
    const id = FIRST;
    assert.deepEqual(await client.request({ StartActor: { manifest, initial_state: numbers("s0"), parent: false, subscribe: false } }), {
      ActorStarted: { id },
    });
    assert.deepEqual(await client.request("ListActors"), { ActorList: { actors: codec === "raw" ? [id] : [[id, "echo"]] } });
    assert.deepEqual(await client.request({ ListActors: {} }), { ActorList: { actors: codec === "raw" ? [id] : [[id, "echo"]] } });
    assert.deepEqual(await client.request({ GetActorState: { id } }), { ActorState: { id, state: numbers("s0") } });
    assert.deepEqual(await client.request({ SendActorMessage: { id, data: numbers("hi") } }), { SentMessage: { id } });
    assert.deepEqual(await client.request({ GetActorState: { id } }), { ActorState: { id, state: numbers("hi") } });
    assert.deepEqual(await client.request({ RequestActorMessage: { id, data: numbers("ping") } }), {
      RequestedMessage: { id, message: numbers("echo:ping") },
    });
    assert.deepEqual(await client.request({ GetActorStatus: { id } }), { ActorStatus: { id, status: "Running", paused: false } });
    assert.deepEqual(await client.request({ GetActorManifest: { id } }), {
      ActorManifest: {
        id,
        manifest: {
          name: "echo",
          version: "1.0.0",
          component: "/echo.wasm",
          component_path: "/echo.wasm",
          description: null,
          long_description: null,
          save_chain: null,
          init_state: null,
          handlers: [
            { type: "runtime", config: {} },
            { type: "timing", config: { max_sleep_duration: 5 } },
          ],
        },
        origin: "store:first",
      },
    });
    const metrics = JSON.stringify(await client.request({ GetActorMetrics: { id } }));
    assert.match(
      metrics,
      /"operation_metrics":\{"total_operations":3,"failed_operations":1,"total_processing_time":2500000,"max_processing_time":2000000,"min_processing_time":500000\}/,
    );
    assert.match(metrics, /"memory_usage":null.*"last_update":1745424601,"uptime_secs":\d+,"start_time":1745424600/);
    assert.deepEqual(await client.request({ RestartActor: { id } }), { Restarted: { id } });
    assert.deepEqual(await client.request({ UpdateActorComponent: { id, component: "store:second" } }), { ActorComponentUpdated: { id } });
    assert.equal(stage.find(id).component, "store:second");
    const events = await client.request({ GetActorEvents: { id } });
    const expected = stage.find(id).chain.map(({ hash, parentHash, eventType, data, timestamp, description }) => ({
      hash: Array.from(hash),
      parent_hash: parentHash && Array.from(parentHash),
      event_type: eventType,
      data: Array.from(data),
      timestamp,
      description,
    }));
    assert.deepEqual(events, { ActorEvents: { id, events: expected } });
    assert.equal(expected.length, 4);
    assert.deepEqual(await client.request({ NewStore: {} }), { StoreCreated: { store_id: "11111111-0000-4000-8000-000000000001" } });
    assert.deepEqual(await client.request({ StopActor: { id } }), { ActorStopped: { id } });
    assert.deepEqual(await client.request("ListActors"), { ActorList: { actors: [] } });
    assert.deepEqual(await client.request({ StartActor: { manifest: "m" } }), { ActorStarted: { id: FIRST.replace(/1$/, "2") } });
    assert.deepEqual(await client.request({ TerminateActor: { id: FIRST.replace(/1$/, "2") } }), {
      ActorStopped: { id: FIRST.replace(/1$/, "2") },
    });
  });

  void test(`commands that Theater itself answers wrongly or not at all get an error (${codec})`, async (t) => {
    const { client, stage } = await openServer(t, codec);
    const id = UNKNOWN_ID;
    const notFound = { Error: { error: "ActorNotFound", message: "There is no such actor: list them." } };
    for (const name of [
      "StopActor",
      "TerminateActor",
      "SubscribeToActor",
      "GetActorManifest",
      "GetActorStatus",
      "RestartActor",
      "GetActorState",
      "GetActorEvents",
      "GetActorMetrics",
    ])
      assert.deepEqual(await client.request({ [name]: { id } }), notFound, name);
    assert.deepEqual(await client.request({ SendActorMessage: { id, data: [] } }), notFound);
    assert.deepEqual(await client.request({ RequestActorMessage: { id, data: [] } }), notFound);
    assert.deepEqual(await client.request({ UpdateActorComponent: { id, component: "x" } }), notFound);
    assert.deepEqual(await client.request({ OpenChannel: { actor_id: { Actor: id }, initial_message: [] } }), notFound);
    for (const command of [{ SendOnChannel: { channel_id: "ch_9", message: [] } }, { CloseChannel: { channel_id: "ch_9" } }])
      assert.match(JSON.stringify(await client.request(command)), /"error":"ChannelNotFound"/);
    assert.match(
      JSON.stringify(await client.request({ OpenChannel: { actor_id: "External", initial_message: [] } })),
      /"InvalidRequest":"Only actors take channels/,
    );
    assert.match(
      JSON.stringify(await client.request({ OpenChannel: { actor_id: { Client: "me" }, initial_message: [] } })),
      /"InvalidRequest":"Only actors/,
    );
    assert.match(
      JSON.stringify(await client.request({ OpenChannel: { actor_id: { Actor: FIRST }, initial_message: numbers("no") } })),
      /"error":"ChannelRejected"/,
    );
    assert.match(JSON.stringify(await client.request({ StopActor: { id: 7 } })), /"InvalidRequest":"StopActor\.id must be a string\."/);
    assert.match(JSON.stringify(await client.request("Dance")), /"InvalidRequest":"There is no command/);
    assert.deepEqual(await client.request({ UnsubscribeFromActor: { id, subscription_id: "nothing" } }), { Unsubscribed: { id } });
    assert.match(
      JSON.stringify(await client.request({ StartActor: { manifest: "fails" } })),
      /"RuntimeError":"Its init said no.*"code":"ActorInitializationError"/,
    );
    const broken = JSON.stringify(await client.request({ StartActor: { manifest: "breaks" } }));
    assert.match(broken, /"InternalError":"The server failed at this command/);
    assert.doesNotMatch(broken, /secret/);
    stage.find(FIRST).status = "PAUSED";
    assert.match(JSON.stringify(await client.request({ SendActorMessage: { id: FIRST, data: [] } })), /"error":"ActorNotRunning"/);
    assert.deepEqual(await client.request({ GetActorStatus: { id: FIRST } }), {
      ActorStatus: { id: FIRST, status: "Failed", paused: true },
    });
  });

  void test(`commands are answered in order, and pushes do not wait for a slow one (${codec})`, async (t) => {
    const { client, stage, door } = await openServer(t, codec, 2);
    const other = FIRST.replace(/1$/, "2");
    assert.match(JSON.stringify(await client.request({ SubscribeToActor: { id: other } })), /"Subscribed"/);
    client.send({ RequestActorMessage: { id: FIRST, data: numbers("wait") } });
    client.send({ GetActorState: { id: FIRST } });
    using second = new WireClient(door.url, codec);
    assert.deepEqual(await second.request({ SendActorMessage: { id: other, data: [1] } }), { SentMessage: { id: other } });
    assert.match(JSON.stringify(await client.next()), /^\{"ActorEvent":\{"id":"00000000-0000-4000-8000-000000000002","event":/);
    stage.settle();
    assert.match(JSON.stringify(await client.next()), /"RequestedMessage"/);
    assert.match(JSON.stringify(await client.next()), /"ActorState"/);
  });
}
