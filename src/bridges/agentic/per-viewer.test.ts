import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Viewer } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { type AgenticService, fromAgenticService } from "./index.ts";
import { act, action, Count, FakeService, flagsOf, okOf, tick, toolNames, viewer } from "./service.fixture.ts";

const ben: Viewer = { principal: "ben", scopes: [] };

describe("a service for each viewer", () => {
  it("is made once for each principal, scopes and claims, for that viewer only #agentic.viewers", async () => {
    const made: FakeService[] = [];
    using source = fromAgenticService(async ({ principal = "anonymous" }) => {
      const puppet = new FakeService({ actions: { [`play_${principal}`]: action() }, states: { me: { value: principal.length } } });
      made.push(puppet);
      return puppet;
    });
    assert.deepEqual(await toolNames(source), ["play_ana"]);
    assert.deepEqual(await toolNames(source, ben), ["play_ben"]);
    assert.deepEqual(await toolNames(source, { scopes: [] }), ["play_anonymous"]);
    assert.deepEqual(okOf(await act(source, "resources/me", {}, ben)), 3);
    assert.ok("refused" in (await act(source, "tools/play_ana", {}, ben)));
    assert.equal(made.length, 3);
    for (const scopes of [
      ["more", "most"],
      ["most", "more"],
    ])
      assert.deepEqual(okOf(await act(source, "resources/me", {}, { principal: "ben", scopes })), 3);
    assert.equal(made.length, 4, "what a service lets its viewer do may depend on scopes");
    await act(source, "resources/me", {}, { ...ben, claims: { roles: ["editor"] } });
    assert.equal(made.length, 5);
    const [mine, his] = [flagsOf(source), flagsOf(source, ben)];
    await tick();
    made[1]?.observables.actions.set({});
    await tick();
    assert.deepEqual([mine, his], [[], ["lists"]], "C8");
  });

  it("is absent if the factory returns none, and retried if it failed #agentic.viewers", async () => {
    let tries = 0;
    using source = fromAgenticService((who) => {
      if (who.principal === "ben") return undefined;
      tries += 1;
      if (tries === 1) throw new Error("Not yet.");
      return new FakeService({ actions: { go: action() } });
    });
    assert.deepEqual(await toolNames(source, ben), []);
    assert.ok("refused" in (await act(source, "tools/go", {}, ben)));
    await assert.rejects(toolNames(source), /Not yet/);
    assert.deepEqual(await toolNames(source), ["go"]);
  });

  it("times out, is retried, and is released if it arrives after that", async () => {
    const clock = new SimulatedClock();
    const released: AgenticService[] = [];
    const makings: PromiseWithResolvers<AgenticService>[] = [];
    const make = (): Promise<AgenticService> => {
      const making = Promise.withResolvers<AgenticService>();
      makings.push(making);
      return making.promise;
    };
    using source = fromAgenticService(make, { clock, onRelease: (service) => void released.push(service) });
    const names = assert.rejects(toolNames(source), { code: "WORK_TIMEOUT", message: /was not there within 55 s/ });
    await clock.advance(55_000);
    await names;
    const again = toolNames(source);
    const [first, next] = [new FakeService(), new FakeService({ actions: { go: action() } })];
    makings[0]?.resolve(first);
    makings[1]?.resolve(next);
    assert.deepEqual(await again, ["go"]);
    await tick();
    assert.deepEqual(released, [first]);
  });

  it("notifies listeners once it could be made, and of its changes after that", async () => {
    const clock = new SimulatedClock();
    const faults: unknown[] = [];
    let made: FakeService | undefined;
    let isDown = true;
    const source = fromAgenticService(
      () => {
        if (isDown) throw new Error("Not yet.");
        made = new FakeService({ actions: { go: action() }, states: { x: { value: 1 } } });
        return made;
      },
      { clock, stateIntervalMs: 0, onFault: (error) => faults.push(String(error)) },
    );
    const lists: string[] = [];
    const undo = source.watch(viewer, (ref) => lists.push(ref ?? "lists"), undefined, false);
    const state = flagsOf(source, viewer, "resources/x");
    const undoRemoved = source.watch(viewer, () => assert.fail("It listens no more."));
    await assert.rejects(toolNames(source), /Not yet/);
    undoRemoved();
    assert.deepEqual([lists, state, faults], [[], [], ["Error: Not yet."]]);
    isDown = false;
    assert.deepEqual(await toolNames(source), ["go"]);
    await tick();
    assert.deepEqual([lists, state], [["lists"], ["resources/x"]]);
    made?.observables.actions.set({});
    made?.observables.states.set({ x: { value: 2 } });
    await tick();
    assert.deepEqual(
      [lists, state],
      [
        ["lists", "lists"],
        ["resources/x", "resources/x"],
      ],
    );
    undo();
    made?.observables.actions.set({ go: action() });
    await tick();
    assert.equal(lists.length, 2);
    source[Symbol.dispose]();
    await tick();
    assert.equal(clock.pending, 0);
  });

  it("is released after it was idle, and with the source #agentic.viewers", async () => {
    const clock = new SimulatedClock();
    const count = new Count();
    const released: AgenticService[] = [];
    const source = fromAgenticService(() => new FakeService({ actions: { go: action() } }, count), {
      clock,
      idleMs: 1_000,
      onRelease: (service) => released.push(service),
    });
    const undo = source.watch(viewer, () => undefined);
    await toolNames(source);
    await toolNames(source, ben);
    await clock.advance(5_000);
    assert.equal(released.length, 1, "who listens stays");
    undo();
    undo();
    await clock.advance(999);
    await toolNames(source);
    await clock.advance(999);
    assert.equal(released.length, 1);
    await clock.advance(1);
    assert.equal(released.length, 2);
    assert.equal(count.begun, count.ended);
    await toolNames(source);
    assert.equal(count.begun - count.ended, 3);
    source[Symbol.dispose]();
    await tick();
    assert.equal(count.begun, count.ended);
    assert.equal(released.length, 3);
    assert.deepEqual(await toolNames(source), []);
    assert.equal(clock.pending, 0);
  });

  it("is not released after a call timed out if a later call uses it", async () => {
    const clock = new SimulatedClock();
    const released: object[] = [];
    const making = Promise.withResolvers<FakeService>();
    using source = fromAgenticService(() => making.promise, { clock, idleMs: 1_000, onRelease: (service) => released.push(service) });
    const names = assert.rejects(toolNames(source), { code: "WORK_TIMEOUT" });
    await clock.advance(55_000);
    await names;
    const again = toolNames(source);
    const game = new FakeService({ actions: { go: action() } });
    making.resolve(game);
    assert.deepEqual(await again, ["go"]);
    await tick();
    assert.deepEqual(released, []);
    await clock.advance(1_000);
    assert.deepEqual(released, [game]);
  });

  it("shared by several tokens of a principal is released after the last of them", async () => {
    const clock = new SimulatedClock();
    const released: object[] = [];
    const game = new FakeService({ actions: { go: action() } });
    using source = fromAgenticService(() => game, { clock, idleMs: 1_000, onRelease: (service) => released.push(service) });
    await toolNames(source, ben);
    await clock.advance(600);
    await toolNames(source, { ...ben, scopes: ["more"] });
    await clock.advance(600);
    assert.deepEqual(released, []);
    await clock.advance(400);
    assert.deepEqual(released, [game]);
  });

  it("is released early if too many are unused: the one unused for longest, and none in use", async () => {
    const released: (string | undefined)[] = [];
    const serviceFor = ({ principal = "" }: Viewer): AgenticService => Object.assign(new FakeService(), { serviceName: principal });
    using source = fromAgenticService(serviceFor, { maxIdle: 2, onRelease: ({ serviceName }) => released.push(serviceName) });
    const visit = (principal: string): Promise<unknown> => toolNames(source, { principal, scopes: [] });
    const undo = source.watch({ principal: "listener", scopes: [] }, () => undefined);
    for (const principal of ["a", "b", "a", "c", "d"]) await visit(principal);
    await tick();
    assert.deepEqual(released, ["b", "a"]);
    undo();
    await tick();
    assert.deepEqual(released, ["b", "a", "c"]);
  });

  it("is released early for viewers who have not signed in before others", async () => {
    const released: (string | undefined)[] = [];
    const serviceFor = ({ principal = "" }: Viewer): AgenticService => Object.assign(new FakeService(), { serviceName: principal });
    using source = fromAgenticService(serviceFor, { maxIdle: 2, onRelease: ({ serviceName }) => released.push(serviceName) });
    for (const principal of ["ann", "session|1", "session|2", "session|3", "bob", "cyd"])
      await toolNames(source, { principal, scopes: [] });
    await tick();
    assert.deepEqual(released, ["session|1", "session|2", "session|3", "ann"]);
  });

  it("is not dropped by the timer of an earlier one that could not be made", async () => {
    const clock = new SimulatedClock();
    const failing = Promise.withResolvers<FakeService>();
    let made = 0;
    const serviceFor = (): FakeService | Promise<FakeService> => {
      made += 1;
      return made === 1 ? failing.promise : new FakeService();
    };
    using source = fromAgenticService(serviceFor, { clock, idleMs: 1_000 });
    source.watch(viewer, () => undefined)();
    failing.reject(new Error("Not yet."));
    await tick();
    source.watch(viewer, () => undefined);
    await clock.advance(1_000);
    await toolNames(source);
    assert.equal(made, 2);
  });
});
