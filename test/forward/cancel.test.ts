// A caller that disconnects cancels what was forwarded for it: a waiting message does not run, and the `signal` of work aborts.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { actor, refuse } from "troupe";
import * as z from "zod";
import type { Outgoing } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { callToolRequest, settle, SimulatedClock, testServer } from "../../src/testing/index.ts";
import { World } from "../../src/hosts/restate/world.fixture.ts";
import { onRestate } from "./engines.ts";

const printer = actor("printer", {
  description: "Prints for as long as it is let.",
  per: "link",
  autoStart: true,
  state: z.object({ printed: z.array(z.string()).default([]) }),
  messages: {
    print: {
      input: z.object({ text: z.string() }),
      output: z.string(),
      run({ state, args }) {
        state.printed.push(args.text);
        return args.text;
      },
    },
    scan: {
      async work({ signal, log }) {
        log("info", "started");
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    },
    idle: { run: ({ later }) => later() },
  },
});

const tray = actor("tray", {
  description: "Is always jammed.",
  per: "link",
  autoStart: true,
  state: z.object({}),
  messages: { pull: { run: () => refuse("It is jammed.", { code: "JAMMED" }) } },
});

const office = actor("office", {
  description: "Passes on to a printer.",
  per: "link",
  autoStart: true,
  state: z.object({ passed: z.number().default(0), failed: z.array(z.string()).default([]) }),
  messages: {
    print: {
      input: z.object({ text: z.string() }),
      output: z.string(),
      run({ state, args, forward }) {
        state.passed += 1;
        return forward(printer.at("main").print(args));
      },
    },
    scan: { run: ({ request }) => request(printer.at("main").scan(), "scanned") },
    idle: { run: ({ forward }) => forward(printer.at("main").idle()) },
    pull: { run: ({ request }) => request(tray.at("main").pull(), "pulled") },
  },
  replies: {
    scanned: {
      of: printer.message("scan"),
      run: () => "scanned",
      // Its requests after a cancellation are not cancelled, since it may have to undo something.
      refused({ state, refused, request }) {
        state.failed.push(refused.code);
        return request(printer.at("main").print({ text: "sorry" }), "printed");
      },
    },
    pulled: {
      of: tray.message("pull"),
      run: () => "never",
      refused({ state, refused, request }) {
        state.failed.push(refused.code);
        return request(printer.at("main").print({ text: "sorry" }), "printed");
      },
    },
    printed: { of: printer.message("print"), run: ({ reply }) => reply },
  },
});

const clerk = actor("clerk", {
  description: "Has things printed.",
  per: "user",
  state: z.object({ scans: z.array(z.string()).default([]) }),
  tools: {
    print: {
      description: "Print.",
      input: z.object({ text: z.string() }),
      task: "optional",
      run: ({ forward, args }) => forward(office.at("main").print(args)),
    },
    scan: { description: "Scan.", task: "optional", run: ({ forward }) => forward(office.at("main").scan()) },
    fetch: {
      description: "Wait for a scan.",
      work: async ({ call }) => {
        await call(office.at("main").scan());
      },
    },
    jam: { description: "Pull at a tray that is jammed.", run: ({ forward }) => forward(office.at("main").pull()) },
    idle: { description: "Wait for ever.", run: ({ forward }) => forward(office.at("main").idle()) },
  },
});

const KINDS = [printer, tray, office, clerk];
const ANN = { principal: "ann", scopes: [] };
const tool = (name: string, args = {}): Outgoing => ({ to: clerk.id("ann"), action: `tools/${name}`, args, viewer: ANN });
/** The start time of a simulated Restate server. */
const START = 1_704_067_200_000;
const PRINTER = printer.id("main");
const OFFICE = office.id("main");

async function opened() {
  const clock = new SimulatedClock();
  const store = memoryStore({ clock });
  const engine = await LocalEngine.start({ kinds: KINDS, store, clock });
  const stateOf = async (id: typeof PRINTER | typeof OFFICE) => (await engine.read(id))?.state;
  return {
    engine,
    clock,
    store,
    stateOf,
    /** No caller and no message waits. */
    async atRest() {
      await clock.advance(1_000);
      assert.deepEqual(await store.undelivered(10), []);
      for (const id of [PRINTER, OFFICE, clerk.id("ann")] as const) assert.deepEqual((await store.load(id))?.row.pending ?? {}, {}, id);
      assert.deepEqual(await engine.letters(), []);
    },
    [Symbol.asyncDispose]: () => engine.close(),
  };
}

describe("a caller that leaves", () => {
  test("aborts the work that its call was forwarded to, two actors away #actors.forward.cancel", async () => {
    await using place = await opened();
    const leaving = new AbortController();
    const logs: unknown[] = [];
    const left = place.engine.call(tool("scan"), { signal: leaving.signal, onLog: (...line) => logs.push(line) });
    await place.clock.advance(1);
    assert.equal(logs.length, 1);
    leaving.abort();
    await assert.rejects(left, { code: "CANCELLED", applied: true });
    await place.atRest();
    assert.deepEqual(await place.stateOf(OFFICE), { passed: 0, failed: ["CANCELLED"] });
    assert.deepEqual(await place.stateOf(PRINTER), { printed: ["sorry"] }, "what a handler requests then is applied");
    assert.deepEqual(await place.engine.call(printer.at("main").print({ text: "next" })), { ok: "next" }, "the mailbox goes on");
  });

  test("aborts the work behind a call of work that is aborted", async () => {
    await using place = await opened();
    const leaving = new AbortController();
    const left = place.engine.call(tool("fetch"), { signal: leaving.signal });
    await place.clock.advance(1);
    leaving.abort();
    await assert.rejects(left, { code: "CANCELLED", applied: false });
    await place.atRest();
    assert.deepEqual(await place.stateOf(OFFICE), { passed: 0, failed: ["CANCELLED"] });
  });

  test("takes back a message that waits in the mailbox of a busy actor", async () => {
    await using place = await opened();
    const [leaving, ending] = [new AbortController(), new AbortController()];
    const busy = place.engine.call(printer.at("main").scan(), { signal: ending.signal });
    const left = place.engine.call(tool("print", { text: "a" }), { signal: leaving.signal });
    await place.clock.advance(1);
    leaving.abort();
    await assert.rejects(left, { code: "CANCELLED", applied: true });
    await place.clock.advance(1);
    assert.deepEqual(await place.store.undelivered(10), [], "it has its one outcome although the actor is busy");
    ending.abort();
    await assert.rejects(busy, { code: "CANCELLED" });
    await place.atRest();
    assert.equal(await place.stateOf(PRINTER), undefined, "no turn of the printer was committed");
    assert.deepEqual(await place.stateOf(OFFICE), { passed: 1, failed: [] }, "what was applied on the way stays");
  });

  test("takes back a message that waits in the outbox behind another", async () => {
    await using place = await opened();
    const [leaving, ending] = [new AbortController(), new AbortController()];
    const bob = { ...tool("scan"), to: clerk.id("bob"), viewer: { principal: "bob", scopes: [] } };
    const busy = place.engine.call(bob, { signal: ending.signal });
    await place.clock.advance(1);
    const left = place.engine.call(tool("print", { text: "a" }), { signal: leaving.signal });
    await place.clock.advance(1);
    leaving.abort();
    await assert.rejects(left, { code: "CANCELLED", applied: true });
    ending.abort();
    await assert.rejects(busy, { code: "CANCELLED" });
    await place.atRest();
    assert.deepEqual(await place.stateOf(PRINTER), { printed: ["sorry"] });
  });

  for (const [where, id] of [
    ["its own actor", clerk.id("ann")],
    ["the next actor", OFFICE],
  ] as const)
    test(`while the turn of ${where} is being committed stops the message that this turn sends`, async () => {
      await using place = await opened();
      const leaving = new AbortController();
      place.engine.watch(id, () => leaving.abort());
      const left = place.engine.call(tool("print", { text: "a" }), { signal: leaving.signal });
      await assert.rejects(left, { code: "CANCELLED", applied: true });
      await place.atRest();
      assert.equal(await place.stateOf(PRINTER), undefined);
      assert.deepEqual(await place.engine.call(tool("print", { text: "b" })), { ok: "b" });
      await place.atRest();
    });

  test("while the last actor commits has no effect, and changes no later call", async () => {
    await using place = await opened();
    const leaving = new AbortController();
    const stop = place.engine.watch(PRINTER, () => leaving.abort());
    const left = place.engine.call(tool("print", { text: "a" }), { signal: leaving.signal });
    await assert.rejects(left, { code: "CANCELLED", applied: true });
    stop();
    await place.atRest();
    assert.deepEqual(await place.stateOf(PRINTER), { printed: ["a"] });
    assert.deepEqual(await place.engine.call(tool("print", { text: "b" })), { ok: "b" });
  });

  test("by its deadline ends the work, too", async () => {
    await using place = await opened();
    const expiring = place.engine.call({ ...tool("scan"), deadline: place.clock.now() + 500 });
    const checked = assert.rejects(expiring, { code: "DEADLINE", applied: true });
    await place.clock.advance(600);
    await checked;
    await place.atRest();
    assert.deepEqual(await place.stateOf(OFFICE), { passed: 0, failed: ["DEADLINE"] });
    assert.deepEqual(await place.stateOf(PRINTER), { printed: ["sorry"] }, "what a handler requests then has no deadline");
  });

  test("does not cancel what a handler requests after a refusal", async () => {
    await using place = await opened();
    const [leaving, ending] = [new AbortController(), new AbortController()];
    const busy = place.engine.call(printer.at("main").scan(), { signal: ending.signal });
    const left = place.engine.call(tool("jam"), { signal: leaving.signal });
    await place.clock.advance(1);
    assert.deepEqual(await place.stateOf(OFFICE), { passed: 0, failed: ["JAMMED"] });
    leaving.abort();
    await assert.rejects(left, { code: "CANCELLED", applied: true });
    ending.abort();
    await assert.rejects(busy, { code: "CANCELLED" });
    await place.atRest();
    assert.deepEqual(await place.stateOf(PRINTER), { printed: ["sorry"] });
  });

  test("does not end what another caller under the same key waits for", async () => {
    await using place = await opened();
    const [leaving, staying] = [new AbortController(), new AbortController()];
    const left = place.engine.call(tool("scan"), { signal: leaving.signal, key: "k" });
    const stayed = place.engine.call(tool("scan"), { signal: staying.signal, key: "k" });
    await place.clock.advance(1);
    leaving.abort();
    await assert.rejects(left, { code: "CANCELLED" });
    await place.clock.advance(1);
    assert.deepEqual(Object(await place.stateOf(OFFICE)).failed, [], "one of the two still waits");
    staying.abort();
    await assert.rejects(stayed, { code: "CANCELLED" });
    await place.atRest();
    assert.deepEqual(Object(await place.stateOf(OFFICE)).failed, ["CANCELLED"]);
  });

  test("C4 may call again under its key at once, and that call runs", async () => {
    await using place = await opened();
    const [leaving, ending] = [new AbortController(), new AbortController()];
    const busy = place.engine.call(printer.at("main").scan(), { signal: ending.signal });
    const left = place.engine.call(tool("print", { text: "a" }), { signal: leaving.signal, key: "k" });
    await place.clock.advance(1);
    leaving.abort();
    const again = place.engine.call(tool("print", { text: "a" }), { key: "k" });
    await assert.rejects(left, { code: "CANCELLED" });
    ending.abort();
    await assert.rejects(busy, { code: "CANCELLED" });
    assert.deepEqual(await again, { ok: "a" });
    assert.deepEqual(await place.engine.call(tool("print", { text: "a" }), { key: "k" }), { ok: "a" });
    await place.atRest();
    assert.deepEqual(await place.stateOf(PRINTER), { printed: ["a"] });
  });

  test("does not wait for an actor that replies later, whose reply is dropped", async () => {
    await using place = await opened();
    const leaving = new AbortController();
    const left = place.engine.call(tool("idle"), { signal: leaving.signal });
    await place.clock.advance(1);
    leaving.abort();
    await assert.rejects(left, { code: "CANCELLED", applied: true });
    await place.engine.stop(PRINTER, "enough");
    await place.atRest();
  });
});

test("on Restate, a deadline ends the work that a call was forwarded to #actors.forward.cancel", async () => {
  await using place = await onRestate(KINDS);
  assert.deepEqual(await place.call({ ...tool("scan"), deadline: START + 50 }), { ok: "sorry" });
  assert.deepEqual(await place.state(OFFICE), { passed: 0, failed: ["DEADLINE"] });
});

test("on Restate, a caller that leaves aborts the work that its call was forwarded to #actors.forward.cancel", async () => {
  const world = new World({ kinds: KINDS });
  const called = world.call(tool("scan"));
  await settle();
  const [call = ""] = Object.keys(world.row(clerk.id("ann"))?.pending ?? {});
  world.leftCallers.leave(call);
  await called;
  await world.settle();
  assert.deepEqual(world.state(OFFICE), { passed: 0, failed: ["CANCELLED"] });
  assert.deepEqual(world.state(PRINTER), { printed: ["sorry"] });
  assert.deepEqual(
    [clerk.id("ann"), OFFICE].map((id) => world.row(id)?.pending),
    [{}, {}],
  );
});

const TASKS = { "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } } };

/** The state that the test reads of a server whose printer works. */
async function served() {
  const server = await testServer(KINDS);
  return {
    server,
    async isCancelled(): Promise<void> {
      await server.clock.advance(1);
      assert.deepEqual((await server.engine.read(OFFICE))?.state, { passed: 0, failed: ["CANCELLED"] });
      assert.deepEqual((await server.engine.read(PRINTER))?.state, { printed: ["sorry"] });
      assert.deepEqual(server.faults, []);
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

describe("cancelling over MCP ends work two forwards away", () => {
  test("legacy: notifications/cancelled", async () => {
    await using place = await served();
    const client = place.server.client();
    await client.initialize();
    client.stream(callToolRequest("scan", "scan"));
    await place.server.clock.advance(1);
    await client.notify("notifications/cancelled", { requestId: "scan" });
    await place.isCancelled();
  });

  test("modern: the client closes the connection of its request", async () => {
    await using place = await served();
    const client = place.server.client({ era: "modern" });
    const stream = client.stream(callToolRequest("scan", "scan"));
    await place.server.clock.advance(1);
    stream.cancel();
    await place.isCancelled();
  });

  for (const era of ["legacy", "modern"] as const)
    test(`${era}: tasks/cancel`, async () => {
      await using place = await served();
      const client = place.server.client({ era });
      const more = era === "modern" ? { meta: TASKS } : {};
      const params = { name: "scan", arguments: {}, ...(era === "legacy" && { task: {} }) };
      const request = client.request("tools/call", params, more);
      await settle();
      await place.server.clock.advance(50);
      const result = await request;
      const taskId = String(result["taskId"] ?? Object(result["task"])["taskId"]);
      await client.request("tasks/cancel", { taskId }, more);
      await place.isCancelled();
    });
});
