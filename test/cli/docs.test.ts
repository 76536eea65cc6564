// `troupe docs`, as a client meets it: questions that people asked about such servers, pages, prompts.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import * as z from "zod";
import { root } from "../serve-child.ts";
import { lines, running, type Running } from "./run.ts";

/** Each with pages that answer it, of which one has to be among the first three. */
const QUESTIONS: readonly (readonly [question: string, pages: RegExp])[] = [
  [
    "How do I keep state between requests now that MCP has no sessions?",
    /guide\/(?:sessions|actors|concepts|state|faq)|recipes\/user-state/,
  ],
  ["Can a long-running task survive a server restart?", /guide\/tasks|recipes\/long-jobs/],
  ["How do I authenticate users with OAuth tokens from Entra or Google?", /guide\/authentication/],
  ["How do I add the server to Claude Desktop or Cursor?", /guide\/(?:cli|first-server)/],
  ["The client ignores tools/list_changed", /guide\/clients/],
  ["Human approval by a second person that takes days", /recipes\/approval/],
  ["How do I run several instances behind a load balancer?", /guide\/(?:cluster|sessions)/],
  ["Reduce the number of tools in the model's context", /recipes\/limit-the-model|guide\/clients/],
  ["Is there a tamper-evident audit log of tool calls?", /recipes\/audit|design\/chain|guide\/(?:inspect|security)/],
  ["Deploy on AWS Lambda", /recipes\/lambda|guide\/deploy/],
  ["Expose metrics to Prometheus", /guide\/telemetry/],
  ["Run a job every morning with cron", /recipes\/nightly-job|guide\/time/],
  ["How do I migrate state when its schema changes?", /recipes\/migrations|guide\/state/],
  ["Only admins may call a tool, by a claim of their token", /recipes\/roles|guide\/authentication/],
  ["Mount a server written with the official SDK", /guide\/(?:migrating|mount)/],
  ["serverless", /recipes\/lambda|guide\/deploy-aws/],
  ["GDPR: erase a user", /recipes\/delete-personal-data/],
  ["revert a call", /(?:guide|recipes)\/undo/],
  ["my tool timed out", /guide\/(?:troubleshooting|long-work)/],
  ["uuid", /recipes\/new-id/],
  ["four eyes", /recipes\/approval/],
  ["disaster recovery", /guide\/backup/],
];

const hits = z.object({
  pages: z.array(z.object({ page: z.string(), title: z.string(), heading: z.string(), excerpt: z.string(), uri: z.string() })),
});

describe("the documentation as a server", () => {
  let served: Running;
  const client = new Client({ name: "test", version: "1" });

  before(async () => {
    served = running("docs", "--http", "127.0.0.1:0", "--json");
    await served.said(/"ready":true/);
    const { http } = z.object({ http: z.string() }).parse(lines(served.out())[0]);
    await client.connect(new StreamableHTTPClientTransport(new URL(http)));
  });

  after(async () => {
    await client.close();
    await served[Symbol.asyncDispose]();
  });

  const search = async (query: string): Promise<z.infer<typeof hits>["pages"]> =>
    hits.parse((await client.callTool({ name: "search", arguments: { query, limit: 3 } })).structuredContent).pages;

  for (const [question, pages] of QUESTIONS)
    test(`answers: ${question} #cli.docs`, async () => {
      const found = await search(question);
      assert.ok(
        found.some(({ page }) => pages.test(page)),
        found.map(({ page, heading }) => `${page} (${heading})`).join(", "),
      );
      assert.ok(found.every(({ excerpt }) => excerpt !== "" && excerpt.length <= 320));
    });

  test("every page can be read as a resource, and by the tool for clients whose models read none #cli.docs", async () => {
    const { resources } = await client.listResources();
    assert.ok(resources.length > 30);
    for (const { uri } of resources) {
      const { contents } = await client.readResource({ uri });
      const [first] = contents;
      assert.ok(first !== undefined && "text" in first && first.text.startsWith("# "), uri);
    }
    const whole = await client.callTool({ name: "read_page", arguments: { page: "guide/cli" } });
    assert.match(JSON.stringify(whole.content), /# The command line/i);
    const [found] = await search("exit codes");
    assert.ok(found !== undefined && found.heading !== "");
    const part = await client.callTool({ name: "read_page", arguments: { page: found.page, heading: found.heading } });
    assert.ok(JSON.stringify(part.content).length < JSON.stringify(whole.content).length / 2);
  });

  test("a page or heading that is not there is refused with what is", async () => {
    const page = await client.callTool({ name: "read_page", arguments: { page: "guide/clii" } });
    assert.equal(page.isError, true);
    assert.match(JSON.stringify(page.content), /do you mean guide\/cli\?/);
    const heading = await client.callTool({ name: "read_page", arguments: { page: "guide/cli", heading: "Nothing" } });
    assert.match(JSON.stringify(heading.content), /It has: .*Exit codes/);
    const { structuredContent: nothing } = await client.callTool({ name: "search", arguments: { query: "qqqqqqqq" } });
    assert.deepEqual(nothing, { pages: [], hint: "No page has these words. Use other words, or fewer." });
    const empty = await client.callTool({ name: "search", arguments: { query: "x".repeat(301) } });
    assert.equal(empty.isError, true);
    assert.deepEqual(await search("zzzzqqqq"), []);
  });

  test("prompts name the task and the error they were given", async () => {
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map(({ name }) => name).toSorted(), ["explain_an_error", "write_an_actor"]);
    const prompt = await client.getPrompt({ name: "explain_an_error", arguments: { error: "STORE_LOCKED" } });
    assert.match(JSON.stringify(prompt.messages), /STORE_LOCKED[^]*guide\/errors/);
  });
});

test("troupe docs is served over stdio by default, and ends with its input", async () => {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StdioClientTransport({ command: process.execPath, args: [join(root, "bin/troupe.js"), "docs"], stderr: "ignore" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name).toSorted(), ["read_page", "search"]);
  await client.close();
});
