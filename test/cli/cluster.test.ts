// `troupe cluster` against a real Restate server: what an operator is told.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { deploymentsInUse, RestateAdmin } from "../../src/cli/cluster/restate-admin.ts";
import { until } from "../../src/testing/index.ts";
import { countingEndpoint } from "../restate/counting-endpoint.ts";
import { install } from "../restate/install.ts";
import { RestateServer } from "../restate/restate-server.ts";
import { lines, type Ran, troupe } from "./run.ts";
import { onLoopback } from "../on-loopback.ts";

let server: RestateServer;
let engine: string;

before(async () => {
  const { server: executable } = await install();
  server = await RestateServer.start(executable);
  engine = `${server.ingress.replace("http", "restate")}?admin=${server.admin}`;
});

after(async () => {
  await server?.[Symbol.asyncDispose]();
});

const cluster = (...args: readonly string[]): Promise<Ran> => troupe("cluster", ...args, "--engine", engine);

const failure = (ran: Ran): { readonly code: string; readonly message: string } => Object(lines(ran.stderr)[0]).error;

test("registering tells what was found; at a known address nothing is asked again unless it is forced #cluster.register", async () => {
  await using endpoint = await countingEndpoint({ name: "registered" });
  const first = await cluster("register", endpoint.url, "--json");
  assert.equal(first.code, 0, first.stderr);
  const [told] = lines(first.stdout);
  const { id } = Object(told);
  assert.match(id, /^dp_/);
  assert.deepEqual(told, { id, services: ["registered"], added: true });
  const again = await cluster("register", endpoint.url);
  assert.equal(again.stdout, `Known already as ${id}: registered. Nothing was asked again; new code belongs at an address of its own.\n`);
  const forced = await cluster("register", endpoint.url, "--force");
  assert.equal(forced.stdout, `Asked again, and kept as ${id}: registered.\n`);
});

test("a deployment is listed with the calls bound to it, and kept while there are any or new calls go to it #cluster.upgrade", async () => {
  const held = Promise.withResolvers<void>();
  await using old = await countingEndpoint({ name: "kept", held: held.promise });
  await using next = await countingEndpoint({ name: "kept" });
  const { id } = Object(lines((await cluster("register", old.url, "--json")).stdout)[0]);
  const holding = fetch(`${server.ingress}/kept/one/hold`, { method: "POST" });
  const admin = new RestateAdmin(server.admin);
  const inUse = async () => (await deploymentsInUse(admin)).find((one) => one.id === id);
  await until("the call is bound to it", async () => (await inUse())?.pinned === 1);

  const bound = await cluster("remove", id, "--json");
  assert.equal(bound.code, 3);
  assert.equal(failure(bound).code, "DEPLOYMENT_IN_USE");
  assert.match(failure(bound).message, /One invocation is still bound to dp_\w+ .*--force/);

  const { id: successor } = Object(lines((await cluster("register", next.url, "--json")).stdout)[0]);
  const listed = lines((await cluster("deployments", "--json")).stdout).map((line) => Object(line));
  const { created, ...row } = listed.find((one) => one.id === id);
  assert.ok(Date.parse(created) > 0);
  assert.deepEqual(row, { id, url: `${old.url}/`, services: ["kept"], pinned: 1, newest: [] });
  assert.deepEqual(listed.find((one) => one.id === successor).newest, ["kept"]);
  const table = (await cluster("deployments")).stdout.split("\n");
  assert.match(table[0] ?? "", /^id +url +created +pinned +new calls of +services$/);
  assert.match(table.find((line) => line.startsWith(id)) ?? "", /Z +1 +none +kept$/);
  assert.match(table.find((line) => line.startsWith(successor)) ?? "", /Z +0 +all +kept$/);

  held.resolve();
  assert.equal((await holding).status, 200);
  await until("nothing is bound to it", async () => (await inUse())?.pinned === 0);
  assert.equal((await cluster("remove", id)).stdout, "Done.\n");
  assert.equal(await inUse(), undefined);

  const newest = await cluster("remove", successor, "--json");
  assert.equal(newest.code, 3);
  assert.match(failure(newest).message, /New calls of kept go to dp_\w+: register/);
  assert.equal((await cluster("remove", successor, "--force")).code, 0);
  const gone = await cluster("remove", successor, "--json");
  assert.equal(gone.code, 4);
  assert.equal(failure(gone).code, "NOT_FOUND");
});

test("what Restate cannot reach, and what is no endpoint, is told with all that Restate says of it #cluster.unreachable", async () => {
  const away = await cluster("register", "http://127.0.0.1:1", "--json");
  assert.equal(away.code, 1);
  assert.equal(failure(away).code, "ENDPOINT_AWAY");
  assert.match(failure(away).message, /cannot reach http:\/\/127\.0\.0\.1:1\/: .*META0003.*Connection refused/);

  await using web = await onLoopback(createServer((_request, response) => response.end("hello")));
  const other = await cluster("register", web.url, "--json");
  assert.equal(other.code, 1);
  assert.equal(failure(other).code, "NO_ENDPOINT");
  assert.match(failure(other).message, /no endpoint of actors.*META0014/);
  const noRestate = await troupe("cluster", "deployments", "--engine", `restate://127.0.0.1?admin=${web.url}`, "--json");
  assert.equal(noRestate.code, 1);
  assert.equal(failure(noRestate).code, "RESTATE_REFUSED");

  for (const url of ["nodes:9080", "ftp://nodes", "http://u:p@nodes"]) assert.equal((await cluster("register", url)).code, 2, url);
});

test("a server that is away is told with its address, and a wrong --engine with an example #cluster.unreachable", async () => {
  const away = await troupe("cluster", "deployments", "--engine", "restate://127.0.0.1:1?admin=http://127.0.0.1:1", "--json");
  assert.equal(away.code, 6);
  assert.equal(failure(away).code, "RESTATE_AWAY");
  assert.match(failure(away).message, /admin API at http:\/\/127\.0\.0\.1:1 cannot be reached: .*--engine/);
  const wrong = await troupe("cluster", "deployments", "--engine", "127.0.0.1", "--json");
  assert.equal(wrong.code, 2);
  assert.equal(failure(wrong).code, "USAGE");
  const beyond = await troupe("cluster", "dev", "examples/counter", "--http", "0.0.0.0:0", "--json");
  assert.equal(beyond.code, 2);
  assert.match(failure(beyond).message, /not this machine's own/);
});
