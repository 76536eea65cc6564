import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Database } from "@adobe/data/ecs";
import { Observe } from "@adobe/data/observe";
import { AgenticService } from "@adobe/data/service";
import { CONTENT, type Json, type OfferRef, type Reply, type Source, type Viewer } from "../../core/contract/index.ts";
import { listed } from "../../mcp/source/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { type Action, type AgenticService as Shape, fromAgenticService } from "./index.ts";

const viewer: Viewer = { scopes: [] };
const DONE: Reply = { ok: { [CONTENT]: [{ type: "text", text: "" }], isError: false } };

function hero() {
  const db = Database.create(
    Database.Plugin.create({
      resources: { health: { default: 100 }, alive: { default: true } },
      transactions: {
        damage: (t, n: number) => {
          t.resources.health = Math.max(0, t.resources.health - n);
          if (t.resources.health === 0) t.resources.alive = false;
        },
        heal: (t, n: number) => {
          t.resources.health += n;
        },
        revive: (t) => {
          t.resources.health = 50;
          t.resources.alive = true;
        },
      },
    }),
  );
  const { alive } = db.observe.resources;
  const service = AgenticService.create({
    interface: {
      health: { type: "state", schema: { type: "number", minimum: 0, layout: "packed", description: "What is left." } },
      heal: { type: "action", description: "Heal by n", parameters: [{ title: "n", type: "number", minimum: 1 }] },
      move: {
        type: "action",
        description: "Move",
        parameters: [
          { title: "x", type: "number" },
          { type: "number", default: 0 },
        ],
      },
      revive: { type: "action", description: "Revive", parameters: [] },
    },
    implementation: {
      health: db.observe.resources.health,
      heal: (n) => db.transactions.heal(n),
      move: (x, y) => ({ x, y }),
      revive: async () => {
        db.transactions.revive();
      },
    },
    conditional: { heal: alive, revive: Observe.withMap(alive, (is) => !is) },
  });
  return { db, service };
}

const act = (source: Source, ref: OfferRef, args: Json = {}): Promise<Reply> => source.act(viewer, ref, args, {});

const names = async (source: Source): Promise<readonly string[]> =>
  listed(await source.surface(viewer), "dynamic").tools.map(({ name }) => name);

