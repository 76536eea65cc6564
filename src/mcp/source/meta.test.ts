import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { act, example, viewer } from "../../../test/source/example.ts";
import { listed, meta, registry } from "./index.ts";

describe("meta", () => {
  it("has two tools that never change, which list what is possible and why others are not #sources.list-mode.meta", async () => {
    const { source: inner, dim } = example();
    const source = meta(inner);
    const before = listed(await source.surface(viewer), "dynamic").tools;
    assert.deepEqual(
      before.map(({ name }) => name),
      ["actions", "act"],
    );
    dim();
    assert.deepEqual(listed(await source.surface(viewer), "dynamic").tools, before);
    const reply = await act(source, "tools/actions");
    assert.ok("ok" in reply);
    const text = JSON.stringify(reply.ok);
    assert.match(text, /"impossible":\[\{"action":"read","why":"It is dark."\}\]/);
    assert.match(text, /"action":"add"/);
    assert.equal(listed(await source.surface(viewer), "dynamic").resources.length, 1);
  });

  it("gives the reason why an action is off only to callers with its scopes", async () => {
    const scoped = { "troupe/scopes": ["keeper"] };
    const source = meta(registry({ tools: { open: { meta: scoped, enabled: () => "The king sleeps here.", work: () => null } } }));
    const whys = async (scopes: readonly string[]): Promise<unknown> =>
      Object(await source.act({ principal: "ann", scopes }, "tools/actions", {}, {})).ok;
    assert.deepEqual(await whys(["keeper"]), { possible: [], impossible: [{ action: "open", why: "The king sleeps here." }] });
    const why = "This needs the scope keeper; sign in again with it.";
    assert.deepEqual(await whys([]), { possible: [], impossible: [{ action: "open", why }] });
  });

  it("acts, checks arguments, and refuses unknown actions in words for a model #sources.list-mode.meta", async () => {
    const source = meta(example().source);
    assert.deepEqual(await act(source, "tools/act", { action: "add", arguments: { a: 4 } }), { ok: 5 });
    const wrong = await act(source, "tools/act", { action: "add", arguments: { a: "4" } });
    assert.ok("refused" in wrong && wrong.refused.code === "INVALID" && wrong.refused.message.startsWith("Invalid arguments: a: "));
    assert.deepEqual(await act(source, "tools/act", { action: "echo" }), {
      refused: { code: "INVALID", message: "arguments of echo: must have required property 'text'" },
    });
    for (const args of [{ action: "none" }, {}, { action: 3 }]) {
      const reply = await act(source, "tools/act", args);
      assert.ok("refused" in reply && reply.refused.code === "INVALID" && reply.refused.message.includes("actions"));
    }
    const direct = await act(source, "tools/add", { a: 4 });
    assert.ok("refused" in direct && direct.refused.code === "UNKNOWN");
    assert.deepEqual(await act(source, "resources/text"), { ok: "static" });
    assert.deepEqual(await source.complete?.(viewer, "resources/user", "id", "2", {}), ["2"]);
  });
});
