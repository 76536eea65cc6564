// A mounted server's templates may be of any level: a URI reaches it as it was requested.
import assert from "node:assert/strict";
import { it } from "node:test";
import { Server } from "@modelcontextprotocol/server";
import { fromMcpServer } from "troupe/mount";
import { prefix } from "troupe/source";
import { testServer } from "troupe/testing";

const TEMPLATES = ["one://{id}", "path:///{+path}", "search://in/{id}{?q,page}", "dir://x{/parts*}", "dot://name{.ext}", "part://p{#at}"];

const WITHIN: readonly string[] = [
  "one://a%2Fb%20c",
  "one://a:b",
  "path:///a/b%20c/d.txt",
  "search://in/all?q=x&page=2",
  "search://in/all",
  "dir://x/a/b/c",
  "dot://name.txt",
  "part://p#here",
];

const echo = (): Server => {
  const server = new Server({ name: "echo", version: "1.0.0" }, { capabilities: { resources: {} } });
  server.setRequestHandler("resources/list", () => ({ resources: [] }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: TEMPLATES.map((uriTemplate) => ({ name: uriTemplate, uriTemplate })),
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => ({ contents: [{ uri, text: uri }] }));
  return server;
};

it("each URI arrives as it was requested", async () => {
  await using source = fromMcpServer(echo());
  await using served = await testServer(source);
  const client = served.client();
  for (const uri of WITHIN) assert.deepEqual((await client.readResource(uri)).contents, [{ uri, text: uri }], uri);
  for (const uri of ["one://a/b", "dir://xa", "other://a"]) await assert.rejects(client.readResource(uri), { code: -32002 }, uri);
});

it("a resource under a prefix is read and returned under its prefixed URI", async () => {
  await using source = fromMcpServer(echo());
  await using served = await testServer(prefix("p", source));
  const { contents } = await served.client().readResource("search://p/in/all?q=x%26y");
  assert.deepEqual(contents, [{ uri: "search://p/in/all?q=x%26y", text: "search://in/all?q=x%26y" }]);
});
