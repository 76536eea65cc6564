// Tools of servers that others wrote, and of Troupe itself, called by capabilities and by actors at work.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import { Cancellation, systemClock } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { foreignServers } from "../../src/bridges/packet/upstream-servers.ts";
import type { ForeignServers } from "../../src/bridges/packet/upstream-interface.ts";
import { recordedServers } from "../../src/bridges/packet/recorded-calls.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { until } from "../../src/testing/index.ts";
import { chainOf } from "../../src/testing/conformance/index.ts";
import { root, serveChild } from "../serve-child.ts";
import { everythingOverHttp, type OverHttp } from "./everything-over-http.ts";
import { install } from "./install.ts";

const clock = systemClock;
const folder = mkdtempSync(join(tmpdir(), "troupe-packet-"));
const memoryFile = join(folder, "memory.jsonl");
const close: AsyncDisposable[] = [];
let servers: ForeignServers;

before(async () => {
  const { everything, memory } = await install();
  const http: OverHttp = await everythingOverHttp(everything);
  const counter = await serveChild([join(root, "examples/counter")]);
  close.push(http, counter);
  assert.ok(counter.ready.http !== undefined);
  servers = foreignServers({
    clock,
    servers: {
      "everything on stdio": { command: process.execPath, args: [everything, "stdio"], env: { GIVEN: "yes" } },
      "everything on HTTP": { url: http.url },
      memory: { command: process.execPath, args: [memory], env: { MEMORY_FILE_PATH: memoryFile } },
      "Troupe on stdio": {
        command: process.execPath,
        args: [
          join(root, "bin/troupe.js"),
          "serve",
          join(root, "examples/counter"),
          "--stdio",
          "--data",
          join(folder, "counter"),
          "--log",
          "error",
        ],
      },
      "Troupe on HTTP": { url: counter.ready.http },
    },
  });
  close.unshift(servers);
});

after(async () => {
  for (const one of close) await one[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

for (const way of ["stdio", "HTTP"])
  describe(`server-everything on ${way}`, () => {
    const get = (...caller: [Parameters<ForeignServers["get"]>[1]?]) => servers.get(`everything on ${way}`, ...caller);

    it("lists its tools, and answers with text, structure and images #packet.calling-out", async () => {
      const tools = await get().tools();
      const sum = tools.find(({ name }) => name === "get-sum");
      assert.ok(sum !== undefined && sum.description.includes("sum"));
      assert.deepEqual(sum.inputSchema["required"], ["a", "b"]);
      assert.equal((await get().call("echo", { message: "Grüße" })).text, "Echo: Grüße");
      assert.match((await get().call("get-sum", { a: 19, b: 23 })).text, /42/);
      const weather = await get().call("get-structured-content", { location: "Chicago" });
      assert.deepEqual(z.object({ temperature: z.number() }).loose().parse(weather.structured), JSON.parse(weather.text));
      const { content } = await get().call("get-tiny-image");
      assert.ok(content.some((block) => z.object({ type: z.literal("image"), data: z.string() }).safeParse(block).success));
    });

    it("reports progress, and is cancelled with its caller", async () => {
      const told: number[] = [];
      const progress = (done: number): void => void told.push(done);
      const gone = new Cancellation();
      const running = get({ progress, signal: gone }).call("trigger-long-running-operation", { duration: 600, steps: 6_000 });
      const rejected = assert.rejects(running, { type: "cancelled" });
      await until("progress", () => told.length >= 2);
      gone.abort();
      await rejected;
      assert.deepEqual(told.slice(0, 2), [1, 2]);
      assert.equal((await get().call("echo", { message: "still here" })).text, "Echo: still here");
    });

    it("says why a tool failed", async () => {
      await assert.rejects(get().call("get-sum", { a: "no number" }), (error) => {
        assert.ok(error instanceof Error && "details" in error && "type" in error);
        assert.equal(error.type, "execution_failed");
        assert.match(error.message, /The tool "get-sum" of the server "everything on .*" failed: .*(?:invalid|expected)/is);
        return true;
      });
      await assert.rejects(get().call("absent"), /absent/);
    });
  });

describe("other servers", () => {
  it("see of the environment what is declared, PATH and HOME", async () => {
    const told: unknown = JSON.parse((await servers.get("everything on stdio").call("get-env")).text);
    const names = Object.keys(z.record(z.string(), z.string()).parse(told)).toSorted();
    assert.deepEqual(names, ["GIVEN", "HOME", "PATH"]);
  });

  for (const way of ["stdio", "HTTP"])
    it(`may be another Troupe, on ${way}`, async () => {
      const troupe = servers.get(`Troupe on ${way}`);
      const [tool] = await troupe.tools();
      assert.ok(tool);
      assert.equal(typeof (await troupe.call(tool.name)).text, "string");
    });

  it("are used by an actor's work, each call kept in its chain, and remember what it told them #packet.calling-out", async () => {
    const Entity = z.object({ name: z.string(), entityType: z.string(), observations: z.array(z.string()) });
    const scholar = actor("scholar", {
      description: "Learns.",
      state: z.object({ known: z.int() }),
      initial: () => ({ known: 0 }),
      tools: {
        learn: {
          description: "Learn something, for good.",
          input: z.object({ name: z.string() }),
          async work({ state, args, record, signal, progress }) {
            const memory = recordedServers(servers, clock, { record, signal, progress })("memory");
            await memory.call("create_entities", { entities: [{ name: args.name, entityType: "thing", observations: ["seen"] }] });
            const graph = await memory.call("read_graph");
            const { entities } = z.object({ entities: z.array(Entity) }).parse(JSON.parse(graph.text));
            state.known = entities.length;
            return { names: entities.map(({ name }) => name) };
          },
        },
      },
    });
    await using store = memoryStore({ clock });
    await using engine = await LocalEngine.start({ kinds: [scholar], store });
    const to = scholar.id("ann");
    const viewer = { principal: "ann", scopes: [] };
    assert.deepEqual(await engine.call({ to, action: "tools/learn", args: { name: "owl" }, viewer, start: null }), {
      ok: { names: ["owl"] },
    });
    const told = (await chainOf(engine, to)).map(({ body }): unknown => JSON.parse(body ?? "{}"));
    const Kept = z.object({ record: z.array(z.object({ mcp: z.record(z.string(), z.unknown()) })) });
    const kept = told.flatMap((body) => Kept.safeParse(body).data?.record ?? []);
    assert.deepEqual(
      kept.map(({ mcp: { server, tool, args } }) => [server, tool, args]),
      [
        ["memory", "create_entities", { entities: [{ name: "owl", entityType: "thing", observations: ["seen"] }] }],
        ["memory", "read_graph", {}],
      ],
    );
    assert.ok(kept.every(({ mcp }) => typeof mcp["ms"] === "number" && "result" in mcp));
  });
});
