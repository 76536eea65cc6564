import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { fromAgenticService } from "./index.ts";
import { act, action, FakeService, okOf, toolNames, viewer } from "./service.fixture.ts";

const changesOf = async (reply: ReturnType<typeof act>): Promise<Readonly<Record<string, Json>>> => {
  const value = okOf(await reply);
  assert.ok(isJsonObject(value));
  return value;
};

function stage() {
  const clock = new SimulatedClock();
  const service = new FakeService({ states: { board: { value: "" }, turn: { value: "X" } }, actions: { play: action() } });
  const source = fromAgenticService(service, { clock, waitForChange: { maxMs: 40_000 } });
  return { clock, service, source };
}

describe("wait_for_change", () => {
  it("is there by option only #agentic.wait", async () => {
    using without = fromAgenticService(new FakeService());
    assert.deepEqual(await toolNames(without), []);
    using source = fromAgenticService(new FakeService(), { waitForChange: true });
    assert.deepEqual(await toolNames(source), ["wait_for_change"]);
    assert.ok("refused" in (await act(source, "tools/wait_for_change", { timeout: 55_001 })));
  });

  it("ends with the first change, and returns the changed states and tools #agentic.wait", async () => {
    const { clock, service, source } = stage();
    using _source = source;
    const waiting = changesOf(act(source, "tools/wait_for_change"));
    await clock.advance(1_000);
    service.observables.states.set({ board: { value: "X" }, turn: { value: "X" } });
    const first = await waiting;
    assert.deepEqual([first["changed"], first["tools"], first["timedOut"]], [{ board: "X" }, undefined, false]);
    const next = changesOf(act(source, "tools/wait_for_change"));
    await clock.advance(1);
    service.observables.actions.set({ play: action(), reset: action() });
    assert.deepEqual((await next)["tools"], ["wait_for_change", "play", "reset"]);
    assert.equal(clock.pending, 0);
  });

  it("waits only for the states that are named #agentic.wait", async () => {
    const { clock, service, source } = stage();
    using _source = source;
    const waiting = changesOf(act(source, "tools/wait_for_change", { keys: ["turn"] }));
    await clock.advance(1);
    service.observables.states.set({ board: { value: "X" }, turn: { value: "X" } });
    service.observables.actions.set({});
    await clock.advance(1);
    service.observables.states.set({ board: { value: "X" } });
    const { changed, gone, timedOut } = await waiting;
    assert.deepEqual([changed, gone, timedOut], [{}, ["turn"], false]);
  });

  it("times out, by default after 30 seconds, and reports it #agentic.wait", async () => {
    const { clock, source } = stage();
    using _source = source;
    const answers: Promise<Readonly<Record<string, Json>>>[] = [];
    for (const args of [{}, { timeout: 40_000 }]) answers.push(changesOf(act(source, "tools/wait_for_change", args)));
    await clock.advance(30_000);
    assert.equal((await answers[0])?.["timedOut"], true);
    assert.equal(clock.pending, 1);
    await clock.advance(10_000);
    assert.equal((await answers[1])?.["timedOut"], true);
    assert.equal((await changesOf(act(source, "tools/wait_for_change", { timeout: 0 })))["timedOut"], true);
  });

  it("misses nothing between two calls if `since` is passed on #agentic.wait", async () => {
    const { service, source } = stage();
    using _source = source;
    const { since } = await changesOf(act(source, "tools/wait_for_change", { timeout: 0 }));
    assert.ok(typeof since === "number");
    service.observables.states.set({ board: { value: "O" }, turn: { value: "X" } });
    const next = await changesOf(act(source, "tools/wait_for_change", { since }));
    assert.deepEqual(next["changed"], { board: "O" });
    const again = await changesOf(act(source, "tools/wait_for_change", { since: next["since"] ?? 0, timeout: 0 }));
    assert.equal(again["timedOut"], true);
    const future = await changesOf(act(source, "tools/wait_for_change", { since: 9e15 }));
    assert.deepEqual(future["changed"], { board: "O", turn: "X" }, "of another life: all may be new");
  });

  it("is cancelled with its call, without a timer left #agentic.wait", async () => {
    const { clock, source } = stage();
    using _source = source;
    const leaving = new AbortController();
    const waiting = source.act(viewer, "tools/wait_for_change", {}, { signal: leaving.signal });
    const caught = waiting.catch((error: unknown) => error);
    await clock.advance(1);
    leaving.abort();
    const error = await caught;
    assert.ok(error instanceof Error && "code" in error && error.code === "CANCELLED");
    assert.equal(clock.pending, 0);
  });
});
