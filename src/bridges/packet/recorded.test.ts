import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, Json } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import type { ForeignResult } from "./capability.ts";
import { PacketError } from "./packet-error.ts";
import { recorded } from "./recorded.ts";

function stage(does: (args: JsonObject, clock: SimulatedClock) => Promise<ForeignResult>) {
  const clock = new SimulatedClock();
  const kept: unknown[] = [];
  const foreign = { call: (_tool: string, args: JsonObject = {}) => does(args, clock), tools: async () => [] };
  return { kept, server: recorded(foreign, { server: "shop", clock, record: (what) => kept.push(what) }) };
}

const said = (text: string): ForeignResult => ({ content: [{ type: "text", text }], text });

describe("recorded", () => {
  it("keeps each call with what came of it and how long it took", async () => {
    const { kept, server } = stage(async (_args, clock) => {
      await clock.advance(12);
      return { ...said("sold"), structured: { left: 2 } };
    });
    assert.equal((await server.call("buy", { apples: 3 })).text, "sold");
    await server.call("buy");
    const result = { content: [{ type: "text", text: "sold" }], structured: { left: 2 } };
    assert.deepEqual(kept, [
      { mcp: { server: "shop", tool: "buy", args: { apples: 3 }, result, ms: 12 } },
      { mcp: { server: "shop", tool: "buy", args: {}, result, ms: 12 } },
    ]);
  });

  it("keeps a failure, and passes it on as it is", async () => {
    const failure = new PacketError("execution_failed", "It is closed.");
    const { kept, server } = stage(() => Promise.reject(failure));
    await assert.rejects(server.call("buy"), failure);
    const error = { type: "execution_failed", message: "It is closed." };
    assert.deepEqual(kept, [{ mcp: { server: "shop", tool: "buy", args: {}, error, ms: 0 } }]);
  });

  it("keeps the arguments as they were when the call was made", async () => {
    const { kept, server } = stage(async () => said("ok"));
    const list: Json[] = [1];
    const called = server.call("sum", { list });
    list.push(2);
    await called;
    assert.match(JSON.stringify(kept), /"list":\[1\]/);
  });

  it("leaves out of what is large its long texts, and never cuts one: redaction finds whole secrets only", async () => {
    const secret = `secret-${"s".repeat(300)}`;
    const { kept, server } = stage(async () => said("x".repeat(20_000)));
    await server.call("put", { short: "here", long: secret, filler: "y".repeat(20_000) });
    const text = JSON.stringify(kept);
    assert.ok(text.length < 1_000);
    assert.match(text, /"args":\{"short":"here","long":\{"omitted":307\},"filler":\{"omitted":20000\}\}/);
    assert.doesNotMatch(text, /ss|xx/);
  });

  it("keeps nothing but the size of what is large without long texts", async () => {
    const { kept, server } = stage(async () => ({ content: Array.from({ length: 10_000 }, (_, n) => n), text: "" }));
    await server.call("count");
    assert.match(JSON.stringify(kept), /"result":\{"omitted":\d+\}/);
  });
});
