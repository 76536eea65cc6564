// What an operator of a cluster asks and does with `--engine`, without any module.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { engineText } from "../../src/cli/cluster/cluster-options.ts";
import { actor, hasClaim } from "../../src/core/actor/index.ts";
import type { ActorId, Json } from "../../src/core/contract/index.ts";
import { isRestateSdk, RestateEngine } from "../../src/hosts/restate/index.ts";
import { until } from "../../src/testing/index.ts";
import { tallyKind } from "../../src/testing/conformance/index.ts";
import { install } from "../restate/install.ts";
import { RestateServer } from "../restate/restate-server.ts";
import { at } from "../wire.ts";
import { lines, type Ran, troupe } from "./run.ts";

const secret = Buffer.alloc(32, "what the nodes share");
const folder = mkdtempSync(join(tmpdir(), "troupe-operate-"));
const secretFile = join(folder, "secret");
writeFileSync(secretFile, secret.toString("hex"));
let server: RestateServer;
let engine: RestateEngine;

const MAIN: ActorId = "tally/main";

const desk = actor("desk", {
  description: "A desk.",
  initial: () => ({ closed: 0 }),
  allow: { manager: ({ viewer }) => hasClaim(viewer, "roles", "manager-of-acme") },
  tools: {
    close: { description: "Close.", allow: "manager", run: ({ state }) => (state.closed += 1) },
    file: {
      description: "Have it counted, and say so then.",
      run: ({ send, settled }) => {
        send("tally/filed", "add", { by: 1 });
        return settled("Filed.");
      },
    },
  },
});

const call = (to: ActorId, action: string, args: Json = null) => engine.call({ to, action, args, start: null });

before(async () => {
  const installed = await install();
  assert.ok(isRestateSdk(installed.sdk));
  server = await RestateServer.start(installed.server);
  const { ingress, admin } = server;
  // Of both kinds the arguments may be secret: what is sent to them lies sealed.
  const kinds = [tallyKind("tally"), tallyKind("bell", { restart: { max: 1, withinMs: 3_600_000 } }), desk];
  engine = await RestateEngine.start({ ingress, admin, sdk: installed.sdk, kinds, secret, retryMs: 1 });
});

