import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isJsonObject } from "../../core/contract/index.ts";
import { listed, merge, prefix } from "../../mcp/source/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { agenticServices, type AgenticServiceOptions, type AgenticSource, fromAgenticService } from "./index.ts";
import { act, action, Count, flagsOf, okOf, Puppet, resourceUris, tick, toolNames, Told, viewer } from "./service.fixture.ts";

const leaf = (mark: string, count = new Count()): Puppet => {
  const puppet = new Puppet({ states: { mark: { value: mark } }, actions: { heal: action() } }, count);
  puppet.answer = () => ({ by: mark });
  return puppet;
};

describe("links of a service", () => {
  it("are namespaced by default: tools and states under their keys #agentic.links.namespaced", async () => {
    const child = new Puppet({ actions: { heal: action() }, links: { pet: leaf("cat") } });
    using source = fromAgenticService(new Puppet({ actions: { go: action() }, links: { child } }), { name: "hero" });
    assert.deepEqual(await toolNames(source), ["go", "child.heal", "child.pet.heal"]);
    assert.deepEqual(await resourceUris(source), ["mcp://hero/child/pet/state/mark"]);
    assert.deepEqual(okOf(await act(source, "tools/child.pet.heal")), { by: "cat" });
  });

  it("are flat where that is chosen, named by a convention of one's own or with one sign between #agentic.links.flat", async () => {
    const root = new Puppet({ actions: { heal: action() }, links: { a: leaf("a"), b: leaf("b") } });
    using flat = fromAgenticService(root, { links: "flat" });
    assert.deepEqual(await toolNames(flat), ["heal", "a_heal", "b_heal"]);
    assert.deepEqual(okOf(await act(flat, "tools/b_heal")), { by: "b" });
    const faults: unknown[] = [];
    using bare = fromAgenticService(root, { links: "flat", flatName: (key) => key, onFault: (error) => faults.push(error) });
    assert.deepEqual(await toolNames(bare), ["heal"], "the nearest has the name");
    assert.match(String(faults[0]), /tools\/heal is offered twice/);
    flagsOf(bare);
    root.told.actions.set({ heal: action(), rest: action() });
    await tick();
    assert.equal(faults.length, 2, "the states met too, and each is told once");
  });

  it("are told out of band where that is chosen, and their services not listened to #agentic.links.list", async () => {
    const count = new Count();
    const root = new Puppet({ actions: { go: action() }, links: { x: leaf("x", count) } });
    using source = fromAgenticService(root, {
      links: "list",
      name: "game",
      linkDescriptions: { x: "The side that begins." },
      linkAddress: (key) => `https://example.org/${key}/mcp`,
    });
    assert.deepEqual(await toolNames(source), ["list_links", "go"]);
    assert.deepEqual(await resourceUris(source), ["mcp://game/links"]);
    const told = [{ key: "x", description: "The side that begins.", address: "https://example.org/x/mcp" }];
    assert.deepEqual(okOf(await act(source, "tools/list_links")), told);
    assert.deepEqual(okOf(await act(source, "resources/list_links")), told);
    assert.equal(count.begun, 0);
    const flags = flagsOf(source, viewer, "resources/list_links");
    root.told.links.set({});
    await tick();
    assert.deepEqual(flags, ["resources/list_links"]);
    assert.deepEqual(okOf(await act(source, "tools/list_links")), []);
  });

  it("that swap target, appear and vanish are followed, and what they leave is let go #agentic.links.change", async () => {
    const count = new Count();
    const root = new Puppet({ links: { x: leaf("one", count) } });
    using source = fromAgenticService(root);
    assert.deepEqual(okOf(await act(source, "tools/x.heal")), { by: "one" });
    const flags = flagsOf(source);
    root.told.links.set({ x: leaf("two", count) });
    await tick();
    assert.deepEqual(flags, ["resources/x.mark"], "the same tools, another mark");
    assert.deepEqual(okOf(await act(source, "tools/x.heal")), { by: "two" });
    assert.equal(count.begun - count.ended, 3);
    root.told.links.set({ y: leaf("three", count) });
    await tick();
    assert.deepEqual(await toolNames(source), ["y.heal"]);
    root.told.links.set({});
    await tick();
    assert.deepEqual(await toolNames(source), []);
    assert.equal(count.begun - count.ended, 0);
  });

  it("that go in circles end, and a service that many ways lead to is listened to once #agentic.links.change", async () => {
    const count = new Count();
    const shared = leaf("shared", count);
    const parent = new Puppet({ actions: { go: action() } }, count);
    const child = new Puppet({ actions: { go: action() }, links: { parent, shared } }, count);
    parent.told.links.set({ child, self: parent, shared });
    using source = fromAgenticService(parent);
    assert.deepEqual(await toolNames(source), ["go", "child.go", "shared.heal", "child.shared.heal"]);
    assert.equal(count.begun - count.ended, 9);
  });

  it("are bounded in depth and number, nearest first #agentic.links.change", async () => {
    const chain = (left: number): Puppet => new Puppet({ actions: { go: action() }, links: left === 0 ? {} : { next: chain(left - 1) } });
    using deep = fromAgenticService(chain(9), { maxDepth: 2 });
    assert.deepEqual(await toolNames(deep), ["go", "next.go", "next.next.go"]);
    const links = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`l${i}`, chain(1)]));
    using wide = fromAgenticService(new Puppet({ links }), { maxServices: 10 });
    assert.deepEqual(
      await toolNames(wide),
      Array.from({ length: 9 }, (_, i) => `l${i}.go`),
    );
  });

  it("that grow because they are followed do not go on for ever #agentic.links.change", async () => {
    const root = new Puppet();
    let grown = 0;
    const grow = (): Puppet => {
      const puppet = new Puppet({ actions: { go: action() } });
      return Object.assign(puppet, {
        actions: (notify: (map: object) => void) => {
          grown += 1;
          root.told.links.set({ [`l${grown}`]: grow() });
          notify({});
          return () => undefined;
        },
      });
    };
    root.told.links.set({ l0: grow() });
    using source = fromAgenticService(root, { maxDepth: 1 });
    await source.surface(viewer);
    await tick();
    assert.ok(grown < 100, String(grown));
  });

  it("lead to several services on one server: each under its key #agentic.several", async () => {
    using source = fromAgenticService(agenticServices({ a: leaf("a"), b: leaf("b") }), { name: "both" });
    assert.deepEqual(await toolNames(source), ["a.heal", "b.heal"]);
    assert.deepEqual(await resourceUris(source), ["mcp://both/a/state/mark", "mcp://both/b/state/mark"]);
    assert.equal(await agenticServices({}).execute("go", 1), 'Action "go" is not available');
  });
});

