// The example for Bedrock AgentCore Runtime in a process on loopback, called as the platform does:
// https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/runtime-mcp-protocol-contract.html
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { agentCoreHttp } from "troupe/lambda";
import { CLIENTS, connect } from "../clients.ts";
import { at } from "../wire.ts";
import { root } from "./pages.ts";
import { type Running, start } from "./project.ts";

const folder = join(root, "examples/agentcore");
const RUNTIME_SESSION = "x-amzn-bedrock-agentcore-runtime-session-id";
const accept = "application/json, text/event-stream";

test("the platform's address is the default", () => {
  assert.deepEqual(agentCoreHttp, { host: "0.0.0.0", port: 8000, path: "/mcp", insecure: true });
});

test("the image is for ARM64 and Node 24, and consists of existing files and the packed package", () => {
  const dockerfile = readFileSync(join(folder, "Dockerfile"), "utf8");
  assert.match(dockerfile, /^FROM --platform=linux\/arm64 node:24/m);
  assert.match(dockerfile, /^EXPOSE 8000$/m);
  const copied = Array.from(dockerfile.matchAll(/^COPY (.+) \.\/$/gm), ([, files = ""]) => files.split(" ")).flat();
  const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const packed = `${String(at(manifest, "name"))}-${String(at(manifest, "version"))}.tgz`;
  assert.ok(copied.includes(packed));
  for (const file of copied.filter((name) => name !== packed)) assert.ok(readFileSync(join(folder, file)).length > 0, file);
  assert.ok(
    dockerfile.includes(
      `npm install --ignore-scripts --no-audit --no-fund ./${packed} zod@${String(at(manifest, "devDependencies", "zod"))}`,
    ),
  );
});

describe("a container of AgentCore Runtime", () => {
  let running: Running;
  before(async () => {
    running = await start(folder, "index.ts", { HOST: "127.0.0.1", PORT: "0" }, ["--conditions=troupe-source"]);
  });
  after(() => running[Symbol.asyncDispose]());

  const post = (message: object, more: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(running.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept, ...more },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    });
  const greet = { method: "tools/call", params: { name: "greet", arguments: { name: "Ada" } } };
  const begin = {
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  };

  test("stateless: the platform's session id is accepted and returned", async () => {
    const session = { "mcp-session-id": "3f1c0f8e-5d0a-4a39-9f1b-platform", [RUNTIME_SESSION]: "3f1c0f8e-5d0a-4a39-9f1b-platform" };
    const called = await post(greet, session);
    assert.equal(called.status, 200);
    assert.match(await called.text(), /Hello, Ada\./);
    const begun = await post(begin, session);
    assert.equal(begun.headers.get("mcp-session-id"), session["mcp-session-id"]);
    assert.match(await (await post(greet, session)).text(), /Hello, Ada\./);
  });

  test("stateful: the server creates the session id at initialize", async () => {
    const begun = await post(begin, { [RUNTIME_SESSION]: "of-the-platform" });
    const id = begun.headers.get("mcp-session-id") ?? "";
    assert.match(id, /^[\x21-\x7e]{16,}$/);
    assert.match(await (await post(greet, { "mcp-session-id": id, [RUNTIME_SESSION]: "of-the-platform" })).text(), /Hello, Ada\./);
  });

  for (const which of CLIENTS)
    test(`the official client ${which.sdk}, ${which.era}, plays through a platform that adds its headers #apptheory.agentcore`, async () => {
      const headers = { "mcp-session-id": `platform-${which.sdk}-${which.era}`, [RUNTIME_SESSION]: "of-the-platform" };
      await using client = await connect({ http: running.url }, which, { headers });
      assert.deepEqual(
        (await client.tools()).map((tool) => tool.name),
        ["greet"],
      );
      assert.equal((await client.call("greet", { name: "Bo" })).text, "Hello, Bo.");
    });
});
