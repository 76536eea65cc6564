import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { refuse } from "../../core/actor/index.ts";
import type { Json, OfferRef, Reply, Viewer } from "../../core/contract/index.ts";
import { registry } from "../source/index.ts";
import { createServer, type Server } from "./index.ts";

const anonymous: Viewer = { scopes: [] };
const act = (server: Server, ref: OfferRef, args: Json = {}, viewer = anonymous): Promise<Reply> =>
  server.source.act(viewer, ref, args, {});

describe("a server's registries", () => {
  it("count items, list them in order of registration, and unregister them #apptheory.properties.order", async () => {
    await using server = createServer("s", "1");
    server.tools.register({ name: "b", title: "B", description: "Second letter." }, () => "b");
    const undo = server.tools.register({ name: "2" }, () => "2");
    server.tools.register({ name: "a", input: z.object({ n: z.number() }) }, ({ args: { n } }) => n);
    assert.deepEqual(
      server.tools.list().map(({ name }) => name),
      ["b", "2", "a"],
    );
    assert.deepEqual(server.tools.list()[0], {
      name: "b",
      title: "B",
      description: "Second letter.",
      inputSchema: { type: "object", properties: {} },
    });
    assert.deepEqual([server.tools.size, server.resources.size, server.prompts.size], [3, 0, 0]);
    undo();
    assert.equal(server.tools.has("2"), false);
    assert.equal(server.tools.unregister("b"), true);
    assert.equal(server.tools.unregister("b"), false);
    assert.deepEqual([server.tools.size, server.tools.has("a")], [1, true]);
    const disconnected = await act(server, "tools/b");
    assert.ok("refused" in disconnected && disconnected.refused.code === "UNKNOWN");
  });

  it("refuse a used or invalid name and a used URI, and change nothing then #apptheory.properties.duplicates", async () => {
    await using server = createServer("s", "1");
    server.tools.register({ name: "a" }, () => "first");
    server.resources.register({ name: "r", uri: "x://r" }, () => "r");
    server.prompts.register({ name: "a" }, () => "a prompt may have a tool's name");
    assert.throws(() => server.tools.register({ name: "a" }, () => "second"), {
      code: "NAME_COLLISION",
      message: /tools\/a is there already/,
    });
    assert.throws(() => server.prompts.register({ name: "a" }, () => "second"), { code: "NAME_COLLISION", message: /prompts\/a is there/ });
    assert.throws(() => server.resources.register({ name: "r", uri: "x://s" }, () => "s"), { code: "NAME_COLLISION" });
    assert.throws(() => server.resources.register({ name: "s", uri: "x://r" }, () => "s"), { code: "NAME_COLLISION", message: /x:\/\/r/ });
    for (const name of ["", "two words", "é", "x".repeat(129)])
      assert.throws(() => server.tools.register({ name }, () => 1), { code: "BAD_NAME", message: /does not match/ }, name);
    assert.throws(() => server.tools.register({ name: "d", input: z.object({ at: z.date() }) }, () => 1), { code: "BAD_DEFINITION" });
    assert.deepEqual([server.tools.size, server.resources.size, server.prompts.size], [1, 1, 1]);
    assert.deepEqual(await act(server, "tools/a"), { ok: "first" });
  });

  it("validate arguments by zod, any Standard Schema or JSON Schema, and name the field", async () => {
    await using server = createServer("s", "1");
    server.tools.register(
      { name: "zod", input: z.object({ n: z.number(), more: z.number().default(1) }) },
      ({ args: { n, more } }) => n + more,
    );
    server.tools.register(
      { name: "json", input: { type: "object", properties: { n: { type: "integer" }, unit: { enum: ["cm", "m"] } }, required: ["n"] } },
      ({ args: { n, unit } }) => `${n} ${unit ?? "m"}`,
    );
    assert.deepEqual(await act(server, "tools/zod", { n: 1 }), { ok: 2 });
    assert.deepEqual(await act(server, "tools/json", { n: 3, unit: "cm" }), { ok: "3 cm" });
    const byZod = await act(server, "tools/zod", { n: "1" });
    assert.ok("refused" in byZod && byZod.refused.code === "INVALID" && byZod.refused.message.startsWith("Invalid arguments: n: "));
    assert.deepEqual(byZod.refused.data, { issues: [{ path: "n", message: "Invalid input: expected number, received string" }] });
    assert.deepEqual(await act(server, "tools/json", { n: 1, unit: "km" }), {
      refused: { code: "INVALID", message: 'Invalid arguments: unit must be equal to one of the allowed values: "cm", "m".' },
    });
  });

  it("law 3: an item that is not enabled for a viewer is hidden, or disabled with the reason", async () => {
    let open = false;
    await using server = createServer("s", "1");
    server.tools.register({ name: "secret", enabled: ({ viewer: { principal } }) => principal === "ana" }, () => "42");
    server.tools.register({ name: "shop", enabled: () => open || "It opens at nine." }, () => "Welcome.");
    const ana = { principal: "ana", scopes: [] };
    assert.deepEqual(await act(server, "tools/secret", {}, ana), { ok: "42" });
    assert.deepEqual(await act(server, "tools/secret"), await act(server, "tools/none"));
    assert.deepEqual(await act(server, "tools/shop"), { refused: { code: "NOT_NOW", message: "It opens at nine." } });
    const notifications: unknown[] = [];
    server.source.watch(ana, (ref) => notifications.push(ref));
    open = true;
    server.relist();
    assert.deepEqual(notifications, [undefined]);
    assert.deepEqual(await act(server, "tools/shop"), { ok: "Welcome." });
  });

  it("law 3: an `enabled` that throws disables only its item, and is logged once", async () => {
    const lines: unknown[] = [];
    await using server = createServer("s", "1", { log: (...line) => lines.push(line) });
    const broken = (name: string, enabled: () => unknown): void =>
      void server.tools.register(Object.assign({ name }, { enabled: Object(enabled) }), () => "ran");
    broken("throws", () => {
      throw new RangeError("secret");
    });
    broken("waits", async () => true);
    broken("nothing", () => undefined);
    server.tools.register({ name: "fine" }, () => "ran");
    for (const name of ["throws", "waits", "nothing"] as const)
      assert.deepEqual(await act(server, `tools/${name}`), { refused: { code: "NOT_NOW", message: "This tool is out of order." } });
    assert.deepEqual(await act(server, "tools/fine"), { ok: "ran" });
    const text = "is out of order: what says whether it is on";
    assert.deepEqual(
      lines.map((line) => JSON.stringify(line)),
      [
        `tools/throws ${text} threw RangeError: mend it, the rest works.`,
        `tools/waits ${text} gave a promise: give true, false, or as text the reason it is off.`,
        `tools/nothing ${text} gave undefined: give true, false, or as text the reason it is off.`,
      ].map((sentence) => JSON.stringify(["error", { event: "registry-fault", code: "OUT_OF_ORDER", text: sentence }])),
    );
  });

  it("notify listeners of each change, and of a resource's content", async () => {
    await using server = createServer("s", "1");
    const notifications: unknown[] = [];
    const undo = server.source.watch(anonymous, (ref) => notifications.push(ref ?? "lists"));
    server.resources.register({ name: "n", uri: "n://{id}" }, ({ args: { id } }) => id);
    server.resources.changed("n", { id: "1" });
    server.resources.unregister("n");
    assert.deepEqual(notifications, ["lists", "resources/n", "lists"]);
    assert.throws(() => server.resources.changed("n"), { code: "BAD_NAME" });
    undo();
  });

  it("complete variables and arguments", async () => {
    await using server = createServer("s", "1");
    const begins =
      (values: readonly string[]) =>
      ({ value }: { readonly value: string }) =>
        values.filter((one) => one.startsWith(value));
    server.resources.register({ name: "n", uri: "n://{id}", complete: { id: begins(["a", "ab", "b"]) } }, ({ args: { id } }) => id);
    server.prompts.register(
      { name: "p", arguments: [{ name: "who" }], complete: { who: begins(["Ana", "Bo"]) } },
      ({ args: { who } }) => who ?? "anonymous",
    );
    assert.deepEqual(await server.source.complete?.(anonymous, "resources/n", "id", "a", {}), ["a", "ab"]);
    assert.deepEqual(await server.source.complete?.(anonymous, "prompts/p", "who", "B", {}), ["Bo"]);
  });

  it("are merged with other sources, whose names must differ", async () => {
    const other = registry({ name: "other", tools: { theirs: { work: () => "theirs" } } });
    await using inner = createServer("inner", "1");
    inner.tools.register({ name: "inner" }, () => "inner");
    await using server = createServer("s", "1", { sources: [other, inner.source] });
    server.tools.register({ name: "own" }, () => refuse("Not today."));
    assert.deepEqual(await act(server, "tools/theirs"), { ok: "theirs" });
    assert.deepEqual(await act(server, "tools/inner"), { ok: "inner" });
    assert.deepEqual(await act(server, "tools/own"), { refused: { code: "REFUSED", message: "Not today." } });
    assert.equal(server.tools.size, 1);
    server.tools.register({ name: "theirs" }, () => "mine");
    await assert.rejects(async () => server.source.surface(anonymous), {
      code: "NAME_COLLISION",
      message: /the registry "s" and by the registry "other"/,
    });
  });
});