after(async () => {
  await engine?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const bare = (...args: readonly string[]): Promise<Ran> => troupe(...args, "--engine", engineText(server));
const on = (...args: readonly string[]): Promise<Ran> => bare(...args, "--secret-file", secretFile);

/** What it printed with `--json`. */
const told = async (...args: readonly string[]): Promise<readonly unknown[]> => {
  const ran = await on(...args, "--json");
  assert.equal(ran.code, 0, ran.stderr);
  return lines(ran.stdout);
};

const failure = ({ code, stderr }: Ran): readonly unknown[] => [code, at(lines(stderr)[0], "error", "code")];

test("a server that is away, and one that knows no kinds, are told of, and a directory beside it is refused", async () => {
  const away = await troupe("actors", "--engine", "restate://127.0.0.1:1?admin=http://127.0.0.1:1", "--json");
  assert.deepEqual(failure(away), [6, "RESTATE_AWAY"]);
  const none = await on("actors", "--json");
  assert.deepEqual(failure(none), [4, "NOT_FOUND"]);
  assert.match(none.stderr, /knows no kinds of actors.*troupe cluster register/);
  assert.equal((await on("actors", "--data", folder, "--json")).code, 2);
});

test("C7 actors, states, events and verdicts are read from the nodes, without a module", async () => {
  await server.register(engine.url);
  await call(MAIN, "add", { by: 2 });
  await call(MAIN, "note", { text: "☃" });
  await call("tally/z", "add");
  await call("bell/a", "send", { to: MAIN, action: "add", start: null });
  await until("what was sent has come", async () => (await engine.read(MAIN))?.seq === 3);
  const now = await engine.read(MAIN);
  const ids = async (...args: readonly string[]): Promise<readonly unknown[]> =>
    (await told("actors", ...args)).map((row) => at(row, "id"));
  assert.deepEqual(await ids(), ["bell/a", MAIN, "tally/z"]);
  assert.deepEqual(await ids("--kind", "tally", "--limit", "1"), [MAIN]);
  assert.deepEqual(await ids("--after", MAIN), ["tally/z"]);
  assert.deepEqual(await told("actors", "--by-kind"), [
    { kind: "bell", actors: 1, events: 1 },
    { kind: "tally", actors: 2, events: 4 },
  ]);
  assert.match((await on("actors", "--limit", "2")).stderr, /There are more/);

  const state = { n: 3, log: ["☃"] };
  const [shown] = await told("state", MAIN);
  const { uid, head, createdAt, lastMessageAt } = now ?? assert.fail();
  const known = { status: "live", version: 1, createdAt, lastMessageAt, messageCount: 3 };
  assert.deepEqual(shown, { id: MAIN, uid, seq: 3, head, ...known, stateBytes: 21, state });
  for (const none of ["tally/nobody", "nokind/x"]) assert.deepEqual(failure(await on("state", none, "--json")), [4, "NOT_FOUND"]);

  const events = await told("chain", MAIN, "--after", "1");
  assert.deepEqual(
    events.map((event) => at(event, "header", "type")),
    ["note", "add"],
  );
  assert.equal(at(events[1], "id"), now?.head);
  const [verdict] = await told("verify", MAIN);
  assert.deepEqual([at(verdict, "events"), at(verdict, "head"), at(verdict, "flaw")], [3, now?.head, null]);
  assert.equal((await on("verify")).stdout, "3 actors, 5 events, 0 broken.\n");
  const rolledBack = await on("verify", MAIN, "--receipt", JSON.stringify({ actor: MAIN, seq: 4, head: now?.head }), "--json");
  assert.equal(rolledBack.code, 5);

  assert.deepEqual(at((await told("replay", MAIN, "--to", "1"))[0], "state"), { n: 2, log: [] });
  const [changed] = await told("diff", MAIN, "1", "3");
  assert.equal(at(changed, "actor"), MAIN);
  const [tree] = await told("causes", String(now?.head));
  assert.equal(at(tree, "header", "actor"), "bell/a");
  assert.equal(at(tree, "effects", 0, "id"), now?.head);
});

test("C5 dead letters are listed; those that are sealed need the secret", async () => {
  await call("bell/a", "send", { to: MAIN, action: "throw", with: { secret: "s" } });
  await until("it is dead", async () => (await engine.letters()).length === 1);
  const [letter] = await told("letters");
  assert.deepEqual([at(letter, "message", "to"), at(letter, "message", "action")], [MAIN, "throw"]);
  const sealed = await bare("letters", "--json");
  assert.deepEqual([sealed.stdout, ...failure(sealed)], ["", 2, "USAGE"]);
  assert.match(sealed.stderr, /1 letter cannot be read: it is sealed .*--secret-file/);
});

test("C5 a letter is replayed, sealed as it was, or dropped", async () => {
  const late: ActorId = "tally/late";
  await call("bell/a", "send", { to: late, action: "add", with: { by: 5, secret: "s" } });
  await until("it is dead", async () => (await engine.letters()).length === 2);
  const ids = (await told("letters")).map((letter) => String(at(letter, "message", "id")));
  const [thrown = "", lost = ""] = ids;
  assert.deepEqual(failure(await bare("letters", "drop", thrown, "--json")), [2, "USAGE"]);
  assert.equal((await on("letters", "drop", thrown)).stdout, "Done.\n");
  assert.deepEqual(failure(await on("letters", "drop", thrown, "--json")), [4, "NOT_FOUND"]);
  await call(late, "add");
  assert.deepEqual(await told("letters", "replay", lost), [{ ok: true }]);
  await until("it is delivered", async () => (await engine.read(late))?.seq === 2);
  assert.deepEqual((await engine.read(late))?.state, { n: 6, log: ["begun late"] });
  assert.deepEqual(await told("letters"), []);
});

test("an actor is called, begun, stopped and restarted through the nodes", async () => {
  const [added] = await told("call", "bell/new", "add", '{"by":3,"secret":"s"}', "--start");
  assert.deepEqual(added, { ok: 3 });
  const refused = await on("call", "bell/new", "refuse", "--json");
  assert.deepEqual(failure(refused), [3, "NO"]);
  const unsealed = await bare("call", "bell/new", "add", "--json");
  assert.deepEqual(failure(unsealed), [2, "USAGE"]);
  assert.match(unsealed.stderr, /--secret-file/);
  const nobody = await on("call", "tally/nobody", "add", "--json");
  assert.deepEqual(failure(nobody), [4, "NO_ACTOR"]);
  assert.match(nobody.stderr, /--start/);
  const unknown = await on("stop", "nokind/x", "--json");
  assert.deepEqual(failure(unknown), [4, "NOT_FOUND"]);
  assert.match(unknown.stderr, /there are bell, desk, tally/);

  for (let crash = 0; crash < 2; crash += 1) await assert.rejects(call("bell/new", "throw"), { code: "CRASHED" });
  assert.equal((await engine.read("bell/new"))?.status, "failed");
  assert.deepEqual(await told("restart", "bell/new"), [{ ok: true }]);
  assert.equal((await engine.read("bell/new"))?.status, "live");
  assert.deepEqual(failure(await on("restart", "tally/nobody", "--json")), [4, "NO_ACTOR"]);

  assert.deepEqual(await told("stop", "bell/new", "--reason", "enough"), [{ ok: true }]);
  assert.equal((await engine.read("bell/new"))?.status, "stopped");
  assert.match((await on("chain", "bell/new", "--json")).stdout, /"reason":"enough"/);
  assert.match((await on("verify", "bell/new")).stdout, /^sound/);
});

test("roles of a caller are decided from its claims by a node, and no event has the claims #cli.actors", async () => {
  const close = (...args: readonly string[]): Promise<Ran> => on("call", "desk/main", "tools/close", "--start", ...args);
  const without = await close("--as", "ann");
  assert.deepEqual([without.code, without.stderr], [3, "troupe: Only those with the role manager may do this.\n"]);
  const claim = 'roles=["manager-of-acme"]';
  assert.equal((await close("--claim", claim)).stdout, "1\n");
  assert.equal((await close("--claim", "roles=other")).code, 3);
  const unsealed = await bare("call", "desk/main", "tools/close", "--claim", claim, "--json");
  assert.deepEqual(failure(unsealed), [2, "USAGE"]);
  const { stdout } = await on("chain", "desk/main", "--export");
  assert.match(stdout, /"desk":\["manager"\]/u);
  assert.doesNotMatch(stdout, /claims|manager-of-acme/u);
});

test("what is for a data directory, and modules, are refused in a sentence", async () => {
  for (const args of [
    ["fork", MAIN, "tally/copy"],
    ["checkpoint", MAIN],
  ]) {
    const ran = await on(...args, "--json");
    assert.deepEqual(failure(ran), [2, "USAGE"]);
    assert.match(ran.stderr, /is for a data directory/);
  }
  assert.equal((await on("stop", MAIN, "--module", "examples/counter", "--json")).code, 2);
});

test("a call ends with the reply that comes once other actors have applied its messages", async () => {
  await call("tally/filed", "add", { by: 1 });
  const { code, stdout, stderr } = await on("call", "desk/filing", "tools/file", "--start");
  assert.deepEqual([code, stdout.trim()], [0, "Filed."], stderr);
  assert.equal(at((await engine.read("tally/filed"))?.state, "n"), 2);
});
