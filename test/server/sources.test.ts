// Other sources next to a mounted server that is down, or whose tools no client could use.
import assert from "node:assert/strict";
import { it } from "node:test";
import { Server as SdkServer } from "@modelcontextprotocol/server";
import { refuse } from "troupe/actor";
import { EngineError, type Log, type Source } from "troupe/contract";
import { fromMcpServer } from "troupe/mount";
import { createServer } from "troupe/server";
import { prefix, registry } from "troupe/source";
import { assertHasTools, assertToolResult, testServer, type Wires } from "troupe/testing";

const FULL = "All 3 servers are in use: call again later.";

const serving = (source: Source, logged: string[]) => (wires: Wires) => {
  const log: Log = (_level, data) => void logged.push(JSON.stringify(data));
  const server = createServer("ours", "1.0.0", { ...wires, log, sources: [source] });
  server.tools.register({ name: "native" }, () => "native");
  server.resources.register({ name: "text", uri: "ours://text" }, () => "text");
  server.prompts.register({ name: "greet" }, () => "Hello.");
  return server;
};

for (const era of ["legacy", "modern"] as const) {
  it(`${era}: a source that is down fails only its own calls, and lists are marked incomplete`, async () => {
    const state = { down: true };
    const inner = registry({ tools: { other: { work: () => "other" } } });
    const source: Source = {
      surface(viewer) {
        if (state.down) throw new EngineError("MAILBOX_FULL", FULL);
        return inner.surface(viewer);
      },
      act: (...call) => inner.act(...call),
      watch: (...watch) => inner.watch(...watch),
    };
    const logged: string[] = [];
    await using served = await testServer(serving(source, logged));
    const client = served.client({ era, principal: null });
    for (let round = 0; round < 2; round += 1) {
      const { tools, _meta } = await client.request("tools/list", {});
      assert.match(JSON.stringify(tools), /native/);
      assert.deepEqual(Object(_meta)["troupe/missing"], [FULL]);
      assertToolResult(await client.callTool("native"), "native");
      assert.match(JSON.stringify(await client.readResource("ours://text")), /"text"/);
      assert.match(JSON.stringify(await client.getPrompt("greet")), /Hello/);
      await assert.rejects(
        client.callTool("other"),
        { code: -31500, message: /call again later/ },
        "it may be there, so it is not unknown",
      );
    }
    assert.equal(logged.filter((line) => line.includes("offers-missing")).length, 1, "once");
    state.down = false;
    assertToolResult(await client.callTool("other"), "other");
    const { _meta: whole } = await client.request("tools/list", {});
    assert.equal(Object(whole)["troupe/missing"], undefined);
    await assert.rejects(client.callTool("nothing"), { code: -32602 });
  });
}

for (const era of ["legacy", "modern"] as const) {
  it(`${era}: a source that is down changes no answer about other sources`, async () => {
    const down = async (): Promise<never> => {
      throw new EngineError("MAILBOX_FULL", FULL);
    };
    const away: Source = { surface: down, act: down, complete: down, watch: () => () => undefined };
    const view = ({ args: { id } }: { args: { id?: string } }) => (id === "1" ? "one" : refuse("None.", { code: "UNKNOWN" }));
    const inner = registry({ resources: { far: { uri: "far://{id}", view } } });
    // Like a cast with links, its catalogue is not known in advance.
    const unplanned: Source = {
      surface: (viewer) => inner.surface(viewer),
      act: (...call) => inner.act(...call),
      watch: (...watch) => inner.watch(...watch),
    };
    for (const others of [[], [unplanned]]) {
      await using served = await testServer((wires: Wires) => {
        const server = createServer("ours", "1.0.0", { ...wires, log: () => undefined, sources: [...others, away] });
        const complete = { who: ({ value }: { value: string }) => ["ann"].filter((name) => name.startsWith(value)) };
        server.resources.register({ name: "near", uri: "near://{id}" }, view);
        server.prompts.register({ name: "greet", arguments: [{ name: "who" }], complete }, () => "Hello.");
        server.tools.register({ name: "hidden", enabled: () => false }, () => "never");
        server.tools.register({ name: "locked", enabled: () => false, scopes: ["admin"] }, () => "never");
        return server;
      });
      const client = served.client({ era, principal: null });
      const missing = { code: era === "legacy" ? -32002 : -32602, message: /Resource not found/ };
      for (const uri of ["near://2", ...(others.length === 0 ? [] : ["far://2"])]) {
        await assert.rejects(client.readResource(uri), missing);
        // In 2026-07-28 the acknowledgement lists the served URIs instead.
        if (era === "legacy") await assert.rejects(client.subscribe(uri), missing);
        else await client.subscribe(uri);
      }
      const argument = { name: "who", value: "z" };
      const completed = await client.request("completion/complete", { ref: { type: "ref/prompt", name: "greet" }, argument });
      assert.deepEqual(Object(completed["completion"])["values"], []);
      for (const name of ["unknown", "hidden", "locked"])
        await assert.rejects(client.callTool(name), { code: -31500, message: /call again later/ }, "law 3");
    }
  });
}

it("a mounted server's tool with an unusable name is omitted, also if added later, and logged once", async () => {
  const names = ["look", "odd name!"];
  const inner = new SdkServer({ name: "odd", version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } });
  inner.setRequestHandler("tools/list", () => ({ tools: names.map((name) => ({ name, inputSchema: { type: "object" as const } })) }));
  inner.setRequestHandler("tools/call", ({ params }) => ({ content: [{ type: "text", text: params.name }] }));
  await using source = fromMcpServer(inner);
  const logged: string[] = [];
  await using served = await testServer(serving(prefix("town", source), logged));
  const client = served.client();
  assertHasTools(await client.listTools(), "native", "town__look");
  names.push("odder name!");
  await inner.sendToolListChanged();
  for (let round = 0; round < 2; round += 1) assertHasTools(await client.listTools(), "native", "town__look");
  assertToolResult(await client.callTool("town__look"), "look");
  assertToolResult(await client.callTool("native"), "native");
  await assert.rejects(client.callTool("town__odd name!"), { code: -32602 });
  const left = logged.filter((line) => line.includes("offers-missing"));
  assert.equal(left.length, 2);
  assert.match(left[0] ?? "", /town__odd name!/);
  assert.match(left[1] ?? "", /town__odder name!/);
});
