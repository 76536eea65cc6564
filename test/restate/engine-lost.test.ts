// A node that loses its Restate server: it says so, refuses at once, and recovers by itself.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../../src/testing/index.ts";
import { at, modern, send } from "../wire.ts";
import { CutLink } from "./cut-link.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";
import { ServedNode } from "./served-node.ts";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

test("/readyz says 503 and calls are refused at once while the Restate server is lost", async (t) => {
  const { server: executable } = await install();
  await using server = await RestateServer.start(executable);
  await using link = await CutLink.to(server.ingress);
  await using node = await ServedNode.start({
    modules: [join(import.meta.dirname, "purses.fixture.ts")],
    engine: { ingress: link.url, admin: server.admin },
    secret: randomBytes(32).toString("hex"),
    more: ["--log", "info"],
  });
  await server.register(node.url);
  const readyz = async (): Promise<number> => (await fetch(new URL("/readyz", node.http))).status;
  const events = (event: string): number => node.log.filter((line) => line.includes(`"event":"${event}"`)).length;
  let sum = 0;
  const add = () => modern(node.http, "tools/call", { name: "add", arguments: { op: "one", by: 1 } });
  const added = async (): Promise<void> => {
    const { reply } = await add();
    assert.equal(at(reply, "result", "content", 0, "text"), String((sum += 1)), JSON.stringify(reply));
  };
  await added();
  assert.equal(await readyz(), 200);

  const ways: readonly (readonly [string, () => unknown, () => unknown])[] = [
    ["refused", () => link.refuse(), () => link.mend()],
    ["black-holed", () => link.blackHole(), () => link.mend()],
    [
      "hung",
      () => server.pid !== undefined && process.kill(server.pid, "SIGSTOP"),
      () => server.pid !== undefined && process.kill(server.pid, "SIGCONT"),
    ],
    ["dead", () => server.kill(), () => server.restart()],
  ];
  for (const [n, [way, lose, find]] of ways.entries()) {
    await lose();
    await until(`${way}: the node says that it is not ready`, async () => (await readyz()) === 503);
    assert.equal(events("engine-lost"), n + 1, node.log.join("\n"));
    for (const [what, asked] of [
      ["call", add()],
      ["view", modern(node.http, "resources/read", { uri: "tally://sum" })],
      ["list", modern(node.http, "tools/list")],
      ["session", send(node.http, INITIALIZE)],
    ] as const) {
      const { status, headers, reply } = await asked;
      const told = { status, code: at(reply, "error", "code"), data: at(reply, "error", "data"), wait: headers.get("retry-after") };
      assert.deepEqual(told, { status: 503, code: -31503, data: { code: "UNAVAILABLE", applied: false }, wait: "2" }, `${way}: ${what}`);
    }
    await find();
    await until(`${way}: the node is ready again`, async () => (await readyz()) === 200);
    await until("it says so", () => events("engine-back") === n + 1);
    await added();
  }
  t.diagnostic(node.log.join("\n"));
});
