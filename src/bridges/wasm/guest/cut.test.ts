/** Calls that are cut short, after they have done what lasts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readBody } from "../../../core/chain/index.ts";
import { type ActorId, StoreError } from "../../../core/contract/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { FaultyStore, settle, SimulatedEntropy, until } from "../../../testing/index.ts";
import { bytesOf, manifest, say, type Script, stage, type Stage, textOf, told } from "./stage.fixture.ts";

const peer: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-channel-open": async () => ({ back: { accepted: true, message: undefined } }),
  "message-server-client.handle-channel-close": async ({ state }) => ({ state: `${state}closed;` }),
  "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(`${state}`) }),
};

/** Opens a channel to whom it is told, has a child, and sleeps. */
const doing = (sleeping: () => void, sleeps: () => boolean = () => true): Script => {
  const act: Script["message-server-client.handle-send"] = async ({ call, ask }, params) => {
    await ask("message-server-host.open-channel", told(params.at(-1)), bytesOf("hi"));
    await ask("supervisor.spawn", manifest("peer"), undefined);
    if (sleeps()) {
      sleeping();
      await ask("timing.sleep", 5_000n);
    }
    call.signal.throwIfAborted();
    return { state: "done" };
  };
  return {
    "actor.init": async (asked) => (asked.state === undefined ? { state: "" } : act(asked, [bytesOf(asked.state)])),
    "message-server-client.handle-send": act,
    "message-server-client.handle-request": act,
  };
};

const childrenOf = async ({ engine }: Stage, parent: ActorId): Promise<readonly ActorId[]> => {
  const found: ActorId[] = [];
  for (const { id } of await engine.list({ kind: "guest", live: true, limit: 100 })) {
    const state = (await engine.read(id))?.state;
    if (typeof state === "object" && state !== null && "parent" in state && state["parent"] === parent) found.push(id);
  }
  return found;
};

test("C3 what a call did before a restart lasts: its children are the actor's, its channels are closed, and an event says so", async () => {
  const asleep = Promise.withResolvers<void>();
  await using on = await stage({ peer, parent: doing(asleep.resolve) });
  const [a, b] = [await on.start("parent"), await on.start("peer")];
  const request = assert.rejects(on.request(a, b), { code: "CANCELLED", applied: false });
  await asleep.promise;
  await on.engine.restart(a);
  await request;
  await until("it is told", async () => Object.keys((await on.state(a)).children).length === 1);
  await until("the other end is told", async () => textOf(await on.request(b, "?")) === "closed;");
  assert.deepEqual(Object.values((await on.state(a)).children), await childrenOf(on, a));
  assert.deepEqual([(await on.state(a)).channels, (await on.state(b)).channels], [{}, {}]);
  const body = readBody((await on.events(a)).at(-1) ?? assert.fail());
  const record = JSON.stringify(body?.record);
  assert.match(record, /"end":"lost"/u);
  assert.match(record, /"name":"message-server-host.open-channel".*"name":"supervisor.spawn"/u);
  assert.equal((await on.guests.reexecute(a)).taken.lost, 1);
});

test("C5 a message that comes again after a restart finds its child, and opens a channel that both ends hold", async () => {
  const asleep = Promise.withResolvers<void>();
  let sleeps = true;
  await using on = await stage({ peer, parent: doing(asleep.resolve, () => sleeps) });
  const [a, b] = [await on.start("parent"), await on.start("peer")];
  await on.engine.send(say(a, "send", b));
  await asleep.promise;
  sleeps = false;
  await on.engine.restart(a);
  await until("the first channel is closed", async () => textOf(await on.request(b, "?")) === "closed;");
  await until("it has come again", async () => {
    await on.clock.advance(1_000);
    return (await on.own(a)) === "done";
  });
  await settle();
  const [channel = "", ...more] = Object.keys((await on.state(a)).channels);
  assert.deepEqual(more, []);
  assert.deepEqual((await on.state(b)).channels, { [channel]: { actor: a } });
  assert.equal((await childrenOf(on, a)).length, 1);
  assert.deepEqual(Object.values((await on.state(a)).children), await childrenOf(on, a));
});

test("a child that was started in a call which its process ended is the actor's after its next call", async () => {
  const asleep = Promise.withResolvers<void>();
  // What an engine sends outside of turns is lost, as in a process that is killed.
  const store = new (class extends FaultyStore {
    override enqueue(): Promise<void> {
      return Promise.reject(new StoreError("STORE_FULL", "No space."));
    }
  })(memoryStore(), () => "pass");
  const contents = memoryContents();
  const listing: Script = {
    ...peer,
    "message-server-client.handle-request": async ({ call }) => ({ back: bytesOf(call.children.join()) }),
  };
  await using on = await stage({ peer, parent: doing(asleep.resolve) }, { store, contents });
  const [a, b] = [await on.start("parent"), await on.start("peer")];
  const request = assert.rejects(on.request(a, b));
  await asleep.promise;
  await on.engine[Symbol.asyncDispose]();
  await request;
  await using next = await stage({ peer, parent: listing }, { store, contents, entropy: new SimulatedEntropy(7) });
  assert.deepEqual((await next.state(a)).children, {});
  const [child = ""] = await childrenOf(next, a);
  assert.equal(textOf(await next.request(a, "?")), "");
  const { children } = await next.state(a);
  assert.deepEqual(Object.values(children), [child]);
  assert.equal(textOf(await next.request(a, "?")), Object.keys(children).join());
  assert.deepEqual(
    (await next.guests.reexecute(a)).mismatches.filter(({ seq }) => seq > 1),
    [],
  );
});

test("a call that ends with its actor leaves neither a child nor a channel", async () => {
  const asleep = Promise.withResolvers<void>();
  await using on = await stage({ peer, parent: doing(asleep.resolve) });
  const [a, b] = [await on.start("parent"), await on.start("peer")];
  const request = assert.rejects(on.request(a, b), { code: "ACTOR_STOPPED" });
  await asleep.promise;
  await on.engine.stop(a, "enough");
  await request;
  await until("the other end is told", async () => textOf(await on.request(b, "?")) === "closed;");
  await until("its child has stopped", async () => (await childrenOf(on, a)).length === 0);
});

test("an actor whose start is cut short has never been, nor have its children", async () => {
  const asleep = Promise.withResolvers<void>();
  await using on = await stage({ peer, parent: doing(asleep.resolve) });
  const b = await on.start("peer");
  const message = await on.guests.prepare({ to: "guest/a", manifest: manifest("parent"), initialState: bytesOf(b) });
  const leaving = new AbortController();
  const request = assert.rejects(on.engine.call(message, { signal: leaving.signal }), { code: "CANCELLED" });
  await asleep.promise;
  assert.equal((await childrenOf(on, "guest/a")).length, 1);
  leaving.abort();
  await request;
  await until("the other end is told", async () => textOf(await on.request(b, "?")) === "closed;");
  await until("its child has stopped", async () => (await childrenOf(on, "guest/a")).length === 0);
  assert.equal(await on.engine.read("guest/a"), undefined);
});

test("nobody but who runs an actor tells it of children, and of those that are its own", async () => {
  await using on = await stage({ peer });
  const [a, b] = [await on.start("peer"), await on.start("peer")];
  const args = { children: [b, "guest/nobody", "other/x", 7], record: null };
  assert.match(JSON.stringify(await on.engine.call({ to: a, action: "cut", args, viewer: { scopes: [] } })), /"code":"INVALID"/u);
  assert.deepEqual(await on.engine.call({ to: a, action: "cut", args }), { ok: null });
  assert.deepEqual((await on.state(a)).children, {});
});
