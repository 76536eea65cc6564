// A state that the code cannot read is not exposed, by any path.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import type { Behaviour, Viewer } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { cast, listed } from "../../src/mcp/source/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";

const ana: Viewer = { principal: "ana", scopes: [] };
const looked: string[] = [];

const state = z.object({ n: z.number().default(0) });

const kindOf = (version: number, migrate?: () => { n: number }): Behaviour =>
  actor("desk", {
    description: "A desk.",
    per: "user",
    version,
    state,
    ...(migrate === undefined ? {} : { migrate }),
    links: { lamp: { kinds: ["lamp"], to: ({ state: now }) => (looked.push(`link ${now.n}`), lamp.id("main")) } },
    tools: {
      add: { description: "Adds.", run: ({ state: draft }) => (draft.n += 1) },
      look: {
        description: "Looks.",
        enabled: ({ state: now }) => (looked.push(`when ${now.n}`), true),
        view: ({ state: now }) => (looked.push(`view ${now.n}`), now.n),
      },
    },
    resources: { desk: { uri: "desk://mine", view: ({ state: now }) => (looked.push(`resource ${now.n}`), now) } },
  });

const lamp = actor("lamp", {
  description: "A lamp.",
  per: "link",
  autoStart: true,
  state,
  tools: { light: { description: "Lights.", run: () => "lit" } },
});

for (const [what, version, migrate, code] of [
  ["newer code wrote", 1, undefined, "STATE_NEWER"],
  [
    "could not be migrated",
    3,
    (): never => {
      throw new Error("no");
    },
    "ACTOR_FAILED",
  ],
] as const)
  test(`a state that ${what} is read by no view, link or \`enabled\`, and its calls fail with the reason`, async () => {
    const store = memoryStore();
    {
      const kinds = [kindOf(2), lamp];
      await using engine = await LocalEngine.start({ kinds, store });
      assert.deepEqual(await cast({ engine, kinds }).act(ana, "tools/add", {}, {}), { ok: 1 });
    }
    const kinds = [kindOf(version, migrate), lamp];
    await using engine = await LocalEngine.start({ kinds, store });
    const source = cast({ engine, kinds });
    looked.length = 0;
    const off = { refused: { code: "NOT_NOW", message: "This desk is out of order." } };
    assert.deepEqual(listed(await source.surface(ana), "dynamic").tools, []);
    assert.deepEqual(await source.act(ana, "tools/look", {}, {}), off);
    assert.deepEqual(await source.act(ana, "resources/desk", {}, {}), off);
    assert.equal("refused" in (await source.act(ana, "tools/lamp__light", {}, {})), true);
    await assert.rejects(source.act(ana, "tools/add", {}, {}), { code, applied: false });
    assert.deepEqual(looked, []);
  });

test("a migrated state is visible in its new form", async () => {
  const store = memoryStore();
  {
    const kinds = [kindOf(1), lamp];
    await using engine = await LocalEngine.start({ kinds, store });
    await cast({ engine, kinds }).act(ana, "tools/add", {}, {});
  }
  const kinds = [kindOf(2, () => ({ n: 20 })), lamp];
  await using engine = await LocalEngine.start({ kinds, store });
  assert.deepEqual(await cast({ engine, kinds }).act(ana, "tools/look", {}, {}), { ok: 20 });
});
