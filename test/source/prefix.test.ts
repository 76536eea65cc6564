// What a source under a prefix sends back: clients know its resources by their prefixed URIs only.
import assert from "node:assert/strict";
import { test } from "node:test";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { fromMcpServer } from "troupe/mount";
import { prefix } from "troupe/source";
import { testServer } from "troupe/testing";

const LINKS = [
  { type: "resource_link" as const, uri: "memo://one", name: "one" },
  { type: "resource_link" as const, uri: "memo://of/two", name: "two" },
  { type: "resource_link" as const, uri: "https://example.com/one", name: "elsewhere" },
  { type: "resource" as const, resource: { uri: "memo://one", text: "One." } },
  { type: "text" as const, text: "memo://one" },
];

function memos(): McpServer {
  const server = new McpServer({ name: "memos", version: "1.0.0" });
  server.registerResource("one", "memo://one", {}, (uri) => ({ contents: [{ uri: uri.href, text: "One." }] }));
  server.registerResource("any", new ResourceTemplate("memo://of/{id}", { list: undefined }), {}, (uri) => ({
    contents: [{ uri: uri.href, text: uri.href }],
  }));
  server.registerTool("links", {}, () => ({ content: LINKS }));
  server.registerPrompt("link", {}, () => ({ messages: LINKS.map((content) => ({ role: "user", content })) }));
  return server;
}

const PREFIXED = [
  { ...LINKS[0], uri: "memo://a/one" },
  { ...LINKS[1], uri: "memo://a/of/two" },
  LINKS[2],
  { type: "resource", resource: { uri: "memo://a/one", text: "One." } },
  LINKS[4],
];

test("links to a source's own resources in its results get its prefix, so that they can be read", async () => {
  await using source = fromMcpServer(memos());
  await using at = await testServer(prefix("a", source));
  const client = at.client();
  assert.deepEqual((await client.callTool("a__links")).content, PREFIXED);
  const { messages } = await client.getPrompt("a__link");
  assert.deepEqual(
    messages.map(({ content }) => content),
    PREFIXED,
  );
  for (const uri of ["memo://a/one", "memo://a/of/two"]) assert.equal((await client.readResource(uri)).contents[0]?.["uri"], uri);
});

test("a prefix within a prefix is in the links, too", async () => {
  await using source = fromMcpServer(memos());
  await using at = await testServer(prefix("b", prefix("a", source)));
  const client = at.client();
  const { content } = await client.callTool("b__a__links");
  assert.deepEqual(content[0], { ...LINKS[0], uri: "memo://b/a/one" });
  assert.deepEqual((await client.readResource("memo://b/a/one")).contents, [{ uri: "memo://b/a/one", text: "One." }]);
});
