import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, fromJsonSchema } from "../../core/actor/index.ts";
import { type Bag, isBag, type Json, type Viewer } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { cast } from "./index.ts";
import * as z from "zod";

// A turn that changes nothing leaves no event.
const run = ({ state }: { readonly state: { calls: number } }): number => (state.calls += 1);

const note = actor("note", {
  describe: "A note.",
  per: "user",
  initial: () => ({ calls: 0 }),
  tools: {
    closed: { describe: "Takes by.", input: z.object({ by: z.number().optional(), of: z.object({ a: z.number() }).optional() }), run },
    bare: { describe: "Takes nothing.", run },
    loose: { describe: "Takes anything beside by.", input: z.looseObject({ by: z.number() }), run },
    record: { describe: "Takes anything.", input: z.record(z.string(), z.number()), run },
    union: { describe: "Takes either.", input: z.union([z.object({ a: z.number() }), z.object({ b: z.number() })]), run },
    plain: { describe: "Takes by.", input: fromJsonSchema<Bag>({ type: "object", properties: { by: { type: "number" } } }), run },
  },
});
const ann: Viewer = { principal: "ann", scopes: [] };

test("arguments that a tool's schema does not name are not kept in the chain", async () => {
  await using engine = await LocalEngine.start({ kinds: [note], store: memoryStore() });
  const source = cast({ engine, kinds: [note] });
  const junk: Json = { junk: "x".repeat(10_000), __proto__x: 1, constructor: 2 };
  const kept = async (tool: string, args: Bag): Promise<unknown> => {
    assert.ok("ok" in (await source.act(ann, `tools/${tool}`, args, {})), tool);
    let last: unknown;
    for await (const { body } of engine.history("note/ann", 0)) {
      const read: unknown = JSON.parse(body ?? "null");
      if (isBag(read) && isBag(read["message"])) last = read["message"]["args"];
    }
    return last;
  };
  assert.deepEqual(await kept("closed", { by: 1, ...junk }), { by: 1 });
  assert.deepEqual(await kept("closed", JSON.parse('{"__proto__":{"by":5},"toString":1}')), {});
  assert.deepEqual(await kept("closed", { by: 1, of: { a: 1 } }), { by: 1, of: { a: 1 } });
  assert.deepEqual(await kept("bare", junk), {});
  assert.deepEqual(await kept("plain", { by: 1, ...junk }), { by: 1 });
  // These take more than they name.
  assert.deepEqual(await kept("loose", { by: 1, more: 2 }), { by: 1, more: 2 });
  assert.deepEqual(await kept("record", { more: 2 }), { more: 2 });
  assert.deepEqual(await kept("union", { b: 2 }), { b: 2 });
});
