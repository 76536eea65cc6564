import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { until } from "../../../testing/index.ts";
import { MemoryStage } from "./memory-stage.fixture.ts";
import { serveTheater } from "./serve-theater.ts";
import { WireClient } from "./wire-client.fixture.ts";

const numbers = (text: string): readonly number[] => Array.from(Buffer.from(text));
const ID = "00000000-0000-4000-8000-000000000001";

async function openServer(t: TestContext) {
  const stage = new MemoryStage();
  const door = await serveTheater({ stage, limits: { subscriptions: 3, channels: 3 } });
  const clients: WireClient[] = [];
  t.after(async () => {
    for (const client of clients) client[Symbol.dispose]();
    await door.close();
  });
  const connected = (): WireClient => {
    const client = new WireClient(door.url, "fragmenting");
    clients.push(client);
    return client;
  };
  await stage.start({ manifest: 'name = "echo"' });
  return { stage, connected, client: connected() };
}

const eventNames = (heard: readonly unknown[]): readonly string[] =>
  heard
    .map(
      (one) =>
        /"function_name":"([^"]*)"/.exec(
          Buffer.from(/"data":\[([\d,]*)\]/.exec(JSON.stringify(one))?.[1]?.split(",").map(Number) ?? []).toString(),
        )?.[1],
    )
    .filter((name) => name !== undefined);
const parsed = (value: unknown, name: string): string => new RegExp(`"${name}":"([^"]*)"`).exec(JSON.stringify(value))?.[1] ?? "";

void test("subscribing at the start reports all events once, from the first on", async (t) => {
  const { client, stage } = await openServer(t);
  const started = await client.request({ StartActor: { manifest: 'name = "new"', parent: true, subscribe: true } });
  const id = parsed(started, "id");
  stage.find(id).record("more");
  await until("both events", () => client.received.length === 3);
  assert.deepEqual(eventNames(client.received), ["init", "more"]);
  await client.request({ RequestActorMessage: { id, data: numbers("shutdown") } });
  await until("the end", () => JSON.stringify(client.received).includes("ActorResult"));
  assert.match(
    JSON.stringify(client.received),
    new RegExp(`\\{"ActorResult":\\{"Success":\\{"actor_id":"${id}","result":\\[100,111,110,101\\]\\}\\}\\}`),
  );
});

void test("a parent receives its actor's failure and stop, a subscriber its failure", async (t) => {
  const { client, stage } = await openServer(t);
  const id = parsed(await client.request({ StartActor: { manifest: "m", parent: true, subscribe: true } }), "id");
  client.send({ RequestActorMessage: { id, data: numbers("trap") } });
  await until("the failure is pushed", () => JSON.stringify(client.received).includes('"Error":{"error"'));
  const texts = client.received.map((one) => JSON.stringify(one));
  assert.ok(texts.some((one) => one.startsWith(`{"ActorError":{"id":"${id}","error":{"Internal":{"hash":`)));
  assert.ok(
    texts.some(
      (one) =>
        one.startsWith(`{"ActorResult":{"Error":{"actor_id":"${id}","error":{"Internal":`) && one.endsWith('"message":"unreachable"}}}'),
    ),
  );
  stage.find(id).record("again");
  await until("it goes on", () => eventNames(client.received).includes("again"));
  client.send({ StopActor: { id } });
  await until("its stop", () => JSON.stringify(client.received).includes(`{"ActorResult":{"ExternalStop":{"actor_id":"${id}"}}}`));
});

void test("any connection may end a subscription, repeatedly", async (t) => {
  const { client, connected, stage } = await openServer(t);
  const ids = [
    parsed(await client.request({ SubscribeToActor: { id: ID } }), "subscription_id"),
    parsed(await client.request({ SubscribeToActor: { id: ID } }), "subscription_id"),
  ];
  assert.notEqual(ids[0], ids[1]);
  stage.find(ID).record("twice");
  await until("each tells it", () => client.received.length === 4);
  const [first = "", second = ""] = ids;
  const unsubscribed = { Unsubscribed: { id: ID } };
  assert.deepEqual(await connected().request({ UnsubscribeFromActor: { id: ID, subscription_id: first } }), unsubscribed);
  stage.find(ID).record("once");
  await until("one tells it", () => client.received.length === 5);
  const third = connected();
  assert.deepEqual(await third.request({ UnsubscribeFromActor: { id: ID, subscription_id: second } }), unsubscribed);
  assert.deepEqual(await third.request({ UnsubscribeFromActor: { id: ID, subscription_id: second } }), unsubscribed);
  assert.equal(stage.find(ID).listeners.size, 0);
});

