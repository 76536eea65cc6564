import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { fromAgenticService } from "./index.ts";
import { act, action, okOf, Puppet, toolNames, viewer } from "./service.fixture.ts";

const told = async (reply: ReturnType<typeof act>): Promise<Readonly<Record<string, Json>>> => {
  const value = okOf(await reply);
  assert.ok(isJsonObject(value));
  return value;
};

function stage() {
  const clock = new SimulatedClock();
  const service = new Puppet({ states: { board: { value: "" }, turn: { value: "X" } }, actions: { play: action() } });
  const source = fromAgenticService(service, { clock, waitForChange: { maxMs: 40_000 } });
  return { clock, service, source };
}

describe("wait_for_change", () => {
  it("is there by option only #agentic.wait", async () => {
    using without = fromAgenticService(new Puppet());
    assert.deepEqual(await toolNames(without), []);
    using source = fromAgenticService(new Puppet(), { waitForChange: true });
    assert.deepEqual(await toolNames(source), ["wait_for_change"]);
    assert.ok("refused" in (await act(source, "tools/wait_for_change", { timeout: 55_001 })));
  });

  it("ends with the first change, and says which states and tools there are now #agentic.wait", async () => {
    const { clock, service, source } = stage();
    using _source = source;
    const waiting = told(act(source, "tools/wait_for_change"));
    await clock.advance(1_000);
    service.told.states.set({ board: { value: "X" }, turn: { value: "X" } });
    const first = await waiting;
    assert.deepEqual([first["changed"], first["tools"], first["timedOut"]], [{ board: "X" }, undefined, false]);
    const next = told(act(source, "tools/wait_for_change"));
    await clock.advance(1);
    service.told.actions.set({ play: action(), reset: action() });
    assert.deepEqual((await next)["tools"], ["wait_for_change", "play", "reset"]);
    assert.equal(clock.pending, 0);
  });

  it("waits for the states that are named and for no others #agentic.wait", async () => {
    const { clock, service, source } = stage();
    using _source = source;
    const waiting = told(act(source, "tools/wait_for_change", { keys: ["turn"] }));
    await clock.advance(1);
    service.told.states.set({ board: { value: "X" }, turn: { value: "X" } });
    service.told.actions.set({});
    await clock.advance(1);
    service.told.states.set({ board: { value: "X" } });
    const { changed, gone, timedOut } = await waiting;
    assert.deepEqual([changed, gone, timedOut], [{}, ["turn"], false]);
  });

  it("ends at its time, by default after 30 seconds, and says that it did #agentic.wait", async () => {
    const { clock, source } = stage();
    using _source = source;
    const answers: Promise<Readonly<Record<string, Json>>>[] = [];
    for (const args of [{}, { timeout: 40_000 }]) answers.push(told(act(source, "tools/wait_for_change", args)));
    await clock.advance(30_000);
    assert.equal((await answers[0])?.["timedOut"], true);
    assert.equal(clock.pending, 1);
    await clock.advance(10_000);
    assert.equal((await answers[1])?.["timedOut"], true);
    assert.equal((await told(act(source, "tools/wait_for_change", { timeout: 0 })))["timedOut"], true);
  });

  it("misses nothing between two calls that tell since when #agentic.wait", async () => {
    const { service, source } = stage();
    using _source = source;
    const { since } = await told(act(source, "tools/wait_for_change", { timeout: 0 }));
    assert.ok(typeof since === "number");
    service.told.states.set({ board: { value: "O" }, turn: { value: "X" } });
    const next = await told(act(source, "tools/wait_for_change", { since }));
    assert.deepEqual(next["changed"], { board: "O" });
    const again = await told(act(source, "tools/wait_for_change", { since: next["since"] ?? 0, timeout: 0 }));
    assert.equal(again["timedOut"], true);
    const future = await told(act(source, "tools/wait_for_change", { since: 9e15 }));
    assert.deepEqual(future["changed"], { board: "O", turn: "X" }, "of another life: all may be new");
  });

  it("is cancelled with its call, and leaves nothing behind #agentic.wait", async () => {
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
