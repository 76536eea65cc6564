import assert from "node:assert/strict";
import { test } from "node:test";
import { readBody } from "../../../core/chain/index.ts";
import { type ActorId, type ContentStore, StoreError } from "../../../core/contract/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { FaultyStore, settle, SimulatedEntropy, until } from "../../../testing/index.ts";
import { base64, bytesOf, SandboxEnd, manifest, guestMessage, type Script, stage, type Stage, textOf, decoded } from "./stage.fixture.ts";

// ── interrupted calls, after external effects ────────────────────────────────

const peer: Script = {
  "actor.init": async () => ({ state: "" }),
  "message-server-client.handle-channel-open": async () => ({ back: { accepted: true, message: undefined } }),
  "message-server-client.handle-channel-close": async ({ state }) => ({ state: `${state}closed;` }),
  "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(`${state}`) }),
};

/** Opens a channel to the given actor, spawns a child, and sleeps. */
const doing = (sleeping: () => void, sleeps: () => boolean = () => true): Script => {
  const act: Script["message-server-client.handle-send"] = async ({ call, ask }, params) => {
    await ask("message-server-host.open-channel", decoded(params.at(-1)), bytesOf("hi"));
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

test("C3 effects of a call that a restart interrupted remain, and an event lists them", async () => {
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

test("C5 a message redelivered after a restart finds its child, and opens a channel at both ends", async () => {
  const asleep = Promise.withResolvers<void>();
  let sleeps = true;
  await using on = await stage({ peer, parent: doing(asleep.resolve, () => sleeps) });
  const [a, b] = [await on.start("parent"), await on.start("peer")];
  await on.engine.send(guestMessage(a, "send", b));
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

test("a child spawned in a call that the process did not survive is listed after the next call", async () => {
  const asleep = Promise.withResolvers<void>();
  // What an engine sends outside turns is lost, as in a process that is killed.
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

test("an actor whose start is interrupted never existed, and its children are stopped", async () => {
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

test("only the process that runs the engine can add children to an actor, and only its own", async () => {
  await using on = await stage({ peer });
  const [a, b] = [await on.start("peer"), await on.start("peer")];
  const args = { children: [b, "guest/nobody", "other/x", 7], record: null };
  assert.match(JSON.stringify(await on.engine.call({ to: a, action: "cut", args, viewer: { scopes: [] } })), /"code":"INVALID"/u);
  assert.deepEqual(await on.engine.call({ to: a, action: "cut", args }), { ok: null });
  assert.deepEqual((await on.state(a)).children, {});
});

// ── what remains after failures ──────────────────────────────────────────────

const echo: Script = {
  "actor.init": async ({ state }) => ({ state: state ?? "" }),
  "message-server-client.handle-send": async (_, [data]) => ({ state: decoded(data) }),
  "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(state ?? "") }),
};

test("C3 a call whose turn is not committed leaves no state, and its instance is dropped", async () => {
  let failing = false;
  const store = new (class extends FaultyStore {
    override commit(...given: Parameters<FaultyStore["commit"]>): Promise<void> {
      return failing ? Promise.reject(new StoreError("STORE_FULL", "No space.")) : super.commit(...given);
    }
  })(memoryStore(), () => "pass");
  await using on = await stage({ echo }, { store });
  const id = await on.start("echo", {}, "first");
  await on.engine.call(guestMessage(id, "send", "second"));
  failing = true;
  await assert.rejects(on.engine.call(guestMessage(id, "send", "third")), { code: "STORE_FULL", applied: false });
  failing = false;
  assert.deepEqual(on.sandbox.forgotten, []);
  assert.equal(textOf(await on.request(id, "?")), "second");
  assert.deepEqual(on.sandbox.forgotten, [id]);
});

test("C3 if a state cannot be stored, the previous one remains, and the call is not applied", async () => {
  let failing = false;
  const inner = memoryContents();
  const contents: ContentStore = {
    put: (bytes, space) => (failing ? Promise.reject(new StoreError("STORE_FULL", "No space.")) : inner.put(bytes, space)),
    get: (digest) => inner.get(digest),
    has: (digest) => inner.has(digest),
    label: (...given) => inner.label(...given),
    labelled: (...given) => inner.labelled(...given),
    labels: (...given) => inner.labels(...given),
    contents: (...given) => inner.contents(...given),
    collect: (live) => inner.collect(live),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
  await using on = await stage({ echo }, { contents });
  const id = await on.start("echo", {}, "first");
  failing = true;
  await assert.rejects(on.engine.call(guestMessage(id, "send", "second")), { code: "CRASHED", applied: false });
  failing = false;
  assert.deepEqual(on.sandbox.forgotten, [id]);
  assert.equal(textOf(await on.request(id, "?")), "first");
});

test("a state that is missing in the content store is an error", async () => {
  await using on = await stage({ echo });
  const id = await on.start("echo", {}, "first");
  await on.engine.call(guestMessage(id, "send", "second"));
  const { state, manifest: text, component } = await on.state(id);
  await on.contents.collect([text, component]);
  await using again = await stage({ echo }, { contents: on.contents });
  const reply = await again.engine.call({
    to: "guest/other",
    action: "start",
    args: {},
    start: { manifest: text, component, name: "x", initialState: state ?? "" },
  });
  assert.match(JSON.stringify(reply), /"code":"STORE_CORRUPT","message":"The state [0-9a-f]{64} is not in the content store any more/u);
});

test("C3 a lost call keeps the children that it spawned", async () => {
  await using on = await stage({
    echo,
    parent: {
      ...echo,
      "message-server-client.handle-request": async ({ ask }) => {
        await ask("supervisor.spawn", manifest("echo"), undefined);
        throw new SandboxEnd("lost");
      },
    },
  });
  const id = await on.start("parent");
  assert.match(JSON.stringify(await on.request(id, "?")), /"failed":\{"code":"OUTCOME_UNKNOWN"/u);
  const { children, status } = await on.state(id);
  assert.deepEqual([Object.keys(children).length, status], [1, "running"]);
});

test("a guest that is started again under its name is the same actor in another life", async () => {
  await using on = await stage({ echo });
  const start = async (initial: string): Promise<void> => {
    const message = await on.guests.prepare({ to: "guest/mine", manifest: manifest("echo"), initialState: bytesOf(initial) });
    assert.match(JSON.stringify(await on.engine.call(message)), /"ok":\{"id"/u);
  };
  await start("first");
  const { uid } = (await on.engine.read("guest/mine")) ?? assert.fail();
  await on.engine.stop("guest/mine", "enough");
  assert.ok(on.sandbox.forgotten.includes("guest/mine"));
  await start("second");
  assert.equal((await on.engine.read("guest/mine"))?.uid, uid);
  assert.deepEqual([(await on.state("guest/mine")).id, await on.own("guest/mine")], [uid, "second"]);
});

test("guests that are not persisted live as long as the process", async () => {
  await using on = await stage({ echo }, { persistence: "memory" });
  const id = await on.start("echo", {}, "first");
  await on.engine.call(guestMessage(id, "send", "second"));
  assert.equal(textOf(await on.request(id, "?")), "second");
  assert.equal((await on.engine.read(id))?.persistence, "memory");
  await on.engine.stop(id, "enough");
  await until("it is gone", async () => (await on.engine.read(id))?.status !== "live");
});

test("an event stays small for any number of host calls, and is read completely", async () => {
  await using on = await stage({
    busy: {
      ...echo,
      "message-server-client.handle-request": async ({ ask }) => {
        for (let n = 0; n < 500; n += 1) await ask("message-server-host.send", "nobody", new Uint8Array(3_000).fill(n));
        return { back: bytesOf("done") };
      },
    },
  });
  const id = await on.start("busy");
  assert.equal(textOf(await on.request(id, "?")), "done");
  const event = (await on.events(id))[1] ?? assert.fail();
  assert.ok((event.body?.length ?? 0) < 150_000, `${event.body?.length}`);
  assert.match(JSON.stringify(readBody(event)?.record), /"did":\[\{"calls":484,"kept":/u);
  assert.deepEqual(await on.guests.reexecute(id), { run: 2, mismatches: [], taken: { erased: 0, collected: 0, lost: 0, other: 0 } });
});

test("a manifest without a component is an error", async () => {
  await using on = await stage({ echo });
  const without = on.guests.prepare({ to: "guest/x", manifest: JSON.stringify({ name: "x", grants: {}, limits: {} }) });
  await assert.rejects(without, { name: "ManifestError", code: "BAD_MANIFEST", message: /names no component/u });
});

test("invalid messages are refused before a guest runs", async () => {
  await using on = await stage({ echo });
  const id = await on.start("echo");
  const before = on.sandbox.ran.length;
  for (const args of [null, {}, { data: 3 }, { data: "no base64!" }, { data: "abc" }])
    assert.match(JSON.stringify(await on.engine.call({ to: id, action: "send", args })), /"code":"INVALID"/u);
  assert.match(JSON.stringify(await on.engine.call({ to: id, action: "nonsense", args: {} })), /"code":"UNKNOWN"/u);
  const open = { channel: "c", data: base64("x") };
  for (const args of [
    {},
    open,
    { ...open, end: {} },
    { ...open, end: { host: 3 } },
    { ...open, channel: "x".repeat(101), end: { host: "h" } },
  ])
    assert.match(JSON.stringify(await on.engine.call({ to: id, action: "channel-open", args })), /"code":"INVALID"/u);
  assert.equal(on.sandbox.ran.length, before);
});
