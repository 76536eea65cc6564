// Owns: that claims reach handlers, and nothing that is stored or logged. Does not own: which claims a token passes on
// (src/mcp/transport/auth.test.ts).
import assert from "node:assert/strict";
import { mkdtempDisposableSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../src/core/actor/index.ts";
import type { Json, Viewer } from "../src/core/contract/index.ts";
import { LocalEngine } from "../src/core/engine/index.ts";
import { sqliteStore } from "../src/core/store/index.ts";
import { createServer } from "../src/mcp/server/index.ts";
import { cast } from "../src/mcp/source/index.ts";

const SECRET = "claim-6f1c2b9e";
const ada: Viewer = { principal: "ada", scopes: [], claims: Object.freeze({ roles: ["responder", SECRET] }) };

const state = z.object({ n: z.number().default(0), who: z.string().default("") });
const sink = actor("sink", {
  description: "Receives what a tool sends on behalf of its caller.",
  per: "link",
  state,
  messages: { note: { run: ({ state: draft, viewer }) => void (draft.who = JSON.stringify(viewer)) } },
});
const counter = actor("counter", {
  description: "Counts.",
  state,
  tools: {
    add: {
      description: "Counts on, and sends twice for its caller.",
      run({ state: draft, viewer, create, send, message }) {
        draft.n += 1;
        draft.who = JSON.stringify([viewer, message]);
        create(sink.at("one"));
        send(sink.at("one").note(null, { viewer }));
        send({ to: "sink/missing", action: "note", args: null, viewer: { ...viewer, claims: { roles: [SECRET] } } });
        return draft.n;
      },
    },
    slow: {
      description: "The same in work.",
      async work({ viewer, call }) {
        await call({ to: sink.id("one"), action: "note", args: null, viewer: { ...viewer, claims: { roles: [SECRET] } }, start: null });
      },
    },
  },
});

test("no claim is in an event, an outgoing message, a dead letter or a file of the store #secure.logs", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-claims-"));
  {
    await using store = sqliteStore({ directory: folder.path });
    await using engine = await LocalEngine.start({ kinds: [counter, sink], store, retryMs: 1 });
    const source = cast({ engine, kinds: [counter, sink] });
    assert.deepEqual(await source.act(ada, "tools/add", {}, { key: "k" }), { ok: 1 });
    assert.deepEqual(await source.act(ada, "tools/slow", {}, { key: "l" }), { ok: null });
    const events: Json[] = [];
    for (const id of [counter.id("main"), sink.id("one")])
      for await (const { body } of engine.history(id)) events.push(JSON.parse(body ?? "null"));
    assert.match(JSON.stringify(events), /"principal":"ada"/);
    assert.doesNotMatch(JSON.stringify(events), /claims|claim-6f1c2b9e/);
  }
  const files = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  for (const { parentPath, name } of files) assert.ok(!readFileSync(join(parentPath, name)).includes(SECRET), name);
});

test("handlers of createServer get viewer.claims, from enabled to the middleware; logs do not", async () => {
  const logged: Json[] = [];
  const seen: unknown[] = [];
  await using server = createServer("desk", "1.0.0", {
    log: (_level, data) => void logged.push(data),
    middleware: [
      ({ context }, next) => {
        seen.push(context.viewer.claims);
        return next();
      },
    ],
  });
  const isResponder = ({ claims }: Viewer): boolean => JSON.stringify(claims?.["roles"] ?? []).includes('"responder"');
  server.tools.register(
    { name: "acknowledge", enabled: ({ viewer }) => isResponder(viewer) || "Only responders may do this." },
    ({ viewer }) => JSON.stringify(viewer.claims ?? null),
  );
  server.tools.register({ name: "fail" }, () => {
    throw new Error("broken");
  });
  const call = async (caller: Viewer, name: string): Promise<string> => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const envelope = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {}, _meta: envelope } });
    const more = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
    const request = new Request("http://localhost/mcp", { method: "POST", headers: { ...headers, ...more }, body });
    return (await server.fetchAs(caller, request)).text();
  };
  assert.match(await call(ada, "acknowledge"), /claim-6f1c2b9e/);
  assert.deepEqual(seen, [ada.claims]);
  assert.match(await call({ principal: "bob", scopes: [] }, "acknowledge"), /Only responders may do this\./);
  await call(ada, "fail");
  assert.match(JSON.stringify(logged), /handler-failed/);
  assert.doesNotMatch(JSON.stringify(logged), /claim-6f1c2b9e/);
});
