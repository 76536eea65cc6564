// Law 1 spans folders: however an actor is reached, only its own turns change its state, and its chain records them.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { actor } from "../src/core/actor/index.ts";
import { stateAt } from "../src/core/chain/index.ts";
import type { ActorId, ChainEvent, Engine, Viewer } from "../src/core/contract/index.ts";
import { LocalEngine } from "../src/core/engine/index.ts";
import { cast, registry } from "../src/mcp/source/index.ts";
import { memoryStore } from "../src/core/store/index.ts";

const jar = actor("jar", {
  description: "A jar.",
  initial: () => ({ coins: [1] }),
  tools: {
    put: { description: "Put one in.", run: ({ state }) => void state.coins.push(1) },
    peek: { description: "Look in.", view: ({ state }) => state.coins.length },
    steal: { description: "A view that would write.", view: ({ state }) => Reflect.set(state.coins, "length", 0) },
    pour: { description: "Into another.", run: ({ send }) => send("jar/other", "pour_in") },
  },
  messages: { pour_in: { run: ({ state }) => void state.coins.push(2) } },
});

const ann: Viewer = { principal: "ann", scopes: [] };

const chainOf = async (engine: Engine, id: ActorId): Promise<readonly ChainEvent[]> => {
  const events: ChainEvent[] = [];
  for await (const event of engine.history(id)) events.push(event);
  return events;
};

test("law 1: only an actor's own turns write its state, and its chain has every change #chain.only-storage", async () => {
  const store = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [jar], store });
  const source = cast({ engine, kinds: [jar] });
  for (let round = 0; round < 5; round += 1) await source.act(ann, "tools/put", {}, {});
  assert.deepEqual(await source.act(ann, "tools/steal", {}, {}), { ok: false });
  const seen: unknown = (await engine.read("jar/main"))?.state;
  assert.ok(typeof seen === "object" && seen !== null && "coins" in seen && Array.isArray(seen.coins));
  const { coins } = seen;
  assert.throws(() => coins.push(1), TypeError);
  assert.deepEqual(await source.act(ann, "tools/peek", {}, {}), { ok: 6 });
  await source.act(ann, "tools/pour", {}, {});
  while ((await store.undelivered(1)).length > 0) await new Promise<void>((done) => void setImmediate(done));
  for (const [id, turns] of [
    ["jar/main", 6],
    ["jar/other", 1],
  ] as const) {
    const chain = await chainOf(engine, id);
    assert.equal(chain.length, turns, `${id} has an event for each of its turns`);
    assert.deepEqual(stateAt(chain, chain.length).state, (await engine.read(id))?.state);
  }
});

test("law 1: only engines and an operator's chain operations write entries to a store", () => {
  const src = resolve(import.meta.dirname, "../src");
  const writers = globSync("**/*.ts", { cwd: src })
    .filter((file) => !/\.(test|fixture)\.ts$|^(core\/store|testing)\//.test(file))
    .filter((file) => /\b(?:store\.commit|commitWithCallback)\(/.test(readFileSync(join(src, file), "utf8")));
  assert.ok(writers.length > 0);
  assert.deepEqual(
    writers.filter(
      (file) =>
        !file.startsWith("core/engine/") &&
        !["bridges/operate/chain-operations.ts", "cli/operations.ts", "core/contract/store.ts"].includes(file),
    ),
    [],
  );
});

test("law 1: a source without actors reports that it has no chain", () => {
  assert.equal(registry({ tools: {} }).chain, undefined);
});
