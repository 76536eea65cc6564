// New code while calls are under way, and nodes that are told to stop.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { engineText } from "../../src/cli/cluster/cluster-options.ts";
import { readBody, verify } from "../../src/core/chain/index.ts";
import type { ActorId, ChainEvent } from "../../src/core/contract/index.ts";
import { isRestateSdk, RestateEngine } from "../../src/hosts/restate/index.ts";
import { until } from "../../src/testing/index.ts";
import { lines, troupe } from "../cli/run.ts";
import { folder } from "../quest-client.ts";
import { at, modern } from "../wire.ts";
import { ClusterPlace } from "./cluster-place.ts";
import { Gates } from "./gates.ts";
import { install } from "./install.ts";
import { first, second } from "./ledger.fixture.ts";
import { RestateServer } from "./restate-server.ts";
import { ServedNode } from "./served-node.ts";

const NAMES = ["ann", "ben", "cid", "dee"] as const;
type Name = (typeof NAMES)[number];

const keyOf = (name: Name): string => `a-key-of-${name}-that-is-long`;
const moduleOf = (version: 1 | 2): string => join(import.meta.dirname, `ledger-${version}.fixture.ts`);

const files = folder();
const keys = join(files.path, "keys.json");
const more = ["--rate", "0", "--log", "info", "--api-keys", keys];
let server: RestateServer;
let gates: Gates;
let sdk: unknown;

before(async () => {
  const found = await install();
  ({ sdk } = found);
  writeFileSync(
    keys,
    JSON.stringify(Object.fromEntries(NAMES.map((name) => [name, createHash("sha256").update(keyOf(name)).digest("hex")]))),
  );
  gates = await Gates.open();
  server = await RestateServer.start(found.server);
});

after(async () => {
  await server?.[Symbol.asyncDispose]();
  await gates?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

/** What the tool says, called at that node by its MCP door. */
const told = async (node: ServedNode, name: Name, tool: string, args: object = {}): Promise<string> => {
  const { reply } = await modern(node.http, "tools/call", { name: tool, arguments: args }, { authorization: `Bearer ${keyOf(name)}` });
  assert.equal(at(reply, "result", "isError") ?? false, false, JSON.stringify(reply));
  const text = at(reply, "result", "content", 0, "text");
  assert.ok(typeof text === "string", JSON.stringify(reply));
  return text;
};

/** Of each event of the actor: what was asked, the reply, and the version of the state it left. */
const chainOf = async (id: ActorId): Promise<readonly (readonly unknown[])[]> => {
  assert.ok(isRestateSdk(sdk));
  const { ingress, admin } = server;
  await using engine = await RestateEngine.start({ ingress, admin, sdk, kinds: [second], secret: Buffer.alloc(32, 1) });
  const events: ChainEvent[] = [];
  for await (const event of engine.history(id)) events.push(event);
  assert.equal(verify(events, { actor: id }).flaw, undefined);
  return events.map((event) => {
    const body = readBody(event);
    return [at(body, "message", "action"), at(body, "reply", "ok"), body?.version];
  });
};

const pinnedTo = async ({ url }: ServedNode): Promise<unknown> => {
  const { code, stdout, stderr } = await troupe("cluster", "deployments", "--json", "--engine", engineText(server));
  assert.equal(code, 0, stderr);
  return at(
    lines(stdout).find((one) => at(one, "url") === `${url}/`),
    "pinned",
  );
};

/** Drained, before its grace is over. */
const drains = async (node: ServedNode): Promise<void> => {
  let code: number | string | undefined;
  void node.ended.then((ended) => (code = ended));
  await until(`the node drains: ${node.log.join("\n")}`, () => code !== undefined);
  assert.equal(code, 0, node.log.join("\n"));
};

test("new calls run on new code and old state, what is under way ends on the code it began with, and then the old node may stop #cluster.upgrade", async () => {
  const engine = { ingress: server.ingress, admin: server.admin };
  const secret = randomBytes(32).toString("hex");
  const start = (version: 1 | 2) => ServedNode.start({ modules: [moduleOf(version)], engine, secret, more: [...more, "--grace", "60000"] });
  await using old = await start(1);
  await server.register(old.url);
  assert.equal(await told(old, "ann", "add"), `1 by version ${first.version} in ${old.pid}`);
  assert.equal(await told(old, "ben", "add"), `1 by version 1 in ${old.pid}`);
  const held = told(old, "ann", "hold", { gate: gates.at("upgrade") });
  assert.equal(await gates.comes("upgrade", 1), old.pid);

  await using next = await start(2);
  await server.register(next.url);
  assert.equal(await told(next, "ben", "add"), `2 by version 2 in ${next.pid}`);
  assert.equal(await told(old, "ben", "add"), `3 by version 2 in ${next.pid}`, "also where it is called at the old node");
  assert.equal(await pinnedTo(old), 1);

  gates.let("upgrade");
  assert.equal(await held, `11 by version 1 in ${old.pid}`);
  await until("nothing is bound to the old node", async () => (await pinnedTo(old)) === 0);
  old.terminate();
  await drains(old);
  assert.equal(await told(next, "ann", "add"), `12 by version 2 in ${next.pid}`);
  assert.deepEqual(await chainOf("ledger/ann"), [
    ["tools/add", `1 by version 1 in ${old.pid}`, 1],
    ["tools/hold", `11 by version 1 in ${old.pid}`, 1],
    ["tools/add", `12 by version 2 in ${next.pid}`, 2],
  ]);
  assert.deepEqual(
    (await chainOf("ledger/ben")).map(([, , version]) => version),
    [1, 2, 2],
  );
});

test("a turn whose node is told to stop ends there within its grace, or runs again at another node, and its caller has the answer #cluster.drain", async () => {
  const { ingress, admin } = server;
  const servers = { ingresses: [ingress], admins: [admin], register: (url: string) => server.register(url) };
  // The third one runs no turns: there the caller is.
  await using place = await ClusterPlace.open(servers, { modules: [moduleOf(2)], nodes: 2, more: [...more, "--grace", "2000"] });
  await using door = await ServedNode.start({ modules: [moduleOf(2)], engine: place.engine, secret: place.secret, more });
  const runs = async (gate: string): Promise<ServedNode> => {
    const pid = await gates.comes(gate, 1);
    const node = place.nodes.find((one) => one.pid === pid);
    assert.ok(node !== undefined, `${pid} is one of the nodes`);
    return node;
  };

  const within = told(door, "cid", "hold", { gate: gates.at("within") });
  const ending = await runs("within");
  const { pid } = ending;
  ending.terminate();
  await until("the node has been told", () => ending.log.some((line) => line.includes('"stopping"')));
  gates.let("within");
  assert.equal(await within, `10 by version 2 in ${pid}`);
  await drains(ending);
  assert.deepEqual(gates.came("within"), [pid]);
  await ending.restart();

  const again = told(door, "dee", "hold", { gate: gates.at("again") });
  const left = await runs("again");
  left.terminate();
  const heir = await gates.comes("again", 2);
  assert.ok(heir !== left.pid && place.nodes.some((one) => one.pid === heir), "another node runs it");
  gates.let("again");
  assert.equal(await again, `10 by version 2 in ${heir}`);
  await drains(left);
  assert.deepEqual(await chainOf("ledger/dee"), [["tools/hold", `10 by version 2 in ${heir}`, 2]]);
});