describe("observables of a service", () => {
  it("that never emit delay nothing past one deadline, however many follow each other #agentic.observe.deadline", async () => {
    const clock = new SimulatedClock();
    const never = (): (() => void) => () => undefined;
    const late = new Puppet({ actions: { go: action() } });
    const inner = Object.assign(new Puppet(), { states: never });
    const count = new Count();
    const links = new Told<Readonly<Record<string, Puppet>>>(count);
    const root = Object.assign(new Puppet({ actions: { here: action() } }), { links: links.observe });
    using source = fromAgenticService(root, { clock, firstEmissionMs: 1_000 });
    let isThere = false;
    const surface = Promise.resolve(source.surface(viewer)).then((one) => {
      isThere = true;
      return one;
    });
    await clock.advance(900);
    links.set({ inner, late });
    await clock.advance(99);
    assert.equal(isThere, false);
    await clock.advance(1);
    assert.deepEqual(
      (await surface).catalogue.tools.map(({ name }) => name),
      ["here", "late.go"],
    );
    await clock.advance(2_000);
    assert.equal(clock.pending, 0);
    assert.ok(!(source.surface(viewer) instanceof Promise), "and never again");
  });

  it("that emit late, again and again, or with glitches make one difference for each tick, and none where there is none #agentic.observe.coalesced", async () => {
    const service = new Puppet({ states: { x: { value: 1 } } });
    using source = fromAgenticService(service);
    const flags = flagsOf(source);
    service.told.actions.set({ go: action() });
    service.told.actions.set({});
    service.told.actions.set({ go: action(), stop: action() });
    service.told.states.set({ x: { value: 2 } });
    service.told.states.set({ x: { value: 1 } });
    await tick();
    assert.deepEqual(flags, ["lists"]);
    service.told.actions.set({ stop: action(), go: action() });
    service.told.states.set({ x: { value: 1 } });
    await tick();
    assert.deepEqual(flags, ["lists"], "another order is the same set");
    service.told.actions.set({ go: action([{ title: "n", type: "number" }]), stop: action() });
    await tick();
    assert.deepEqual(flags, ["lists", "lists"], "another schema is not");
  });

  it("that throw, emit nonsense or return no undo take nothing else away, and are told as faults #agentic.observe.faults", async () => {
    const faults: unknown[] = [];
    const broken = Object.assign(new Puppet({ actions: { go: action() } }), {
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

  it("whose maps or services throw when they are looked at lose that one key, and go on telling", async () => {
    const faults: unknown[] = [];
    const throwing = (words: string): PropertyDescriptor => ({
      enumerable: true,
      get: () => {
        throw new Error(words);
      },
    });
    const service = new Puppet({ actions: { go: action() }, states: { x: { value: 1 } } });
    using source = fromAgenticService(service, { onFault: (error) => faults.push(error) });
    const flags = flagsOf(source);
    service.told.states.set(Object.defineProperty({ x: { value: 2 } }, "y", throwing("A state.")));
    service.told.actions.set(Object.defineProperty({ go: action(), stop: action() }, "z", throwing("An action.")));
    await tick();
    assert.deepEqual(flags, ["lists", "resources/x"]);
    const half = Object.defineProperty(new Puppet({ actions: { heal: action() } }), "states", throwing("Its states."));
    service.told.links.set(Object.defineProperty({ half }, "z", throwing("A link.")));
    await tick();
    service.told.links.set({ whole: leaf("whole") });
    await tick();
    assert.deepEqual(flags, ["lists", "resources/x", "lists", "resources/whole.mark"]);
    assert.deepEqual(await toolNames(source), ["go", "stop", "whole.heal"]);
    assert.deepEqual(
      faults.map((fault) => String(fault)),
      ["Error: A state.", "Error: An action.", "Error: A link.", "Error: Its states."],
    );
  });

  it("that throw while links are followed, or where the root has no states to give, are told of as faults", async () => {
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => {
      faults.push(error);
      throw new Error("Whoever is told fails too.");
    };
    const clock = new SimulatedClock();
    const root = Object.defineProperty(new Puppet({ actions: { go: action() } }), "states", {
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
    const links = new Told<object>(new Count(), { x: leaf("x") });
    const options: AgenticServiceOptions = {
      links: "list",
      onFault,
      linkAddress: (key) => {
        if (key === "x") throw new Error("No address.");
        return undefined;
      },
    };
    const listing: AgenticSource = Reflect.apply(fromAgenticService, undefined, [
      Object.assign(new Puppet(), { links: links.observe }),
      options,
    ]);
    assert.deepEqual(okOf(await act(listing, "tools/list_links")), []);
    links.set({ x: leaf("x"), y: undefined, z: { odd: 7 }, w: leaf("w") });
    await tick();
    assert.deepEqual(okOf(await act(listing, "tools/list_links")), [{ key: "w" }]);
    listing[Symbol.dispose]();
    assert.equal(faults.length, 1);
  });

  it("that go on after they were let go are not heard #agentic.observe.faults", async () => {
    let late: ((map: Readonly<Record<string, ReturnType<typeof action>>>) => void) | undefined;
    const child = Object.assign(new Puppet(), {
      actions: (notify: NonNullable<typeof late>) => {
        late = notify;
        notify({ go: action() });
        return () => undefined;
      },
    });
    const root = new Puppet({ links: { child } });
    using source = fromAgenticService(root);
    assert.deepEqual(await toolNames(source), ["child.go"]);
    root.told.links.set({});
    await tick();
    const flags = flagsOf(source);
    late?.({ go: action(), more: action() });
    await tick();
    assert.deepEqual([flags, await toolNames(source)], [[], []]);
  });

  it("whose names no client could use are left out, and told as faults", async () => {
    const faults: unknown[] = [];
    const actions = { "": action(), "two words": action(), "\ud800": action(), __proto__: action(), fine: action() };
    const states = { "two words": { value: 1 }, "": { value: 2 }, "\ud800": { value: 3 } };
    using source = fromAgenticService(new Puppet({ actions, states }), { onFault: (error) => faults.push(error) });
    assert.deepEqual(await toolNames(source), ["fine"]);
    assert.deepEqual(await resourceUris(source), ["mcp://service/state/two%20words"]);
    assert.ok(faults.length >= 3);
  });

  it("are all let go when the source is closed, which then knows nothing and tells nothing #agentic.observe.closing", async () => {
    const count = new Count();
    const root = new Puppet({ actions: { go: action() }, links: { x: leaf("x", count), y: leaf("y", count) } }, count);
    const source = fromAgenticService(root, { waitForChange: true });
    const flags = flagsOf(source);
    const waiting = act(source, "tools/wait_for_change");
    await tick();
    assert.ok(count.begun > 0);
    source[Symbol.dispose]();
    assert.equal(count.begun, count.ended);
    root.told.actions.set({});
    await tick();
    assert.deepEqual(flags, []);
    assert.ok("refused" in (await act(source, "tools/go")));
    assert.equal(root.calls.length, 0);
    assert.ok("ok" in (await waiting));
  });
});

describe("several services on one server", () => {
  it("may be called alike where their names differ, and pages are read from whichever has the state", async () => {
    const nine = (key: string): readonly string[] => Array.from({ length: 9 }, () => key);
    const named = (key: string) => {
      const service = new Puppet({ states: { [key]: { value: nine(key) } }, actions: { [`go_${key}`]: action() } });
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

  it("are merged where their names differ, or put under prefixes, and each keeps its own states #agentic.several", async () => {
    const named = (name: string, tool: string) =>
      fromAgenticService(new Puppet({ states: { mark: { value: name } }, actions: { [tool]: action() } }), { name });
    using a = named("a", "go");
    using b = named("b", "stop");
    const both = merge(prefix("one", a), prefix("two", b));
    assert.deepEqual(await toolNames(both), ["one__go", "two__stop"]);
    assert.deepEqual(await resourceUris(both), ["mcp://one/a/state/mark", "mcp://two/b/state/mark"]);
    assert.deepEqual(okOf(await act(both, "resources/two__mark")), { "troupe/content": [{ type: "text", text: '"b"' }] });
    using c = fromAgenticService(new Puppet({ actions: { rest: action() }, states: { other: { value: 1 } } }), { name: "c" });
    assert.deepEqual(await toolNames(merge(a, c)), ["go", "rest"]);
    using d = named("d", "go");
    await assert.rejects(toolNames(merge(a, d)), /tools\/go is offered by the service a and by the service d/);
  });
});
