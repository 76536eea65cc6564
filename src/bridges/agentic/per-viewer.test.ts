import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Viewer } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { type AgenticService, fromAgenticService } from "./index.ts";
import { act, action, Count, flagsOf, okOf, Puppet, tick, toolNames, viewer } from "./service.fixture.ts";

const ben: Viewer = { principal: "ben", scopes: [] };

describe("a service for each viewer", () => {
  it("is made once for each principal, scopes and claims, and each meets its own #agentic.viewers", async () => {
    const made: Puppet[] = [];
    using source = fromAgenticService(async ({ principal = "nobody" }) => {
      const puppet = new Puppet({ actions: { [`play_${principal}`]: action() }, states: { me: { value: principal.length } } });
      made.push(puppet);
      return puppet;
    });
    assert.deepEqual(await toolNames(source), ["play_ana"]);
    assert.deepEqual(await toolNames(source, ben), ["play_ben"]);
    assert.deepEqual(await toolNames(source, { scopes: [] }), ["play_nobody"]);
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
    made[1]?.told.actions.set({});
    await tick();
    assert.deepEqual([mine, his], [[], ["lists"]], "C8");
  });

  it("is none where the factory gives none, and is tried again where it failed #agentic.viewers", async () => {
    let tries = 0;
    using source = fromAgenticService((who) => {
      if (who.principal === "ben") return undefined;
      tries += 1;
      if (tries === 1) throw new Error("Not yet.");
      return new Puppet({ actions: { go: action() } });
    });
    assert.deepEqual(await toolNames(source, ben), []);
    assert.ok("refused" in (await act(source, "tools/go", {}, ben)));
    await assert.rejects(toolNames(source), /Not yet/);
    assert.deepEqual(await toolNames(source), ["go"]);
  });

  it("is given up where its factory does not end, tried again, and let go if it comes after that", async () => {
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
    const [first, next] = [new Puppet(), new Puppet({ actions: { go: action() } })];
    makings[0]?.resolve(first);
    makings[1]?.resolve(next);
    assert.deepEqual(await again, ["go"]);
    await tick();
    assert.deepEqual(released, [first]);
  });

  it("that could not be made at first is told of when it is there, and from then on its changes", async () => {
    const clock = new SimulatedClock();
    const faults: unknown[] = [];
    let made: Puppet | undefined;
    let isDown = true;
    const source = fromAgenticService(
      () => {
        if (isDown) throw new Error("Not yet.");
        made = new Puppet({ actions: { go: action() }, states: { x: { value: 1 } } });
        return made;
      },
      { clock, stateIntervalMs: 0, onFault: (error) => faults.push(String(error)) },
    );
    const lists: string[] = [];
    const undo = source.watch(viewer, (ref) => lists.push(ref ?? "lists"), undefined, false);
    const state = flagsOf(source, viewer, "resources/x");
    const gone = source.watch(viewer, () => assert.fail("It listens no more."));
    await assert.rejects(toolNames(source), /Not yet/);
    gone();
    assert.deepEqual([lists, state, faults], [[], [], ["Error: Not yet."]]);
    isDown = false;
    assert.deepEqual(await toolNames(source), ["go"]);
    await tick();
    assert.deepEqual([lists, state], [["lists"], ["resources/x"]]);
    made?.told.actions.set({});
    made?.told.states.set({ x: { value: 2 } });
    await tick();
    assert.deepEqual(
      [lists, state],
      [
        ["lists", "lists"],
        ["resources/x", "resources/x"],
      ],
    );
    undo();
    made?.told.actions.set({ go: action() });
    await tick();
    assert.equal(lists.length, 2);
    source[Symbol.dispose]();
    await tick();
    assert.equal(clock.pending, 0);
  });

  it("is let go when nobody has called or listened for long, and all are with the source #agentic.viewers", async () => {
    const clock = new SimulatedClock();
    const count = new Count();
    const released: AgenticService[] = [];
    const source = fromAgenticService(() => new Puppet({ actions: { go: action() } }, count), {
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

  it("is not released for the call that gave up, where a later one meets it", async () => {
    const clock = new SimulatedClock();
    const released: object[] = [];
    const making = Promise.withResolvers<Puppet>();
    using source = fromAgenticService(() => making.promise, { clock, idleMs: 1_000, onRelease: (service) => released.push(service) });
    const names = assert.rejects(toolNames(source), { code: "WORK_TIMEOUT" });
    await clock.advance(55_000);
    await names;
    const again = toolNames(source);
    const game = new Puppet({ actions: { go: action() } });
    making.resolve(game);
    assert.deepEqual(await again, ["go"]);
    await tick();
    assert.deepEqual(released, []);
    await clock.advance(1_000);
    assert.deepEqual(released, [game]);
  });

  it("that several tokens of a principal meet is released after the last of them", async () => {
    const clock = new SimulatedClock();
    const released: object[] = [];
    const game = new Puppet({ actions: { go: action() } });
    using source = fromAgenticService(() => game, { clock, idleMs: 1_000, onRelease: (service) => released.push(service) });
    await toolNames(source, ben);
    await clock.advance(600);
    await toolNames(source, { ...ben, scopes: ["more"] });
    await clock.advance(600);
    assert.deepEqual(released, []);
    await clock.advance(400);
    assert.deepEqual(released, [game]);
  });
});