void test("subscriptions and channels end with their connection, actors do not", async (t) => {
  const { client, stage } = await openServer(t);
  await client.request({ SubscribeToActor: { id: ID } });
  await client.request({ OpenChannel: { actor_id: { Actor: ID }, initial_message: [] } });
  client.end();
  await until(
    "both have ended",
    () => stage.find(ID).listeners.size === 0 && stage.find(ID).received.includes("ch_0000000000000000 closed"),
  );
  await until("the connection has", () => client.closed);
  assert.equal(stage.actors.size, 1);
});

void test("channel messages follow the answer to opening it, and its end is pushed", async (t) => {
  const { client, connected } = await openServer(t);
  const channel_id = "ch_0000000000000000";
  const message = (text: string) => ({ ChannelMessage: { channel_id, sender_id: { Actor: ID }, message: numbers(text) } });
  assert.deepEqual(await client.request({ OpenChannel: { actor_id: { Actor: ID }, initial_message: numbers("eager") } }), {
    ChannelOpened: { channel_id, actor_id: { Actor: ID } },
  });
  assert.deepEqual(await client.next(), message("welcome"));
  assert.deepEqual(await client.next(), message("at once"));
  const other = connected();
  assert.deepEqual(await other.request({ SendOnChannel: { channel_id, message: numbers("hi") } }), { MessageSent: { channel_id } });
  assert.deepEqual(await client.next(), message("back hi"));
  client.send({ SendOnChannel: { channel_id, message: numbers("bye") } });
  assert.deepEqual(
    [await client.next(), await client.next(), await client.next()],
    [message("back bye"), { ChannelClosed: { channel_id } }, { MessageSent: { channel_id } }],
  );
  assert.match(JSON.stringify(await other.request({ SendOnChannel: { channel_id, message: [] } })), /ChannelNotFound/);
});

void test("closing another client's channel notifies the client that opened it", async (t) => {
  const { client, connected, stage } = await openServer(t);
  const opened = async (): Promise<string> => {
    const channel_id = parsed(await client.request({ OpenChannel: { actor_id: { Actor: ID }, initial_message: [] } }), "channel_id");
    await client.next();
    return channel_id;
  };
  const own = await opened();
  assert.deepEqual(await client.request({ CloseChannel: { channel_id: own } }), { ChannelClosed: { channel_id: own } });
  const foreign = await opened();
  assert.deepEqual(await connected().request({ CloseChannel: { channel_id: foreign } }), { ChannelClosed: { channel_id: foreign } });
  assert.deepEqual(await client.next(), { ChannelClosed: { channel_id: foreign } });
  assert.deepEqual(stage.find(ID).received, [`${own} closed`, `${foreign} closed`]);
  assert.match(JSON.stringify(await client.request({ CloseChannel: { channel_id: own } })), /ChannelNotFound/);
});

void test("a channel that ends while it opens is reported as opened and closed", async (t) => {
  const { client } = await openServer(t);
  client.send({ OpenChannel: { actor_id: { Actor: ID }, initial_message: numbers("brief") } });
  assert.match(JSON.stringify(await client.next()), /ChannelOpened/);
  assert.match(JSON.stringify(await client.next()), /ChannelMessage/);
  assert.match(JSON.stringify(await client.next()), /ChannelClosed/);
});

void test("subscriptions and channels of a connection are bounded and freed", async (t) => {
  const { client, stage } = await openServer(t);
  const subscribe = async (): Promise<string> => JSON.stringify(await client.request({ SubscribeToActor: { id: ID } }));
  const open = async (): Promise<string> => {
    const opened = JSON.stringify(await client.request({ OpenChannel: { actor_id: { Actor: ID }, initial_message: [] } }));
    if (opened.includes("ChannelOpened")) await client.next();
    return opened;
  };
  for (let at = 0; at < 5; at += 1)
    assert.match(JSON.stringify(await client.request({ SubscribeToActor: { id: "nobody" } })), /ActorNotFound/);
  for (let at = 0; at < 3; at += 1) assert.match(await subscribe(), /Subscribed/);
  assert.match(await subscribe(), /InvalidRequest":"This connection has 3 subscriptions/);
  const before = stage.actors.size;
  assert.match(JSON.stringify(await client.request({ StartActor: { manifest: "m", subscribe: true } })), /InvalidRequest/);
  assert.equal(stage.actors.size, before);
  for (let at = 0; at < 5; at += 1)
    assert.match(
      JSON.stringify(await client.request({ OpenChannel: { actor_id: { Actor: ID }, initial_message: numbers("no") } })),
      /Rejected/,
    );
  let last = "";
  for (let at = 0; at < 3; at += 1) last = await open();
  assert.match(await open(), /InvalidRequest":"This connection has 3 channels/);
  await client.request({ CloseChannel: { channel_id: /ch_\d+/.exec(last)?.[0] ?? "" } });
  assert.match(await open(), /ChannelOpened/);
});
