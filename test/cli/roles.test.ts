import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { envelope, send } from "../wire.ts";
import { lines, running, troupe } from "./run.ts";

const MODULE = `import { actor, hasClaim } from ${JSON.stringify(new URL("../../src/index.ts", import.meta.url).href)};
export const desk = actor("desk", {
  description: "A desk.",
  initial: () => ({ closed: 0 }),
  allow: { manager: ({ viewer }) => hasClaim(viewer, "roles", "manager") },
  tools: { close: { description: "Close.", allow: "manager", run: ({ state }) => (state.closed += 1) } },
});
`;

test("roles are decided by claims of API keys and of troupe call, and a replay without claims agrees #cli.actors", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-roles-"));
  const module = join(folder.path, "desk.ts");
  const data = join(folder.path, "data");
  writeFileSync(module, MODULE);
  const call = (...args: readonly string[]) =>
    troupe("call", "desk/main", "tools/close", "--data", data, "--module", module, "--start", ...args);
  const without = await call("--as", "ann");
  assert.deepEqual([without.code, without.stderr], [3, "troupe: Only those with the role manager may do this.\n"]);
  assert.equal((await call("--claim", 'roles=["manager"]')).stdout, "1\n");
  assert.match((await call("--claim", "manager")).stderr, /must be a name and a value/);
  for (const [action, hint] of [
    ["tools/clsoe", /There is no tools\/clsoe here\. Did you mean tools\/close\?$/u],
    ["close", /There is no close here\. Did you mean tools\/close\?$/u],
    ["till__close", /If till is a link, call the actor that it leads to: troupe call <kind>\/<key> tools\/close\.$/u],
    ["tools/burn", /There is no tools\/burn here\. Check the name/u],
    ["burn", /There is no burn here\. To call a tool, write tools\/burn\./u],
  ] as const) {
    const mistyped = await troupe("call", "desk/main", action, "--data", data, "--module", module);
    assert.equal(mistyped.code, 3);
    assert.match(mistyped.stderr.trimEnd(), hint);
  }

  const keys = join(folder.path, "keys.json");
  const sha256 = (key: string) => createHash("sha256").update(key).digest("hex");
  writeFileSync(keys, JSON.stringify({ ann: sha256("key-of-ann"), max: { sha256: sha256("key-of-max"), claims: { roles: ["manager"] } } }));
  await using server = running("serve", module, "--http", "127.0.0.1:0", "--api-keys", keys, "--data", data, "--json");
  await server.said(/"http":"[^"]+"/);
  const url = /"http":"([^"]+)"/.exec(server.out())?.[1] ?? "";
  const close = async (key: string) =>
    JSON.stringify(
      (
        await send(
          url,
          { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "close", arguments: {}, _meta: envelope() } },
          { authorization: `Bearer ${key}`, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "close" },
        )
      ).reply,
    );
  assert.match(await close("key-of-ann"), /Only those with the role manager may do this\./);
  assert.match(await close("key-of-max"), /"text":"2"/);

  const replayed = lines((await troupe("replay", "desk/main", "--data", data, "--module", module, "--json")).stdout);
  assert.deepEqual([Object(replayed[0]).run, Object(replayed[0]).mismatches], [2, []]);
  assert.doesNotMatch(server.err() + (await troupe("chain", "desk/main", "--data", data, "--export")).stdout, /claims/);
});
