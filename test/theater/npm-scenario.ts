import assert from "node:assert/strict";
import { until } from "../../src/testing/index.ts";
import type { NpmClient } from "./npm-client.ts";

/** What is played, and what it is known to answer. */
export interface Play {
  readonly manifest: string;
  /** As the manifest says. */
  readonly name: string;
  readonly ask: { readonly text: string; readonly answer: RegExp };
  /** What is said on a channel and what comes back over it; absent: it answers nothing there. */
  readonly channel?: { readonly text: string; readonly answer: RegExp };
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const NOBODY = "99999999-0000-4000-8000-000000000009";

/** Start, list, look, request, send, subscribe, channel, restart, stop: as Theater's own client does it. */
export async function playScenario(client: NpmClient, play: Play): Promise<void> {
  const told: unknown[] = [];
  const ends: unknown[] = [];
  const actor = await client.startActor({
    manifest: play.manifest,
    onEvent: (event) => told.push(event),
    onActorResult: (end) => ends.push(end),
  });
  assert.match(actor.id, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);

  assert.ok((await client.listActors()).some(({ id }) => id === actor.id));
  assert.ok((await client.listActorsRaw()).some(({ id, manifest }) => id === actor.id && manifest === play.name));
  assert.equal(await actor.getStatus(), "Running");
  assert.match(JSON.stringify(await actor.getManifest()), new RegExp(`"name":"${play.name}".*"handlers":\\[`));
  assert.match(JSON.stringify(await actor.getMetrics()), /"operation_metrics":\{"total_operations":/);

  assert.match(await actor.requestString(play.ask.text), play.ask.answer);
  await until("the request's events are told", () => told.some((event) => /"event_type":"wasm"/.test(JSON.stringify(event))));
  const before = await actor.getEvents();
  assert.ok(before.length > 0);

  const events = await actor.subscribe();
  const heard: unknown[] = [];
  events.onEvent((event) => heard.push(event));
  await actor.sendString(play.ask.text);
  await until("the send's events are told", () => heard.length > 0);
  await until("they are in the chain", async () => (await actor.getEvents()).length > before.length);
  assert.deepEqual((await actor.getEvents())[before.length], heard[0]);
  events.close();
  await actor.getState();

  await channelScene(client, actor.id, play);

  await actor.restart();
  assert.equal(await actor.getStatus(), "Running");
  assert.match(await actor.requestString(play.ask.text), play.ask.answer);
  await assert.rejects(client.actor(NOBODY).getStatus(), /ActorNotFound/);
  await assert.rejects(client.actor(NOBODY).getState(), /ActorNotFound/);
  await assert.rejects(client.actor(NOBODY).requestString("x"), /ActorNotFound/);
  await assert.rejects(client.openChannel({ Client: "me" }), /InvalidRequest/);

  // Not by `actor.stop()`: that hangs up before the end can be told.
  await client.actor(actor.id).stop();
  await until("its end is told", () => ends.length === 1);
  assert.deepEqual(ends, [{ ExternalStop: { actor_id: actor.id } }]);
  assert.ok(!(await client.listActors()).some(({ id }) => id === actor.id));
  await actor.stop().catch(() => undefined);
}

async function channelScene(client: NpmClient, id: string, { channel: said }: Play): Promise<void> {
  const channel = await client.openChannel({ Actor: id }, bytes("hello"));
  assert.match(channel.channelId, /^ch_/);
  const heard: string[] = [];
  channel.onMessage(({ senderId, data }) => {
    assert.deepEqual(senderId, { Actor: id });
    heard.push(new TextDecoder().decode(data));
  });
  await channel.sendMessage(bytes(said?.text ?? "anything"));
  if (said !== undefined) await until("the channel answers", () => heard.some((text) => said.answer.test(text)));
  assert.equal(channel.isOpen, true);
  channel.close();
  assert.equal(channel.isOpen, false);
}
