// Invalid arguments are answered with the names of all invalid fields, before a handler runs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createServer, type ServerOptions } from "troupe/server";
import { testServer, toolText } from "troupe/testing";
import * as z from "zod";

const shape = z.object({
  name: z.string().min(2),
  size: z.object({ width: z.number(), height: z.number().int() }),
  tags: z.array(z.enum(["a", "b"])).max(2_000_000),
});

const orderer = (options: ServerOptions, ran: () => void) => {
  const server = createServer("s", "1", options);
  server.tools.register({ name: "order", input: shape }, () => {
    ran();
    return "ok";
  });
  server.tools.register({ name: "even", input: z.object({ n: z.number().refine((n) => n % 2 === 0, "is odd") }) }, () => "ok");
  return server;
};

for (const era of ["legacy", "modern"] as const)
  test(`${era}: every invalid field is named, however deep, and the handler does not run #server.arguments`, async () => {
    let runs = 0;
    await using tried = await testServer((wires) => orderer(wires, () => (runs += 1)));
    const client = tried.client({ era });
    const wrong = await client.callTool("order", { name: "x", size: { width: "wide" }, tags: ["a", "c"], more: 1 });
    assert.equal(wrong["isError"], true);
    const text = toolText(wrong);
    for (const field of ["name: ", "size.width: ", "size.height: ", "tags.1: "]) assert.ok(text.includes(field), text);
    assert.match(toolText(await client.callTool("order", {})), /name: .*size: .*tags: /);
    assert.match(toolText(await client.callTool("even", { n: 3 })), /\bn\b.*is odd/);
    assert.equal(runs, 0);
    assert.equal(toolText(await client.callTool("order", { name: "xy", size: { width: 1, height: 1 }, tags: [] })), "ok");
  });

test("for long arguments only the first error is reported, which bounds the list", async () => {
  await using tried = await testServer((wires) => orderer(wires, () => undefined));
  const wrong = await tried.client().callTool("order", { name: "xy", size: {}, tags: Array.from({ length: 50_000 }, () => "c") });
  assert.ok(toolText(wrong).length < 300, toolText(wrong));
});

test("under the profile apptheory invalid arguments are an error that names the field", async () => {
  await using tried = await testServer((wires) => orderer({ ...wires, profile: "apptheory" }, () => undefined));
  const refused = tried.client({ revision: "2025-06-18" }).callTool("order", { name: 5, size: { width: 1, height: 1 }, tags: [] });
  await assert.rejects(refused, { code: -32602, message: /Invalid params: .*name: .*expected string/ });
});
