import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { test } from "node:test";
import { actor } from "../../core/actor/index.ts";
import type { Viewer } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { cast } from "./index.ts";
import * as z from "zod";

const lamp = actor("lamp", {
  describe: "A lamp.",
  per: "user",
  state: z.object({ on: z.boolean().default(false) }),
  tools: {
    flip: {
      describe: "Flips it.",
      run({ state }) {
        state.on = !state.on;
      },
    },
    read: { describe: "Reads.", when: ({ on }) => on, run: () => null },
  },
});

const ana: Viewer = { principal: "ana", scopes: [] };

/** How much is waited for where that many calls come at once, for each of them. */
async function waitsOf(calls: number): Promise<number> {
  await using engine = await LocalEngine.start({ kinds: [lamp], store: memoryStore() });
  const source = cast({ engine, kinds: [lamp] });
  const undo = source.watch(ana, () => undefined);
  await source.act(ana, "tools/flip", {}, {});
  let waits = 0;
  const hook = createHook({ init: () => void (waits += 1) }).enable();
  await Promise.all(Array.from({ length: calls }, () => source.act(ana, "tools/flip", {}, {})));
  hook.disable();
  undo();
  return waits / calls;
}

test("a reply that waits for its change to be flagged waits for two looks at most, however many wait", async () => {
  const [few, many] = [await waitsOf(20), await waitsOf(800)];
  assert.ok(many < 3 * few, `${few} of each of 20, ${many} of each of 800`);
});
