import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { describe, it } from "node:test";
import { isJsonObject } from "../../core/contract/index.ts";
import { listed, merge, prefix } from "../../mcp/source/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { type AgenticServiceOptions, agenticServices, type AgenticSource, fromAgenticService } from "./index.ts";
import {
  act,
  action,
  Count,
  FakeService,
  flagsOf,
  okOf,
  resourceUris,
  TestObservable,
  tick,
  toolNames,
  viewer,
} from "./service.fixture.ts";

const leaf = (mark: string, count = new Count()): FakeService => {
  const puppet = new FakeService({ states: { mark: { value: mark } }, actions: { heal: action() } }, count);
  puppet.answer = () => ({ by: mark });
  return puppet;
};

describe("links of a service", () => {
  it("are namespaced by default: tools and states under their keys #agentic.links.namespaced", async () => {
    const child = new FakeService({ actions: { heal: action() }, links: { pet: leaf("cat") } });
    using source = fromAgenticService(new FakeService({ actions: { go: action() }, links: { child } }), { name: "hero" });
    assert.deepEqual(await toolNames(source), ["go", "child.heal", "child.pet.heal"]);
    assert.deepEqual(await resourceUris(source), ["mcp://hero/child/pet/state/mark"]);
    assert.deepEqual(okOf(await act(source, "tools/child.pet.heal")), { by: "cat" });
  });

  it("are flat by option, joined by an underscore or named by a function #agentic.links.flat", async () => {
    const root = new FakeService({ actions: { heal: action() }, links: { a: leaf("a"), b: leaf("b") } });
    using flat = fromAgenticService(root, { links: "flat" });
    assert.deepEqual(await toolNames(flat), ["heal", "a_heal", "b_heal"]);
    assert.deepEqual(okOf(await act(flat, "tools/b_heal")), { by: "b" });
    const faults: unknown[] = [];
    using bare = fromAgenticService(root, { links: "flat", flatName: (key) => key, onFault: (error) => faults.push(error) });
    assert.deepEqual(await toolNames(bare), ["heal"], "the nearest has the name");
    assert.match(String(faults[0]), /tools\/heal is offered twice/);
    flagsOf(bare);
    root.observables.actions.set({ heal: action(), rest: action() });
    await tick();
    assert.equal(faults.length, 2, "the states met too, and each is reported once");
  });

  it("are only listed by option, and their services are not observed #agentic.links.list", async () => {
    const count = new Count();
    const root = new FakeService({ actions: { go: action() }, links: { x: leaf("x", count) } });
    using source = fromAgenticService(root, {
      links: "list",
      name: "game",
      linkDescriptions: { x: "The side that begins." },
      linkAddress: (key) => `https://example.org/${key}/mcp`,
    });
    assert.deepEqual(await toolNames(source), ["list_links", "go"]);
    assert.deepEqual(await resourceUris(source), ["mcp://game/links"]);
    const expected = [{ key: "x", description: "The side that begins.", address: "https://example.org/x/mcp" }];
    assert.deepEqual(okOf(await act(source, "tools/list_links")), expected);
    assert.deepEqual(okOf(await act(source, "resources/list_links")), expected);
    assert.equal(count.begun, 0);
    const flags = flagsOf(source, viewer, "resources/list_links");
    root.observables.links.set({});
    await tick();
    assert.deepEqual(flags, ["resources/list_links"]);
    assert.deepEqual(okOf(await act(source, "tools/list_links")), []);
  });

  it("are followed as they change target, appear and disappear, and unsubscribed from #agentic.links.change", async () => {
    const count = new Count();
    const root = new FakeService({ links: { x: leaf("one", count) } });
    using source = fromAgenticService(root);
    assert.deepEqual(okOf(await act(source, "tools/x.heal")), { by: "one" });
    const flags = flagsOf(source);
    root.observables.links.set({ x: leaf("two", count) });
    await tick();
    assert.deepEqual(flags, ["resources/x.mark"], "the same tools, another mark");
    assert.deepEqual(okOf(await act(source, "tools/x.heal")), { by: "two" });
    assert.equal(count.begun - count.ended, 3);
    root.observables.links.set({ y: leaf("three", count) });
    await tick();
    assert.deepEqual(await toolNames(source), ["y.heal"]);
    root.observables.links.set({});
    await tick();
    assert.deepEqual(await toolNames(source), []);
    assert.equal(count.begun - count.ended, 0);
  });

  it("may form cycles, and a service reached by several paths is observed once #agentic.links.change", async () => {
    const count = new Count();
    const shared = leaf("shared", count);
    const parent = new FakeService({ actions: { go: action() } }, count);
    const child = new FakeService({ actions: { go: action() }, links: { parent, shared } }, count);
    parent.observables.links.set({ child, self: parent, shared });
    using source = fromAgenticService(parent);
    assert.deepEqual(await toolNames(source), ["go", "child.go", "shared.heal", "child.shared.heal"]);
    assert.equal(count.begun - count.ended, 9);
  });

  it("are bounded in depth and number, breadth first #agentic.links.change", async () => {
    const chain = (left: number): FakeService =>
      new FakeService({ actions: { go: action() }, links: left === 0 ? {} : { next: chain(left - 1) } });
    using deep = fromAgenticService(chain(9), { maxDepth: 2 });
    assert.deepEqual(await toolNames(deep), ["go", "next.go", "next.next.go"]);
    const links = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`l${i}`, chain(1)]));
    using wide = fromAgenticService(new FakeService({ links }), { maxServices: 10 });
    assert.deepEqual(
      await toolNames(wide),
      Array.from({ length: 9 }, (_, i) => `l${i}.go`),
    );
  });

  it("do not grow without end if observing a service adds links #agentic.links.change", async () => {
    const root = new FakeService();
    let grown = 0;
    const grow = (): FakeService => {
      const puppet = new FakeService({ actions: { go: action() } });
      return Object.assign(puppet, {
        actions: (notify: (map: object) => void) => {
          grown += 1;
          root.observables.links.set({ [`l${grown}`]: grow() });
          notify({});
          return () => undefined;
        },
      });
    };
    root.observables.links.set({ l0: grow() });
    using source = fromAgenticService(root, { maxDepth: 1 });
    await source.surface(viewer);
    await tick();
    assert.ok(grown < 100, String(grown));
  });

  it("combine several services on one server, each under its key #agentic.several", async () => {
    using source = fromAgenticService(agenticServices({ a: leaf("a"), b: leaf("b") }), { name: "both" });
    assert.deepEqual(await toolNames(source), ["a.heal", "b.heal"]);
    assert.deepEqual(await resourceUris(source), ["mcp://both/a/state/mark", "mcp://both/b/state/mark"]);
    assert.equal(await agenticServices({}).execute("go", 1), 'Action "go" is not available');
  });
});

