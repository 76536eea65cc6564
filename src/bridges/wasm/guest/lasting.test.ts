/** What stays, and what does not, when things go wrong around a call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readBody } from "../../../core/chain/index.ts";
import { StoreError, type ContentStore } from "../../../core/contract/index.ts";
import { memoryContents, memoryStore } from "../../../core/store/index.ts";
import { FaultyStore, SimulatedClock, until } from "../../../testing/index.ts";
import { Lru } from "./lru.ts";
import { Young } from "./young.ts";
import { base64, bytesOf, Ends, manifest, say, type Script, stage, textOf, told } from "./stage.fixture.ts";

const echo: Script = {
  "actor.init": async ({ state }) => ({ state: state ?? "" }),
  "message-server-client.handle-send": async (_, [data]) => ({ state: told(data) }),
  "message-server-client.handle-request": async ({ state }) => ({ back: bytesOf(state ?? "") }),
};

test("C3 a call whose turn could not be kept leaves no state, and its instance goes with its globals", async () => {
  let failing = false;
  const store = new (class extends FaultyStore {
    override commit(...given: Parameters<FaultyStore["commit"]>): Promise<void> {
      return failing ? Promise.reject(new StoreError("STORE_FULL", "No space.")) : super.commit(...given);
    }
  })(memoryStore(), () => "pass");
  await using on = await stage({ echo }, { store });
  const id = await on.start("echo", {}, "first");
  await on.engine.call(say(id, "send", "second"));
  failing = true;
  await assert.rejects(on.engine.call(say(id, "send", "third")), { code: "STORE_FULL", applied: false });
  failing = false;
  assert.deepEqual(on.sandbox.forgotten, []);
  assert.equal(textOf(await on.request(id, "?")), "second");
  assert.deepEqual(on.sandbox.forgotten, [id]);
});

test("C3 a state that cannot be put leaves the one before, and the call is not applied", async () => {
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
  await assert.rejects(on.engine.call(say(id, "send", "second")), { code: "CRASHED", applied: false });
  failing = false;
  assert.deepEqual(on.sandbox.forgotten, [id]);
  assert.equal(textOf(await on.request(id, "?")), "first");
});

test("a state that is not in the content store any more is said to be gone, and nothing is made up", async () => {
  await using on = await stage({ echo });
  const id = await on.start("echo", {}, "first");
  await on.engine.call(say(id, "send", "second"));
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

test("C3 a call that is lost keeps the children it had meanwhile", async () => {
  await using on = await stage({
    echo,
    parent: {
      ...echo,
      "message-server-client.handle-request": async ({ ask }) => {
        await ask("supervisor.spawn", manifest("echo"), undefined);
        throw new Ends("lost");
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

test("guests that live as long as the process", async () => {
  await using on = await stage({ echo }, { persistence: "memory" });
  const id = await on.start("echo", {}, "first");
  await on.engine.call(say(id, "send", "second"));
  assert.equal(textOf(await on.request(id, "?")), "second");
  assert.equal((await on.engine.read(id))?.persistence, "memory");
  await on.engine.stop(id, "enough");
  await until("it is gone", async () => (await on.engine.read(id))?.status !== "live");
});

test("an event stays small, however much a call asks of its host, and is read back whole", async () => {
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

test("a manifest without a component is wrong, and its error says so", async () => {
  await using on = await stage({ echo });
  const without = on.guests.prepare({ to: "guest/x", manifest: JSON.stringify({ name: "x", grants: {}, limits: {} }) });
  await assert.rejects(without, { name: "ManifestError", code: "BAD_MANIFEST", message: /names no component/u });
});

test("messages that are none are refused before any guest runs", async () => {
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

test("what was used last is kept, up to a weight; what is loaded is loaded once; what failed is asked again", async () => {
  const kept = new Lru<string>(10);
  let loads = 0;
  const load = (value: string, weight: number) => async () => ({ value: `${value}${(loads += 1)}`, weight });
  assert.deepEqual(await Promise.all([kept.get("a", load("a", 4)), kept.get("a", load("a", 4))]), ["a1", "a1"]);
  await kept.get("b", load("b", 4));
  await kept.get("a", load("a", 4));
  await kept.get("c", load("c", 4));
  assert.deepEqual([await kept.get("a", load("a", 4)), await kept.get("b", load("b", 4))], ["a1", "b4"]);
  const fails = async (): Promise<never> => {
    throw new Error("no");
  };
  await assert.rejects(kept.get("d", fails));
  assert.equal(await kept.get("d", load("d", 1)), "d5");
  kept.put("d", "put", 1);
  assert.equal(await kept.get("d", load("d", 1)), "put");
});

test("what guests begin from is no garbage for a time, and of more than there is room for the oldest is", async () => {
  const clock = new SimulatedClock();
  const young = new Young(clock, 1_000, 3);
  young.add("one");
  await clock.advance(600);
  young.add("two");
  await clock.advance(600);
  assert.deepEqual(young.all(), ["two"]);
  for (const digest of ["three", "two", "four", "five"]) young.add(digest);
  assert.deepEqual(young.all(), ["two", "four", "five"]);
});

test("what a call puts is young until its turn is kept, its actor's next call begins, or it is old", async () => {
  const clock = new SimulatedClock();
  const young = new Young(clock, 1_000);
  const [mine, other] = [young.call("guest/mine", 5), young.call("guest/other", 2)];
  for (const digest of ["one", "both", "one"]) mine(digest);
  other("both");
  assert.deepEqual(young.all(), ["one", "both"]);
  young.kept("guest/mine", 4);
  assert.deepEqual(young.all(), ["one", "both"]);
  young.kept("guest/mine", 5);
  assert.deepEqual(young.all(), ["both"]);
  const again = young.call("guest/other", 2);
  other("late");
  again("two");
  assert.deepEqual(young.all(), ["two"]);
  await clock.advance(1_001);
  assert.deepEqual(young.all(), []);
});

test("a collection leaves what a turn names that is being kept, and takes what that turn took the place of", async () => {
  let collecting: (() => Promise<unknown>) | undefined;
  const store = new (class extends FaultyStore {
    override async commit(...given: Parameters<FaultyStore["commit"]>): Promise<void> {
      await collecting?.();
      return super.commit(...given);
    }
  })(memoryStore(), () => "pass");
  await using on = await stage({ echo }, { store });
  const id = await on.start("echo", {}, "first");
  collecting = () => on.contents.collect(on.guests.live());
  await on.engine.call(say(id, "send", "second"));
  const { state: second } = await on.state(id);
  await on.engine.call(say(id, "send", "third"));
  collecting = undefined;
  assert.equal(await on.own(id), "third");
  assert.deepEqual(await on.contents.collect(on.guests.live()), { kept: 4, dropped: 1, bytes: 6 });
  assert.equal(await on.contents.has(second ?? ""), false);
  const { state: third } = await on.state(id);
  await on.engine.stop(id, "enough");
  await on.contents.collect(on.guests.live());
  assert.equal(await on.contents.has(third ?? ""), false, "nor is it young once its event is there");
});
