/** Ends of channels whose actors are no more. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readBody } from "../../../core/chain/index.ts";
import { StoreError, type ActorId, type Message } from "../../../core/contract/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { FaultyStore, settle, SimulatedEntropy, until } from "../../../testing/index.ts";
import { base64, bytesOf, manifest, say, type Script, stage, type Stage, textOf, told } from "./stage.fixture.ts";

const peer: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-channel-open": async () => ({ back: { accepted: true, message: undefined } }),
  "message-server-client.handle-channel-close": async ({ state }, [channel]) => ({ state: `${state}closed ${told(channel)};` }),
  "message-server-client.handle-request": async ({ state, ask }, [, data]) => {
    const to = told(data);
    if (to === "heard") return { back: bytesOf(`${state}`) };
    if (to.startsWith("long ")) {
      await ask("message-server-host.open-channel", to.slice(5), bytesOf("hi"));
      await ask("timing.sleep", 10_000n);
    }
    return { back: bytesOf(JSON.stringify(await ask("message-server-host.open-channel", to, bytesOf("hi")))) };
  },
};

const heard = async (on: Stage, id: ActorId): Promise<string> => textOf(await on.request(id, "heard"));
async function opened(on: Stage, from: ActorId, to: ActorId): Promise<string> {
  await on.request(from, to);
  return Object.keys((await on.state(from)).channels).at(-1) ?? assert.fail();
}

test("however many ends another process left, each is told of once", async () => {
  await using on = await stage({ peer });
  const id = await on.start("peer");
  const many = Array.from({ length: 30 }, (_, n) => `ch_${n}`);
  const open = (channel: string): ReturnType<Stage["request"]> =>
    on.engine.call({ to: id, action: "channel-open", args: { channel, data: base64("hi"), end: { host: "a process that is gone" } } });
  await Promise.all(many.map(open));
  await until("all are closed", async () => Object.keys((await on.state(id)).channels).length === 0);
  assert.equal((await heard(on, id)).split(";").length - 1, many.length);
  const sent = (await on.events(id)).flatMap((event) => readBody(event)?.sent ?? []);
  assert.equal(sent.length, many.length);
});

test("nobody outside holds an end by no process's name", async () => {
  await using on = await stage({ peer });
  const id = await on.start("peer");
  const args = { channel: "ch_1", data: base64("hi"), end: { host: "" } };
  assert.match(JSON.stringify(await on.engine.call({ to: id, action: "channel-open", args })), /"code":"INVALID"/u);
});

test("an actor that is stopped ends its channels: whoever is at the other end is told, of these alone", async () => {
  await using on = await stage({ peer });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  const lost = await opened(on, a, b);
  const kept = await opened(on, c, b);
  await on.engine.stop(a, "enough");
  await until("it is told", async () => (await heard(on, b)) === `closed ${lost};`);
  assert.deepEqual((await on.state(b)).channels, { [kept]: { actor: c } });
});

test("an engine that is detached while ends are sent causes no rejection", async () => {
  let leave = (): void => undefined;
  const notified: string[] = [];
  const store = new (class extends FaultyStore {
    override enqueue(message: Message): Promise<void> {
      notified.push(message.to);
      leave();
      return super.enqueue(message);
    }
  })(memoryStore(), () => "pass");
  await using on = await stage({ peer }, { store });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  for (const to of [b, c]) await opened(on, a, to);
  leave = on.guests.attach(on.engine);
  await on.engine.stop(a, "enough");
  await until("one is notified", () => notified.length > 0);
  // An unhandled rejection would end the process.
  await settle();
  on.guests.attach(on.engine);
});

test("nobody but who runs it says that an actor has ended", async () => {
  await using on = await stage({ peer });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  const channel = await opened(on, a, b);
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

/** What an engine sends outside of turns is lost, as in a process that ends before. */
const losing = (): FaultyStore =>
  new (class extends FaultyStore {
    override enqueue(): Promise<void> {
      return Promise.reject(new StoreError("STORE_FULL", "No space."));
    }
  })(memoryStore(), () => "pass");

test("where a process ended before it could say so, the next one's first call finds an end that is gone", async () => {
  const store = losing();
  const contents = memoryContents();
  await using on = await stage({ peer }, { store, contents });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  const lost = await opened(on, a, b);
  const kept = await opened(on, b, c);
  await on.engine.stop(a, "enough");
  assert.deepEqual(Object.keys((await on.state(b)).channels), [lost, kept]);
  await on.engine[Symbol.asyncDispose]();
  await using next = await stage({ peer }, { store, contents, entropy: new SimulatedEntropy(7) });
  await until("it is told", async () => (await heard(next, b)) === `closed ${lost};`);
  assert.deepEqual((await next.state(b)).channels, { [kept]: { actor: c } });
});

test("the next process's first call closes a channel whose opener was killed as it opened it, or lives again", async () => {
  const store = losing();
  const contents = memoryContents();
  await using on = await stage({ peer }, { store, contents });
  const [a, b, c] = [await on.start("peer"), await on.start("peer"), await on.start("peer")];
  const lost = await opened(on, a, b);
  const kept = await opened(on, b, c);
  await on.engine.stop(a, "enough");
  await on.engine.call(await on.guests.prepare({ to: a, manifest: manifest("peer") }));
  const cut = assert.rejects(on.request(a, `long ${b}`));
  await until("it is open", async () => Object.keys((await on.state(b)).channels).length === 3);
  const half = Object.keys((await on.state(b)).channels).find((channel) => channel !== lost && channel !== kept) ?? "";
  await on.engine[Symbol.asyncDispose]();
  await cut;
  await using next = await stage({ peer }, { store, contents, entropy: new SimulatedEntropy(7) });
  await until("it is told", async () => (await heard(next, b)).split(";").length === 3);
  for (const channel of [lost, half]) assert.ok((await heard(next, b)).includes(`closed ${channel};`));
  assert.deepEqual((await next.state(b)).channels, { [kept]: { actor: c } });
});

test("C5 the next process's first call gets what was sent on a channel before its other end closed it, and one close", async () => {
  const talker: Script = {
    ...peer,
    "message-server-client.handle-channel-message": async ({ state }, [, data]) => ({ state: `${state}${told(data)};` }),
    "message-server-client.handle-send": async ({ ask }, [data = ""]) => {
      for (const last of ["one", "two"]) await ask("message-server-host.send-on-channel", told(data), bytesOf(last));
      await ask("message-server-host.close-channel", told(data));
      return {};
    },
  };
  const [store, contents] = [memoryStore(), memoryContents()];
  await using on = await stage({ talker }, { store, contents });
  const [a, b] = [await on.start("talker"), await on.start("talker")];
  const channel = await opened(on, a, b);
  await on.engine[Symbol.asyncDispose]();
  await using next = await stage({ talker }, { store, contents, entropy: new SimulatedEntropy(7) });
  await next.engine.call(say(a, "send", channel));
  await until("it has heard that", async () => (await heard(next, b)).includes("closed"));
  await settle();
  assert.equal(await heard(next, b), `one;two;closed ${channel};`);
});