describe("observables of a service", () => {
  it("delay a list by one deadline at most, however many never emit #agentic.observe.deadline", async () => {
    const clock = new SimulatedClock();
    const never = (): (() => void) => () => undefined;
    const slow = new FakeService({ actions: { go: action() } });
    const inner = Object.assign(new FakeService(), { states: never });
    const count = new Count();
    const links = new TestObservable<Readonly<Record<string, FakeService>>>(count);
    const root = Object.assign(new FakeService({ actions: { here: action() } }), { links: links.observe });
    using source = fromAgenticService(root, { clock, firstEmissionMs: 1_000 });
    let isThere = false;
    const surface = Promise.resolve(source.surface(viewer)).then((one) => {
      isThere = true;
      return one;
    });
    await clock.advance(900);
    links.set({ inner, slow });
    await clock.advance(99);
    assert.equal(isThere, false);
    await clock.advance(1);
    assert.deepEqual(
      (await surface).catalogue.tools.map(({ name }) => name),
      ["here", "slow.go"],
    );
    await clock.advance(2_000);
    assert.equal(clock.pending, 0);
    assert.ok(!(source.surface(viewer) instanceof Promise), "and never again");
  });

  it("leave nothing running after a list, if links always lead to new services", async () => {
    const clock = new SimulatedClock();
    const never = (): (() => void) => () => undefined;
    const relink = (): void => links.set({ child: Object.assign(new FakeService(), { states: never }) });
    const links = new TestObservable<Readonly<Record<string, FakeService>>>(new Count());
    relink();
    const root = Object.assign(new FakeService(), { links: links.observe });
    using source = fromAgenticService(root, { clock, firstEmissionMs: 100 });
    const promisesOfChange = async (): Promise<number> => {
      let promises = 0;
      const hook = createHook({ init: (_id, type) => void (promises += type === "PROMISE" ? 1 : 0) }).enable();
      relink();
      await tick();
      hook.disable();
      return promises;
    };
    // The first one makes some that are used again.
    await promisesOfChange();
    const before = await promisesOfChange();
    const lists = Promise.all(Array.from({ length: 20 }, async () => source.surface(viewer)));
    for (let i = 0; i < 10; i += 1) {
      await clock.advance(10);
      relink();
      await tick();
    }
    await lists;
    assert.equal(await promisesOfChange(), before);
  });

  it("cause one notification per tick, and none if nothing differs #agentic.observe.coalesced", async () => {
    const service = new FakeService({ states: { x: { value: 1 } } });
    using source = fromAgenticService(service);
    const flags = flagsOf(source);
    service.observables.actions.set({ go: action() });
    service.observables.actions.set({});
    service.observables.actions.set({ go: action(), stop: action() });
    service.observables.states.set({ x: { value: 2 } });
    service.observables.states.set({ x: { value: 1 } });
    await tick();
    assert.deepEqual(flags, ["lists"]);
    service.observables.actions.set({ stop: action(), go: action() });
    service.observables.states.set({ x: { value: 1 } });
    await tick();
    assert.deepEqual(flags, ["lists"], "another order is the same set");
    service.observables.actions.set({ go: action([{ title: "n", type: "number" }]), stop: action() });
    await tick();
    assert.deepEqual(flags, ["lists", "lists"], "another schema is not");
  });

  it("are reported as faults if they throw or emit nonsense, and do not affect others #agentic.observe.faults", async () => {
    const faults: unknown[] = [];
    const broken = Object.assign(new FakeService({ actions: { go: action() } }), {
      states: () => {
        throw new Error("No states.");
      },
      links: (notify: (map: never) => void) => {
        Reflect.apply(notify, undefined, [null]);
        Reflect.apply(notify, undefined, [{ odd: 7, none: undefined }]);
      },
    });
    const clock = new SimulatedClock();
    const source = Reflect.apply(fromAgenticService, undefined, [broken, { clock, onFault: (error: unknown) => faults.push(error) }]);
    const surface = source.surface(viewer);
    await clock.advance(1_000);
    assert.deepEqual(
      listed(await surface, "dynamic").tools.map(({ name }) => name),
      ["go"],
    );
    source[Symbol.dispose]();
    assert.match(String(faults), /No states/);
  });

  it("lose only the key whose getter throws, and still notify", async () => {
    const faults: unknown[] = [];
    const throwing = (words: string): PropertyDescriptor => ({
      enumerable: true,
      get: () => {
        throw new Error(words);
      },
    });
    const service = new FakeService({ actions: { go: action() }, states: { x: { value: 1 } } });
    using source = fromAgenticService(service, { onFault: (error) => faults.push(error) });
    const flags = flagsOf(source);
    service.observables.states.set(Object.defineProperty({ x: { value: 2 } }, "y", throwing("A state.")));
    service.observables.actions.set(Object.defineProperty({ go: action(), stop: action() }, "z", throwing("An action.")));
    await tick();
    assert.deepEqual(flags, ["lists", "resources/x"]);
    const half = Object.defineProperty(new FakeService({ actions: { heal: action() } }), "states", throwing("Its states."));
    service.observables.links.set(Object.defineProperty({ half }, "z", throwing("A link.")));
    await tick();
    service.observables.links.set({ whole: leaf("whole") });
    await tick();
    assert.deepEqual(flags, ["lists", "resources/x", "lists", "resources/whole.mark"]);
    assert.deepEqual(await toolNames(source), ["go", "stop", "whole.heal"]);
    assert.deepEqual(
      faults.map((fault) => String(fault)),
      ["Error: A state.", "Error: An action.", "Error: A link.", "Error: Its states."],
    );
  });

  it("are reported as faults if they throw while links are followed", async () => {
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => {
      faults.push(error);
      throw new Error("The handler fails too.");
    };
    const clock = new SimulatedClock();
    const root = Object.defineProperty(new FakeService({ actions: { go: action() } }), "states", {
      get: () => {
        throw Object.create(null);
      },
    });
    using unstated = fromAgenticService(root, { clock, onFault });
    const surface = unstated.surface(viewer);
    await clock.advance(1_000);
    assert.deepEqual(
      (await surface).catalogue.tools.map(({ name }) => name),
      ["go"],
    );
    const links = new TestObservable<object>(new Count(), { x: leaf("x") });
    const options: AgenticServiceOptions = {
      links: "list",
      onFault,
      linkAddress: (key) => {
        if (key === "x") throw new Error("No address.");
        return undefined;
      },
    };
    const listing: AgenticSource = Reflect.apply(fromAgenticService, undefined, [
      Object.assign(new FakeService(), { links: links.observe }),
      options,
    ]);
    assert.deepEqual(okOf(await act(listing, "tools/list_links")), []);
    links.set({ x: leaf("x"), y: undefined, z: { odd: 7 }, w: leaf("w") });
    await tick();
    assert.deepEqual(okOf(await act(listing, "tools/list_links")), [{ key: "w" }]);
    listing[Symbol.dispose]();
    assert.equal(faults.length, 1);
  });

  it("are ignored after they were unsubscribed from #agentic.observe.faults", async () => {
    let emitLater: ((map: Readonly<Record<string, ReturnType<typeof action>>>) => void) | undefined;
    const child = Object.assign(new FakeService(), {
      actions: (notify: NonNullable<typeof emitLater>) => {
        emitLater = notify;
        notify({ go: action() });
        return () => undefined;
      },
    });
    const root = new FakeService({ links: { child } });
    using source = fromAgenticService(root);
    assert.deepEqual(await toolNames(source), ["child.go"]);
    root.observables.links.set({});
    await tick();
    const flags = flagsOf(source);
    emitLater?.({ go: action(), more: action() });
    await tick();
    assert.deepEqual([flags, await toolNames(source)], [[], []]);
  });

  it("are omitted and reported as faults if no client could use their names", async () => {
    const faults: unknown[] = [];
    const actions = { "": action(), "two words": action(), "\ud800": action(), __proto__: action(), fine: action() };
    const states = { "two words": { value: 1 }, "": { value: 2 }, "\ud800": { value: 3 } };
    using source = fromAgenticService(new FakeService({ actions, states }), { onFault: (error) => faults.push(error) });
    assert.deepEqual(await toolNames(source), ["fine"]);
    assert.deepEqual(await resourceUris(source), ["mcp://service/state/two%20words"]);
    assert.ok(faults.length >= 3);
  });

  it("are left out and reported as faults if they are actions without `execute`", async () => {
    const faults: unknown[] = [];
    const service = Object.assign(new FakeService({}), {
      actions: (notify: (map: never) => void) => {
        Reflect.apply(notify, undefined, [{ fine: action(), heal: { description: "Heal.", parameters: [] }, missing: undefined }]);
        return () => undefined;
      },
    });
    using source = fromAgenticService(service, { onFault: (error) => faults.push(error) });
    assert.deepEqual(await toolNames(source), ["fine"]);
    assert.deepEqual(faults.map(String), ['TroupeError: The action "heal" is left out, since it has no function `execute`.']);
  });

  it("are all unsubscribed from when the source is closed #agentic.observe.closing", async () => {
    const count = new Count();
    const root = new FakeService({ actions: { go: action() }, links: { x: leaf("x", count), y: leaf("y", count) } }, count);
    const source = fromAgenticService(root, { waitForChange: true });
    const flags = flagsOf(source);
    const waiting = act(source, "tools/wait_for_change");
    await tick();
    assert.ok(count.begun > 0);
    source[Symbol.dispose]();
    assert.equal(count.begun, count.ended);
    root.observables.actions.set({});
    await tick();
    assert.deepEqual(flags, []);
    assert.ok("refused" in (await act(source, "tools/go")));
    assert.equal(root.calls.length, 0);
    assert.ok("ok" in (await waiting));
  });
});

