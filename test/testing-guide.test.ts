// The guide to testing is true: its code is part of this file, which runs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { actor } from "troupe";
import { agenticServices, fromAgenticService } from "troupe/agentic";
import { createGateway } from "troupe/gateway";
import { registry } from "troupe/source";
import { assertError, assertHasTools, assertToolResult, callToolRequest, testServer } from "troupe/testing";
import * as z from "zod";

const counter = actor("counter", {
  describe: "A count of one's own.",
  per: "user",
  state: z.object({ n: z.int().default(0) }),
  tools: { add: { describe: "Adds one.", run: ({ state }) => `${(state.n += 1)}` } },
});

/** Lines without their indentation; imports by what they take from where, since a file has one of each. */
const lines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
const taken = (line: string): readonly string[] | undefined => {
  const [, names, from] = /^import \{ (.+) \} from "(.+)";$/.exec(line) ?? [];
  return names?.split(", ").map((name) => `${name} from ${from}`);
};

test("all code in the guide is in this file, line for line", () => {
  const page = readFileSync(join(import.meta.dirname, "../docs/guide/testing.md"), "utf8");
  const own = lines(readFileSync(import.meta.filename, "utf8"));
  const ownNames = new Set(own.flatMap((line) => taken(line) ?? []));
  const whole = own.join("\n");
  const blocks = Array.from(page.matchAll(/```ts\n([\s\S]*?)\n```/g), ([, text = ""]) => text);
  assert.ok(blocks.length > 4);
  for (const block of blocks) {
    const code = lines(block);
    for (const name of code.flatMap((line) => taken(line) ?? [])) assert.ok(ownNames.has(name), name);
    const rest = code.filter((line) => !line.startsWith("import ")).join("\n");
    assert.ok(whole.includes(rest), rest);
  }
});

test("the guide's client", async () => {
  await using server = await testServer([counter]);
  const ada = server.client({ principal: "ada" });
  assertToolResult(await ada.callTool("add"), "1");
  assertToolResult(await ada.callTool("add"), "2");
  assertToolResult(await server.client({ principal: "bob" }).callTool("add"), "1");

  await assert.rejects(ada.callTool("fly"), { name: "RequestError", code: -32602 });
  assertError(await ada.raw(callToolRequest(7, "fly")), -32602);
  assertHasTools(await ada.listTools(), "add");

  const careful = server.client({ answers: { elicitation: [{ action: "accept", content: { yes: true } }] } });
  const sampling = () => ({ role: "assistant", model: "m", content: { type: "text", text: "42" } });
  const trusting = server.client({ answers: { sampling } });
  for (const client of [careful, trusting]) assertHasTools(await client.listTools(), "add");
});

test("each way to a test server", async () => {
  const source = registry({ tools: { knock: { describe: "Knocks.", run: () => "Who is there?" } } });
  const info = { name: "own", version: "1.0.0" };
  const service = agenticServices({});
  await using gateway = createGateway({ source, info });
  for (const served of [source, gateway, fromAgenticService(service)]) {
    await using server = await testServer(served);
    assert.ok((await server.client({ era: "modern" }).initialize())["capabilities"]);
  }
  await using server = await testServer((wires) => createGateway({ source, info, ...wires }));
  assertHasTools(await server.client().listTools(), "knock");
});

test("the guide's notifications", async () => {
  const door = registry({ tools: { knock: { describe: "Knocks.", run: () => "Who is there?" } } });
  await using house = await testServer(door);
  const guest = house.client();
  await guest.listTools();
  door.add({ tools: { enter: { describe: "Goes in.", run: () => "Welcome." } } });
  await guest.notifications.first("notifications/tools/list_changed");
  assertHasTools(await guest.listTools(), "knock", "enter");
});
