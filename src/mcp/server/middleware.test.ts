import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { refuse } from "../../core/actor/index.ts";
import { createServer, type Middleware } from "./index.ts";

const viewer = { principal: "ana", scopes: [] };

test("middleware wraps every handler, the first outermost, and sees its arguments", async () => {
  const steps: unknown[] = [];
  const step =
    (name: string): Middleware =>
    async ({ offer, context }, next) => {
      steps.push([name, offer, context.args, context.viewer.principal]);
      const result = await next();
      steps.push([name, result]);
      return `${name}(${String(result)})`;
    };
  await using server = createServer("s", "1", { middleware: [step("a"), step("b")] });
  server.tools.register({ name: "t", input: z.object({ n: z.number().default(7) }) }, ({ args: { n } }) => n);
  server.resources.register({ name: "r", uri: "x://{id}" }, ({ args: { id } }) => id);
  server.prompts.register({ name: "p" }, () => "p");
  assert.deepEqual(await server.source.act(viewer, "tools/t", {}, {}), { ok: "a(b(7))" });
  assert.deepEqual(steps, [
    ["a", "tools/t", { n: 7 }, "ana"],
    ["b", "tools/t", { n: 7 }, "ana"],
    ["b", 7],
    ["a", "b(7)"],
  ]);
  assert.deepEqual(await server.source.act(viewer, "resources/r", { id: "1" }, {}), { ok: "a(b(1))" });
  assert.deepEqual(await server.source.act(viewer, "prompts/p", {}, {}), { ok: "a(b(p))" });
});

test("middleware may answer, refuse or fail instead of the handler", async () => {
  let runs = 0;
  const failed: unknown[] = [];
  const gate: Middleware = ({ context: { args } }, next) => {
    const how = typeof args === "object" && args !== null && "how" in args ? args.how : undefined;
    if (how === "answer") return "instead";
    if (how === "refuse") refuse("Not so fast.", { code: "SLOWER" });
    if (how === "fail") throw new Error("broken");
    return next();
  };
  await using server = createServer("s", "1", { middleware: [gate], onError: (error) => failed.push(error) });
  server.tools.register({ name: "t", input: z.object({ how: z.string() }) }, () => (runs += 1));
  const act = (how: string) => server.source.act(viewer, "tools/t", { how }, {});
  assert.deepEqual(await act("answer"), { ok: "instead" });
  assert.deepEqual(await act("refuse"), { refused: { code: "SLOWER", message: "Not so fast." } });
  await assert.rejects(act("fail"), { code: "CRASHED" });
  assert.equal(failed.length, 1);
  assert.equal(runs, 0);
  assert.deepEqual(await act("go"), { ok: 1 });
});