describe("several services on one server", () => {
  it("may have equal service names, and pages are read from the one that has the state", async () => {
    const nine = (key: string): readonly string[] => Array.from({ length: 9 }, () => key);
    const named = (key: string) => {
      const service = new FakeService({ states: { [key]: { value: nine(key) } }, actions: { [`go_${key}`]: action() } });
      return fromAgenticService(Object.assign(service, { serviceName: "agentic-service" }), { pageLength: 20 });
    };
    using a = named("a");
    using b = named("b");
    for (const [both, head] of [
      [merge(a, b), ""],
      [prefix("x", merge(a, b)), "x__"],
      [merge(prefix("x", a), prefix("x", b)), "x__"],
    ] as const) {
      assert.deepEqual(await toolNames(both), [`${head}go_a`, `${head}go_b`]);
      const templates = listed(await both.surface(viewer), "dynamic").resourceTemplates;
      assert.equal(templates.length, 1);
      for (const key of ["a", "b"]) {
        const index = okOf(await act(both, `resources/${head}${key}`));
        assert.ok(isJsonObject(index) && Array.isArray(index["pages"]));
        let text = "";
        for (const page of index["pages"]) {
          const piece = okOf(await act(both, `resources/${String(templates[0]?.name)}`, { page }));
          assert.ok(typeof piece === "string");
          text += piece;
        }
        assert.deepEqual(JSON.parse(text), nine(key));
      }
    }
  });

  it("are merged if their names differ, or prefixed, each with its own states #agentic.several", async () => {
    const named = (name: string, tool: string) =>
      fromAgenticService(new FakeService({ states: { mark: { value: name } }, actions: { [tool]: action() } }), { name });
    using a = named("a", "go");
    using b = named("b", "stop");
    const both = merge(prefix("one", a), prefix("two", b));
    assert.deepEqual(await toolNames(both), ["one__go", "two__stop"]);
    assert.deepEqual(await resourceUris(both), ["mcp://one/a/state/mark", "mcp://two/b/state/mark"]);
    assert.deepEqual(okOf(await act(both, "resources/two__mark")), { "troupe/content": [{ type: "text", text: '"b"' }] });
    using c = fromAgenticService(new FakeService({ actions: { rest: action() }, states: { other: { value: 1 } } }), { name: "c" });
    assert.deepEqual(await toolNames(merge(a, c)), ["go", "rest"]);
    using d = named("d", "go");
    await assert.rejects(toolNames(merge(a, d)), /tools\/go is offered by the service a and by the service d/);
  });
});
