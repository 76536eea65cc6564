// Who is told a handle finds its actor by it.
import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { cast } from "../../src/mcp/source/index.ts";
import { sqliteStore } from "../../src/core/store/index.ts";
import { lines, troupe } from "./run.ts";

const order = actor("order", {
  description: "An order.",
  per: "handle",
  state: z.object({ n: z.int().default(0) }),
  tools: { add: { description: "Adds.", run: ({ state }) => (state.n += 1) } },
});

test("an actor is named by the handle that its client has, as by its key", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-handle-"));
  let handle = "";
  {
    await using store = sqliteStore({ directory: folder.path });
    await using engine = await LocalEngine.start({ kinds: [order], store });
    const source = cast({ engine, kinds: [order] });
    const ana = { principal: "ana", scopes: [] };
    const minted = await source.act(ana, "tools/start_order", {}, {});
    handle = z.object({ ok: z.object({ handle: z.string() }) }).parse(minted).ok.handle;
    assert.deepEqual(await source.act(ana, "tools/add", { handle }, {}), { ok: 1 });
  }
  const ran = await troupe("state", `order/${handle}`, "--json", "--data", folder.path);
  const [told] = lines(ran.stdout);
  assert.deepEqual(Object(told).state, { n: 1 }, ran.stderr);
  assert.match(Object(told).id, /^order\/[0-9a-f]{32}$/);
  for (const command of ["chain", "replay", "verify"]) {
    const read = await troupe(command, `order/${handle}`, "--data", folder.path);
    assert.equal(read.code, 0, read.stderr);
  }
  const unknown = await troupe("state", `order/${handle.slice(0, -1)}${handle.endsWith("A") ? "B" : "A"}`, "--data", folder.path);
  assert.equal(unknown.code, 4, unknown.stderr);
});