function listen(source: Source, contents?: boolean): (OfferRef | "lists")[] {
  const flags: (OfferRef | "lists")[] = [];
  source.watch(viewer, (ref) => flags.push(ref ?? "lists"), undefined, contents);
  return flags;
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("fromAgenticService", () => {
  it("offers the available actions as tools, and states as resources #agentic.source #agentic.surface.actions", async () => {
    const { db, service } = hero();
    using source = fromAgenticService(service, { name: "hero" });
    const lists = listed(await source.surface(viewer), "dynamic");
    assert.deepEqual(lists.tools, [
      {
        name: "heal",
        description: "Heal by n",
        inputSchema: {
          type: "object",
          properties: { n: { title: "n", type: "number", minimum: 1 } },
          required: ["n"],
          additionalProperties: false,
        },
      },
      {
        name: "move",
        description: "Move",
        inputSchema: {
          type: "object",
          properties: { x: { title: "x", type: "number" }, arg1: { type: "number", default: 0 } },
          required: ["x"],
          additionalProperties: false,
        },
      },
    ]);
    assert.deepEqual(lists.resources, [
      { name: "health", description: "What is left.", uri: "mcp://hero/state/health", mimeType: "application/json" },
    ]);
    db.transactions.damage(200);
    assert.deepEqual(await names(source), ["move", "revive"]);
    assert.deepEqual(await act(source, "resources/health"), { ok: 0 });
  });

  it("passes one or several parameters, and validates them #agentic.call.spread #agentic.call.validated", async () => {
    const { service } = hero();
    using source = fromAgenticService(service);
    assert.deepEqual(await act(source, "tools/heal", { n: 5 }), DONE);
    assert.deepEqual(await act(source, "resources/health"), { ok: 105 });
    assert.deepEqual(await act(source, "tools/move", { x: 1 }), { ok: { x: 1, y: 0 } });
    assert.deepEqual(await act(source, "tools/move", { x: 1, arg1: 2 }), { ok: { x: 1, y: 2 } });
    for (const args of [{ n: "x" }, { n: 0 }, {}, { n: 1, m: 2 }]) {
      const reply = await act(source, "tools/heal", args);
      assert.ok("refused" in reply && reply.refused.code === "INVALID", JSON.stringify(args));
    }
    assert.deepEqual(await act(source, "resources/health"), { ok: 105 });
  });

  it("law 3: availability is checked at the call, not only in the list #agentic.call.availability", async () => {
    const { db, service } = hero();
    using source = fromAgenticService(service);
    await names(source);
    db.transactions.damage(100);
    const reply = await act(source, "tools/heal", { n: 1 });
    assert.ok("refused" in reply && reply.refused.code === "UNKNOWN");
    assert.deepEqual(await act(source, "tools/none"), reply);
    assert.deepEqual(await act(source, "resources/health"), { ok: 0 });
  });

  it("C8 a change emitted repeatedly is flagged once, before the reply; an equal value never #agentic.observe.coalesced #agentic.gap.observe", async () => {
    const { db, service } = hero();
    using source = fromAgenticService(service);
    await source.surface(viewer);
    const flags = listen(source);
    const lists = listen(source, false);
    db.transactions.damage(100);
    await tick();
    assert.deepEqual(flags, ["lists", "resources/health"]);
    assert.deepEqual(lists, ["lists"]);
    flags.length = 0;
    db.transactions.damage(1);
    await tick();
    assert.deepEqual(flags, []);
    await act(source, "tools/revive");
    assert.deepEqual(flags, ["lists", "resources/health"]);
  });

  it("accepts the older shape: one schema or none, text as an error #agentic.source #agentic.actions.shapes", async () => {
    const calls: unknown[] = [];
    const old: Shape = {
      states: (notify) => {
        notify({ board: { schema: { type: "array" }, value: new Float32Array([1, 2]) } });
        return () => undefined;
      },
      actions: (notify) => {
        notify({
          play: { description: "Plays.", schema: { type: "integer", minimum: 0 }, execute: () => undefined },
          rest: { description: "Rests.", schema: false, execute: () => undefined },
        });
        return () => undefined;
      },
      execute: async (action, input) => {
        calls.push([action, input]);
        return action === "play" && input === 3 ? "That cell is taken." : undefined;
      },
    };
    using source = fromAgenticService(old);
    assert.deepEqual(await act(source, "tools/play", { input: 1 }), DONE);
    assert.deepEqual(await act(source, "tools/play", { input: 3 }), { refused: { code: "REFUSED", message: "That cell is taken." } });
    assert.deepEqual(await act(source, "tools/rest"), DONE);
    assert.deepEqual(calls, [
      ["play", 1],
      ["play", 3],
      ["rest", undefined],
    ]);
    assert.deepEqual(await act(source, "resources/board"), { ok: [1, 2] });
  });

  it("follows links under prefixes as they change, without cycles, and unsubscribes from all #agentic.surface.links", async () => {
    let listening = 0;
    const count =
      <T>(observe: Observe<T>): Observe<T> =>
      (notify) => {
        listening += 1;
        const undo = observe(notify);
        return () => {
          listening -= 1;
          undo();
        };
      };
    const leaf = (value: string): Shape => ({
      states: count(Observe.fromConstant({ mark: { schema: { type: "string" }, value } })),
      actions: count(Observe.fromConstant({ play: { description: "Plays.", parameters: [], execute: () => ({ value }) } })),
      execute: async () => ({ value }),
    });
    const [child, setChild] = Observe.createState<Shape>(leaf("first"));
    const root: Shape = {
      states: count(Observe.fromConstant({})),
      actions: count(Observe.fromConstant({})),
      execute: async () => undefined,
      links: count(Observe.withMap(child, (service) => ({ x: service, self: root }))),
    };
    const source = fromAgenticService(root);
    assert.deepEqual(await names(source), ["x.play"]);
    assert.deepEqual(await act(source, "tools/x.play"), { ok: { value: "first" } });
    const flags = listen(source);
    setChild(leaf("second"));
    await tick();
    assert.deepEqual(await act(source, "resources/x.mark"), { ok: { [CONTENT]: [{ type: "text", text: '"second"' }] } });
    assert.deepEqual(flags, ["resources/x.mark"]);
    assert.equal(listed(await source.surface(viewer), "dynamic").resources[0]?.["uri"], "mcp://service/x/state/mark");
    source[Symbol.dispose]();
    assert.equal(listening, 0);
  });

  it("calls observables of a class instance as its methods", async () => {
    class Lamp implements Shape {
      readonly #listeners = new Set<() => void>();
      #isLit = false;
      #subscribe<T>(now: () => T, notify: (value: T) => void): () => void {
        const tell = (): void => notify(now());
        this.#listeners.add(tell);
        tell();
        return () => void this.#listeners.delete(tell);
      }
      get listening(): number {
        return this.#listeners.size;
      }
      states(notify: Parameters<Shape["states"]>[0]): () => void {
        return this.#subscribe(() => ({ lit: { schema: { type: "boolean" }, value: this.#isLit } }), notify);
      }
      actions(notify: Parameters<Shape["actions"]>[0]): () => void {
        const press = { description: "Presses.", parameters: [], execute: () => undefined };
        return this.#subscribe((): Readonly<Record<string, Action>> => (this.#isLit ? {} : { press }), notify);
      }
      links(notify: Parameters<NonNullable<Shape["links"]>>[0]): () => void {
        return this.#subscribe(() => ({ self: this }), notify);
      }
      async execute(): Promise<void> {
        this.#isLit = true;
        for (const tell of this.#listeners) tell();
      }
    }
    const lamp = new Lamp();
    const source = fromAgenticService(lamp);
    assert.deepEqual(await names(source), ["press"]);
    assert.deepEqual(await act(source, "tools/press"), DONE);
    assert.deepEqual([await names(source), await act(source, "resources/lit")], [[], { ok: true }]);
    source[Symbol.dispose]();
    assert.equal(lamp.listening, 0);
  });

  it("waits for a map only until the deadline #agentic.observe.deadline", async () => {
    const clock = new SimulatedClock();
    const service: Shape = {
      states: () => () => undefined,
      actions: Observe.fromConstant({ go: { description: "Goes.", parameters: [], execute: () => undefined } }),
      execute: async () => undefined,
    };
    using source = fromAgenticService(service, { clock });
    const surface = source.surface(viewer);
    await clock.advance(1_000);
    assert.deepEqual(
      (await surface).catalogue.tools.map(({ name }) => name),
      ["go"],
    );
  });

  it("survives an action that throws, and serves a state that violates its schema #agentic.call.throws", async () => {
    let calls = 0;
    const go = (): void => {
      calls += 1;
      if (calls === 1) throw new Error("The wheel is off.");
    };
    const service: Shape = {
      states: Observe.fromConstant({ winner: { schema: { type: "string", interpolators: { linear: () => 1 } }, value: null } }),
      actions: Observe.fromConstant({ go: { description: "Goes.", parameters: [], execute: go } }),
      execute: async () => go(),
    };
    using source = fromAgenticService(service);
    await assert.rejects(act(source, "tools/go"), { code: "CRASHED", message: "The wheel is off.", applied: "unknown" });
    assert.deepEqual(await act(source, "tools/go"), DONE);
    assert.deepEqual(await act(source, "resources/winner"), { ok: null });
  });
});
