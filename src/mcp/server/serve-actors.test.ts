import assert from "node:assert/strict";
import { mkdtempDisposableSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { actor } from "troupe";
import { connectInMemory, hashApiKey } from "troupe/transport";
import * as z from "zod";
import { createServer, serveActors } from "./index.ts";

const door = actor("door", {
  description: "A door.",
  per: "shared",
  state: z.object({ opened: z.int().default(0) }),
  tools: {
    open: { description: "Opens it.", run: ({ state }) => `Opened ${++state.opened} times.` },
    break: {
      description: "Fails.",
      run() {
        throw new TypeError("The hinge is loose.");
      },
    },
  },
});
const anonymous = { scopes: [] };

test("serveActors stores actors in its directory and serves them again after close", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-serve-actors-"));
  const directory = join(folder.path, "data");
  const first = await serveActors({ kinds: [door], directory });
  assert.deepEqual(await first.server.source.act(anonymous, "tools/open", {}, {}), { ok: "Opened 1 times." });
  await assert.rejects(serveActors({ kinds: [door], directory }), { code: "STORE_LOCKED" });
  await Promise.all([first.close(), first.close()]);
  assert.deepEqual(readdirSync(directory).toSorted(), ["key", "sessions.db", "troupe.db", "troupe.db.lock"]);
  await using second = await serveActors({ kinds: [door], directory });
  assert.deepEqual(await second.server.source.act(anonymous, "tools/open", {}, {}), { ok: "Opened 2 times." });
  assert.deepEqual((await second.engine.read("door/main"))?.state, { opened: 2 });
  assert.equal(second.url, undefined);
});

test("serveActors without a directory stores actors in memory", async () => {
  for (const _ of ["first", "second"]) {
    await using served = await serveActors({ kinds: [door] });
    assert.deepEqual(await served.server.source.act(anonymous, "tools/open", {}, {}), { ok: "Opened 1 times." });
  }
});

test("serveActors listens on http and authenticates callers by the keys of auth", async () => {
  const keys = [{ name: "ann", sha256: hashApiKey("secret") }];
  await using served = await serveActors({ kinds: [door], http: { port: 0 }, auth: { keys } });
  assert.match(served.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  const post = async (headers: Record<string, string>): Promise<number> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const answer = await fetch(served.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body,
    });
    await answer.body?.cancel();
    return answer.status;
  };
  assert.equal(await post({}), 401);
  assert.notEqual(await post({ authorization: "Bearer secret" }), 401);
});

test("serveActors serves further sources and takes the options of createServer", async () => {
  await using other = createServer("other", "1");
  other.tools.register({ name: "echo" }, () => "echo");
  await using served = await serveActors({
    kinds: [door],
    name: "home",
    version: "2.0.0",
    instructions: "Knock.",
    sources: [other.source],
  });
  const client = connectInMemory(served.server.gateway);
  const clientInfo = { name: "t", version: "1" };
  client.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  const { value: answer = "" } = await client.messages[Symbol.asyncIterator]().next();
  assert.match(answer, /"name":"home","version":"2\.0\.0"/);
  assert.match(answer, /Knock\./);
  assert.deepEqual(await served.server.source.act(anonymous, "tools/echo", {}, {}), { ok: "echo" });
});

test("serveActors reports what an actor throws to onFault in full, and to log without its message", async () => {
  const faults: unknown[] = [];
  const logged: unknown[] = [];
  {
    await using served = await serveActors({
      kinds: [door],
      onFault: (error, fault) => faults.push(String(error), fault.where, fault.actor),
    });
    await assert.rejects(served.engine.call({ to: door.id("main"), action: "tools/break", args: {}, start: null }), { code: "CRASHED" });
  }
  assert.deepEqual(faults, ["TypeError: The hinge is loose.", "turn", "door/main"]);
  {
    await using served = await serveActors({ kinds: [door], log: (_level, data) => logged.push(data) });
    await assert.rejects(served.engine.call({ to: door.id("main"), action: "tools/break", args: {}, start: null }), { code: "CRASHED" });
  }
  assert.match(JSON.stringify(logged), /"event":"fault","where":"turn".*"error":"TypeError"/);
  assert.doesNotMatch(JSON.stringify(logged), /hinge/);
});

test("serveActors refuses a misspelt option, and leaves nothing open where an option fails", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-serve-actors-"));
  // @ts-expect-error An option that does not exist.
  await assert.rejects(serveActors({ kinds: [door], directry: "data" }), /no option "directry", do you mean "directory"\?/);
  // @ts-expect-error A server without kinds.
  await assert.rejects(serveActors({ directory: "data" }), /kinds has to be a list of kinds/);
  await assert.rejects(serveActors({ kinds: [door], directory: folder.path, http: { host: "0.0.0.0" } }), { code: "UNSAFE_LISTENER" });
  await using served = await serveActors({ kinds: [door], directory: folder.path, http: true });
  // The address is certain only with `http`.
  const url: string = served.url;
  await using silent = await serveActors({ kinds: [door] });
  // @ts-expect-error It does not listen, so it has no address.
  const none: string = silent.url;
  assert.ok(url.startsWith("http://127.0.0.1:") && none === undefined);
});
