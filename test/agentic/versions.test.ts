// The real library as it was and is: the same game on each, and its math schemas.
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Database as CurrentDatabase } from "@adobe/data/ecs";
import type { Observe as CurrentObserve } from "@adobe/data/observe";
import type { AgenticService as CurrentService } from "@adobe/data/service";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type AgenticService, fromAgenticService, isAgenticService, toJSONSchema } from "../../src/bridges/agentic/index.ts";
import { act, flagsOf, okOf, resourceUris, tick, toolNames, viewer } from "../../src/bridges/agentic/service.fixture.ts";
import { listed } from "../../src/mcp/source/index.ts";
import { install, moduleOf, VERSIONS } from "./install.ts";

interface Library {
  readonly Database: Pick<typeof CurrentDatabase, "create" | "Plugin">;
  readonly Observe: Pick<typeof CurrentObserve, "withMap">;
  readonly AgenticService: Pick<typeof CurrentService, "create">;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

// What the test takes of a version is as it is in the current one; the rest may differ.
const isLibrary = (modules: object): modules is Library => "Database" in modules && "Observe" in modules && "AgenticService" in modules;

async function libraryOf(version: string): Promise<Library> {
  const modules = { ...(await moduleOf(version, "ecs")), ...(await moduleOf(version, "observe")), ...(await moduleOf(version, "service")) };
  assert.ok(isLibrary(modules));
  return modules;
}

function hero({ Database, Observe, AgenticService: { create } }: Library) {
  const db = Database.create(
    Database.Plugin.create({
      resources: { health: { default: 100 }, alive: { default: true } },
      transactions: {
        damage: (t, n: number) => {
          t.resources.health = Math.max(0, t.resources.health - n);
          if (t.resources.health === 0) t.resources.alive = false;
        },
        revive: (t, to: number) => {
          t.resources.health = to;
          t.resources.alive = true;
        },
      },
    }),
  );
  const { alive, health } = db.observe.resources;
  const pet = create({
    interface: { feed: { type: "action", description: "Feeds it.", parameters: [] } },
    implementation: { feed: () => undefined },
    conditional: { feed: alive },
  });
  const service: unknown = create({
    interface: {
      health: { type: "state", schema: { type: "number", precision: 1, description: "What is left." } },
      hurt: { type: "action", description: "Hurts.", parameters: [{ title: "by", type: "number", minimum: 1 }] },
      revive: {
        type: "action",
        description: "Revives.",
        parameters: [{ type: "object", properties: { to: { type: "integer" } }, required: ["to"] }],
      },
      pet: { type: "link" },
    },
    implementation: {
      health,
      hurt: (by) => db.transactions.damage(by),
      revive: async (how) => {
        db.transactions.revive(how.to);
      },
      pet,
    },
    conditional: { hurt: alive, revive: Observe.withMap(alive, (is: boolean) => !is) },
  });
  assert.ok(isAgenticService(service));
  return { db, service };
}

/** An action as that version emits it. */
const firstAction = (service: AgenticService): object => {
  let found: object = {};
  service.actions((all) => (found = Object.values(all)[0] ?? {}))();
  return found;
};

describe("the real @adobe/data", () => {
  before(install);

  for (const version of VERSIONS) {
    it(`at ${version}: its services are served as they are #agentic.actions.shapes #agentic.versions`, async () => {
      const { db, service } = hero(await libraryOf(version));
      assert.deepEqual("schema" in firstAction(service), version === "0.9.45", "both shapes the library has had");
      using source = fromAgenticService(service, { name: "hero", stateIntervalMs: 0 });
      assert.deepEqual(await toolNames(source), ["hurt", "pet.feed"]);
      assert.deepEqual(await resourceUris(source), ["mcp://hero/state/health"]);
      assert.deepEqual(listed(await source.surface(viewer), "dynamic").tools[0]?.["inputSchema"], {
        type: "object",
        properties: { by: { title: "by", type: "number", minimum: 1 } },
        required: ["by"],
        additionalProperties: false,
      });
      const flags = flagsOf(source);
      for (const by of ["x", 0]) assert.ok("refused" in (await act(source, "tools/hurt", { by })));
      assert.ok("ok" in (await act(source, "tools/hurt", { by: 40 })));
      assert.deepEqual(flags, ["resources/health"]);
      // One transaction, told many times and inconsistent between.
      db.transactions.damage(100);
      await tick();
      assert.deepEqual(flags, ["resources/health", "lists", "resources/health"]);
      assert.deepEqual(await toolNames(source), ["revive"]);
      assert.ok("refused" in (await act(source, "tools/hurt", { by: 1 })));
      assert.ok("ok" in (await act(source, "tools/revive", { to: 7 })));
      assert.equal(okOf(await act(source, "resources/health")), 7);
      assert.deepEqual(await toolNames(source), ["hurt", "pet.feed"]);
    });

    it(`at ${version}: its math schemas become valid 2020-12 #agentic.schema`, async () => {
      const ajv = new Ajv2020({ strict: false });
      let met = 0;
      const look = (value: unknown, depth: number): void => {
        if (!isRecord(value) || depth > 3) return;
        for (const [key, inner] of Object.entries(value)) {
          if (key !== "schema" && key !== "layout") {
            look(inner, depth + 1);
            continue;
          }
          met += 1;
          const made = toJSONSchema(inner);
          assert.ok(ajv.validateSchema(made), JSON.stringify(ajv.errors));
          assert.doesNotThrow(() => ajv.compile(made));
          assert.doesNotMatch(JSON.stringify(made), /"(precision|layout|interpolators|mutable)"/);
        }
      };
      look(await moduleOf(version, "math"), 0);
      assert.ok(met > 10, String(met));
    });
  }
});
