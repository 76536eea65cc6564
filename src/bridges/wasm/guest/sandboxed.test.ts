import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { revertEntry } from "../../../core/chain/index.ts";
import type { ActorId } from "../../../core/contract/index.ts";
import { until } from "../../../testing/index.ts";
import { componentOf, granting, type Sandboxed, sandboxed } from "./sandboxed.fixture.ts";
import { base64, textOf } from "./stage.fixture.ts";
import { onLoopback } from "../../../../test/on-loopback.ts";

const NONE = { erased: 0, collected: 0, lost: 0, other: 0 };
/** Checks that all its calls re-execute with the same results. */
async function runsAgain(on: Sandboxed, id: ActorId, run: number, taken: Partial<typeof NONE> = {}): Promise<void> {
  assert.deepEqual(await on.guests.reexecute(id), { run, mismatches: [], taken: { ...NONE, ...taken } });
}
const ask = async (on: Sandboxed, id: ActorId, ...commands: string[]): Promise<readonly string[]> =>
  textOf(await on.request(id, commands.join("\n&&\n"))).split("\n&&\n");

test("the counter counts, and its chain re-executes to the same states and replies", async () => {
  await using on = await sandboxed();
  const id = await on.start("examples/wasm/counter");
  for (let n = 0; n < 3; n += 1) assert.deepEqual(await on.send(id, "add"), { ok: null });
  assert.match(textOf(await on.request(id, "")), /3/u);
  await runsAgain(on, id, 5);
});

test("messages, store, timing, random and chain of a guest re-execute from the record", async () => {
  await using on = await sandboxed();
  const echo = await on.start("echo");
  const id = await on.start("asker");
  const [store = ""] = await ask(on, id, "store.new");
  const space = store.slice(3);
  const [ref = "", slept, sent, answered, bytes, uuid] = await ask(
    on,
    id,
    `store.store-at-label ${space} last hello`,
    "timing.sleep 1",
    `message-server-host.send ${echo} sent`,
    `message-server-host.request ${echo} asked`,
    "random.random-bytes 4",
    "random.generate-uuid",
  );
  assert.deepEqual([slept, sent, answered], ["ok", "ok", "ok asked"]);
  assert.match(`${bytes} ${uuid}`, /^ok .* ok [0-9a-f-]{36}$/su);
  assert.deepEqual(await ask(on, id, `store.get ${space} ${ref.slice(3)}`), ["ok hello"]);
  assert.match((await ask(on, id, "runtime.get-chain"))[0] ?? "", /^ok start .*\nrequest /su);
  await runsAgain(on, id, 5);
  await runsAgain(on, echo, 3);
});

test("re-execution names the event whose record differs", async () => {
  await using on = await sandboxed();
  const id = await on.start("asker", "first");
  await on.send(id, "random.random-bytes 4");
  const digest = await on.guests.component("store:" + (await on.contents.put(componentOf("echo"))), await stateOf(on, id));
  await on.engine.call({ to: id, action: "update", args: { component: digest } });
  await on.send(id, "as it is");
  await runsAgain(on, id, 3, { other: 1 });
  // A stored content was changed: the same digest, another state.
  const state = await stateOf(on, id);
  const lying = {
    ...on.engine,
    async *history(of: ActorId) {
      for await (const event of on.engine.history(of))
        yield event.body === undefined ? event : { ...event, body: event.body.replaceAll(state.state ?? "", "0".repeat(64)) };
    },
  };
  on.guests.attach({ ...lying, watch: () => () => undefined });
  const { mismatches } = await on.guests.reexecute(id);
  assert.deepEqual(
    mismatches.map(({ seq, what }) => [seq, what]),
    [[4, "state"]],
  );
});

test("re-execution skips calls whose contents were collected, and counts them", async () => {
  await using on = await sandboxed();
  const id = await on.start("echo", "first");
  await on.send(id, "second");
  for (let n = 0; n < 2; n += 1) await on.send(id, "third");
  const live = async function* (): AsyncGenerator<string> {
    const { manifest, component, state } = await stateOf(on, id);
    yield* [manifest, component, state ?? ""];
  };
  await on.contents.collect(live());
  await runsAgain(on, id, 1, { collected: 3 });
});

test("live contents are those of live guests, and recent ones", async () => {
  await using on = await sandboxed();
  const id = await on.start("echo", "first");
  const live = new Set<string>();
  for await (const digest of on.guests.live()) live.add(digest);
  const { manifest, component, state } = await stateOf(on, id);
  for (const digest of [manifest, component, state ?? ""]) assert.ok(live.has(digest));
});

