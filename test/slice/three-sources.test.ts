/**
 * One counter in three forms: an actor, a registry, an AgenticService. The gateway in front of them must not
 * be able to distinguish them, so the same script runs against each, and against all merged.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { Database } from "@adobe/data/ecs";
import { Observe } from "@adobe/data/observe";
import { AgenticService } from "@adobe/data/service";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import { fromAgenticService } from "../../src/bridges/agentic/index.ts";
import type { Source, Viewer } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { cast, merge, prefix, registry, tool } from "../../src/mcp/source/index.ts";
import { stubGateway } from "./stub-gateway.ts";

const viewer: Viewer = { principal: "ana", scopes: [] };

interface Served extends AsyncDisposable {
  readonly source: Source;
}

async function asCast(): Promise<Served> {
  const counter = actor("counter", {
    description: "Counts.",
    persistence: "memory",
    state: z.object({ count: z.number().default(0) }),
    tools: {
      add: {
        description: "Adds.",
        input: z.object({ by: z.number() }),
        run({ state, args }) {
          state.count += args.by;
          return { count: state.count };
        },
      },
      reset: {
        description: "Starts over.",
        enabled: ({ state }) => state.count > 0,
        run({ state }) {
          state.count = 0;
          return { count: 0 };
        },
      },
    },
    resources: { count: { uri: "count://{alias}/count", view: ({ state }) => state.count } },
  });
  const engine = await LocalEngine.start({ kinds: [counter] });
  return { source: cast({ engine, kinds: [counter] }), [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

async function asRegistry(): Promise<Served> {
  let count = 0;
  const set = (value: number): { readonly count: number } => {
    const visible = count > 0;
    count = value;
    if (visible !== count > 0) source.relist();
    source.changed("count");
    return { count };
  };
  const source = registry({
    tools: {
      add: tool({ description: "Adds.", input: z.object({ by: z.number() }), work: ({ args: { by } }) => set(count + by) }),
      reset: { description: "Starts over.", enabled: () => count > 0, work: () => set(0) },
    },
    resources: { count: { uri: "count://main/count", view: () => count } },
  });
  return { source, async [Symbol.asyncDispose]() {} };
}

async function asService(): Promise<Served> {
  const db = Database.create(
    Database.Plugin.create({
      resources: { count: { default: 0 } },
      transactions: {
        set: (t, value: number) => {
          t.resources.count = value;
        },
      },
    }),
  );
  const set = (value: number): { readonly count: number } => {
    db.transactions.set(value);
    return { count: value };
  };
  const { count } = db.observe.resources;
  const service = AgenticService.create({
    interface: {
      count: { type: "state", schema: { type: "number" } },
      add: { type: "action", description: "Adds.", parameters: [{ title: "by", type: "number" }] },
      reset: { type: "action", description: "Starts over.", parameters: [] },
    },
    implementation: { count, add: (by) => set(db.resources.count + by), reset: () => set(0) },
    conditional: { reset: Observe.withMap(count, (value) => value > 0) },
  });
  const source = fromAgenticService(service, { stateUri: (key) => `count://main/${key}` });
  return {
    source,
    async [Symbol.asyncDispose]() {
      source[Symbol.dispose]();
    },
  };
}

const makers = { "a cast of actors": asCast, "a registry": asRegistry, "an AgenticService": asService };

const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function script(source: Source, before = "", segment = ""): Promise<void> {
  const gateway = stubGateway(source, viewer);
  const mine = async (): Promise<readonly string[]> => (await gateway.list()).filter((name) => name.startsWith(before));
  const notified = (): readonly string[] => gateway.takeNotifications().map((text) => text.replace(before, ""));
  const uri = `count://${segment}main/count`;
  await turnOfLoop();
  assert.deepEqual(await mine(), [`${before}add`]);
  assert.ok((await gateway.uris()).includes(uri));
  assert.equal(await gateway.read(uri), "0");
  assert.equal(await gateway.call(`${before}reset`), "-32602", "hidden");
  assert.equal(await gateway.call(`${before}nothing`), "-32602", "unknown");
  assert.match(await gateway.call(`${before}add`, { by: "two" }), /^isError /);
  assert.deepEqual(notified(), []);
  assert.equal(await gateway.call(`${before}add`, { by: 2 }), '{"count":2}');
  assert.deepEqual(notified(), ["list_changed", "updated count"], "before the reply");
  assert.deepEqual(await mine(), [`${before}add`, `${before}reset`]);
  assert.equal(await gateway.read(uri), "2");
  assert.equal(await gateway.call(`${before}add`, { by: 1 }), '{"count":3}');
  assert.deepEqual(notified(), ["updated count"]);
  assert.equal(await gateway.call(`${before}reset`), '{"count":0}');
  assert.deepEqual(notified(), ["list_changed", "updated count"]);
  assert.deepEqual(await mine(), [`${before}add`]);
  gateway.close();
  await gateway.call(`${before}add`, { by: 1 });
  await turnOfLoop();
  assert.deepEqual(notified(), []);
  await gateway.call(`${before}reset`);
}

describe("three sources behind one gateway", () => {
  for (const [name, make] of Object.entries(makers)) {
    it(`serves ${name}`, async () => {
      await using served = await make();
      await script(served.source);
    });
  }

  it("serves all three at once, each under its prefix", async () => {
    await using one = await asCast();
    await using two = await asRegistry();
    await using three = await asService();
    const source = merge(prefix("a", one.source), prefix("b", two.source), prefix("c", three.source));
    for (const name of ["a", "b", "c"]) await script(source, `${name}__`, `${name}/`);
  });

  it("never queries which source it serves", async () => {
    const text = await readFile(new URL("./stub-gateway.ts", import.meta.url), "utf8");
    assert.doesNotMatch(text, /instanceof|registry|cast\(|agentic/i);
  });
});
