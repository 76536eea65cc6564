import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorId } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { tallyKind } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

test("actors in memory and on disk are listed in pages of any size, each once, in order", async () => {
  const kinds = [tallyKind("a", { persistence: "memory" }), tallyKind("a-b"), tallyKind("c", { persistence: "memory" })];
  await using engine = await LocalEngine.start({ kinds, store: memoryStore() });
  const all = kinds.flatMap(({ kind }) => Array.from({ length: 37 }, (_, at): ActorId => `${kind}/${String(at).padStart(2, "0")}`));
  // Not in their order.
  for (let at = 0; at < all.length; at += 1) {
    const to = all[(at * 52) % all.length];
    if (to !== undefined) await engine.call({ to, action: "add", args: null, start: null });
  }
  for (const limit of [1, 2, 7, 36, 37, 111, 1_000, Number.POSITIVE_INFINITY]) {
    const met: ActorId[] = [];
    for (let page = await engine.list({ limit }); page.length > 0;) {
      met.push(...page.map(({ id }) => id));
      const after = met.at(-1);
      assert.ok(after !== undefined && page.length <= limit);
      page = await engine.list({ limit, after });
    }
    assert.deepEqual(met, all, `pages of ${limit}`);
  }
});