test("C3 an instance is dropped with its globals when its call fails, and after a restart", async () => {
  await using on = await sandboxed();
  const id = await on.start("globals", undefined, 'on_error = "restart"');
  assert.deepEqual([textOf(await on.request(id, "")), textOf(await on.request(id, ""))], ["0", "1"]);
  assert.match(JSON.stringify(await on.send(id, "trap")), /"failed":\{"code":"ActorError","message":"Trap: The guest gave up/u);
  assert.equal(textOf(await on.request(id, "")), "0");
  await on.engine.call({ to: id, action: "resume", args: {} });
  assert.equal(textOf(await on.request(id, "")), "0");
});

test("C3 an instance is dropped with its globals when an operator reverts its guest", async () => {
  await using on = await sandboxed();
  const id = await on.start("globals");
  assert.deepEqual([textOf(await on.request(id, "")), textOf(await on.request(id, ""))], ["0", "1"]);
  const state = (await on.engine.read(id))?.state ?? null;
  await on.append(id, (stored) =>
    revertEntry(id, stored, { state, version: 1 }, { to: 1, reason: "undo", messageId: "m", at: 0, seed: "0".repeat(32) }),
  );
  assert.equal(textOf(await on.request(id, "")), "0");
  assert.equal(textOf(await on.request(id, "")), "1");
});

test("a guest that never returns is killed and paused, and others answer meanwhile", async () => {
  await using on = await sandboxed({
    limits: { callMs: 200, memoryBytes: 16 * 1_048_576, hostCalls: 1_000, hostBytes: 1_048_576, resultBytes: 1_048_576 },
  });
  const [bad, good] = [await on.start("hostile"), await on.start("echo")];
  const spinning = on.request(bad, "l");
  for (let n = 0; n < 20; n += 1) assert.equal(textOf(await on.request(good, `${n}`)), `${n}`);
  assert.match(JSON.stringify(await spinning), /"failed":\{"code":"Timeout"/u);
  assert.equal((await stateOf(on, bad)).status, "paused");
});

test("whatever a hostile guest does, its actor reports it, and continues after a restart", async () => {
  await using on = await sandboxed();
  const id = await on.start("hostile");
  for (const trick of "mMruopabndDeEHUgGPNS") {
    const reply = JSON.stringify(await on.request(id, trick));
    assert.match(reply, /^\{"ok":\{("data":|"failed":\{"code":)/u, trick);
    await on.engine.call({ to: id, action: "resume", args: {} });
    assert.equal(textOf(await on.request(id, "?")), "still here", trick);
  }
});

test("a request is answered later by the next message", async () => {
  await using on = await sandboxed();
  const id = await on.start("later");
  const asked = on.request(id, "?");
  await until("it waits", async () => (await stateOf(on, id)).outstanding.length === 1);
  await on.send(id, "at last");
  assert.equal(textOf(await asked), "at last");
  await runsAgain(on, id, 3);
});

test("a guest of April 2025 accepts a channel without an id", async () => {
  await using on = await sandboxed();
  const id = await on.start("old");
  assert.equal(textOf(await on.request(id, "hello")), "hello");
  const args = { channel: "ch_1", data: base64("hi"), end: { host: on.guests.host } };
  assert.deepEqual(await on.engine.call({ to: id, action: "channel-open", args }), { ok: { accepted: true, data: base64("hi") } });
  await runsAgain(on, id, 3);
});

test("a child from a manifest in the store runs, fails, is reported, and is stopped", async () => {
  await using on = await sandboxed();
  const component = await on.contents.put(componentOf("asker"));
  await on.contents.label("manifest", "child", await on.contents.put(Buffer.from(granting("child", `component = "store:${component}"`))));
  const id = await on.start("asker");
  const [spawned = ""] = await ask(on, id, "supervisor.resume-with seed store:child");
  const uid = spawned.slice(3);
  const child = (await on.engine.find(uid)) ?? assert.fail(spawned);
  assert.deepEqual(await ask(on, id, `supervisor.get-child-state ${uid}`, "supervisor.list-children"), ["ok seed", `ok ${uid}`]);
  await on.send(child, "fail no luck");
  await until("the parent has heard", async () => (await ask(on, id, "get"))[0]?.startsWith(`ok error ${uid} `) ?? false);
  assert.equal((await stateOf(on, child)).status, "paused");
  assert.deepEqual(await ask(on, id, `supervisor.restart-child ${uid}`), ["ok"]);
  assert.equal((await stateOf(on, child)).status, "running");
  await on.engine.stop(child, "enough");
  await until("the parent has heard", async () => (await ask(on, id, "get"))[0] === `ok stopped ${uid}`);
  const { mismatches } = await on.guests.reexecute(id);
  assert.deepEqual(mismatches, []);
});

test("http and environment permit only what the manifest names", async () => {
  await using loopback = await onLoopback(createServer((_, response) => void response.end("from outside")));
  const { url } = loopback;
  for (const [http, expected] of [
    [{ allowPrivate: true }, /^ok 200 from outside/u],
    [{}, /^err .*private, loopback or reserved/u],
  ] as const) {
    await using on = await sandboxed({ http, variables: { SECRET: "x" } });
    const to: ActorId = "guest/outsider";
    const manifest = `name = "outsider"\n[[handler]]\ntype = "http-client"\nallowed = ["${url}"]\n[[handler]]\ntype = "environment"\n[[handler]]\ntype = "filesystem"\n[[handler]]\ntype = "runtime"\n`;
    await on.engine.call(await on.guests.prepare({ to, manifest, component: componentOf("outsider") }));
    assert.match((await ask(on, to, `http-client.send-http GET ${url}/ `))[0] ?? "", expected);
    assert.deepEqual(await ask(on, to, "environment.get-var SECRET"), ["ok none"]);
    await runsAgain(on, to, 3);
  }
});

test("a component with imports that its manifest does not grant does not start", async () => {
  await using on = await sandboxed();
  const start = { to: "guest/x", manifest: 'name = "x"\n', component: componentOf("asker") } as const;
  await assert.rejects(on.guests.prepare(start), { code: "NOT_GRANTED" });
});

async function stateOf(on: Sandboxed, id: ActorId): Promise<Parameters<Sandboxed["guests"]["component"]>[1]> {
  const state: unknown = (await on.engine.read(id))?.state;
  assertGuest(state);
  return state;
}

function assertGuest(state: unknown): asserts state is Parameters<Sandboxed["guests"]["component"]>[1] {
  assert.ok(typeof state === "object" && state !== null && "manifest" in state);
}
