import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { systemEntropy } from "../../core/contract/index.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { DevNode, type DevNodeOptions, storedSecret, serveProgram } from "./dev-nodes.ts";

const place = { name: "node-1", node: { host: "127.0.0.1", port: 1 }, http: { host: "127.0.0.1", port: 2 } };

/** A node that runs `script`; records its callbacks. */
const noted = (
  script: string,
): DevNodeOptions & { readonly pauses: number[]; readonly lines: string[]; readonly ready: unknown[]; readonly clock: SimulatedClock } => {
  const pauses: number[] = [];
  const lines: string[] = [];
  const ready: unknown[] = [];
  return {
    place,
    program: { file: process.execPath, args: ["-e", script], env: {} },
    graceMs: 1_000,
    clock: new SimulatedClock(),
    onLine: (line) => lines.push(line),
    onEnd: (why, againInMs) => {
      assert.equal(why, "exit code 7");
      pauses.push(againInMs);
    },
    onReady: (pid) => ready.push(pid),
    pauses,
    lines,
    ready,
  };
};

const READY = 'console.log(JSON.stringify({ ready: true, name: "n" }));';

test("a node that ends repeatedly is restarted after pauses that double up to ten seconds", async () => {
  const options = noted(`${READY} process.exitCode = 7;`);
  await using node = new DevNode(options);
  assert.deepEqual(await node.start(), { ready: true, name: "n" });
  const expected = [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000];
  for (const [index, pause] of expected.entries()) {
    await until(`it has ended ${index + 1} times`, () => options.pauses.length === index + 1);
    assert.deepEqual(options.pauses, expected.slice(0, index + 1));
    await options.clock.advance(pause - 1);
    assert.equal(options.clock.pending, 1);
    await options.clock.advance(1);
  }
});

test("a node that ran for long is restarted after the shortest pause", async () => {
  const options = noted(`${READY} process.on("SIGUSR2", () => process.exit(7)); setInterval(() => {}, 1_000); console.log("hears");`);
  await using node = new DevNode(options);
  await node.start();
  for (const [runs, ranMs] of [0, 0, 30_000].entries()) {
    await until("it hears signals", () => options.lines.length === runs + 1);
    await options.clock.advance(ranMs);
    process.kill(node.pid ?? 0, "SIGUSR2");
    await until("it has ended", () => options.pauses.length === runs + 1);
    await options.clock.advance(options.pauses.at(-1) ?? 0);
    await until("it is ready again", () => options.ready.length === runs + 1);
    assert.equal(options.ready.at(-1), node.pid);
  }
  assert.deepEqual(options.pauses, [200, 400, 200]);
});

test("a node that ends before it is ready, or is disposed of, is not restarted", async () => {
  const failing = noted('console.error("why"); process.exitCode = 7;');
  await using node = new DevNode(failing);
  await assert.rejects(node.start(), { message: "exit code 7" });
  assert.deepEqual(failing.lines, ["why"]);

  const ending = noted(`${READY} process.exitCode = 7;`);
  const other = new DevNode(ending);
  await other.start();
  await until("it has ended", () => ending.pauses.length === 1);
  await other[Symbol.asyncDispose]();
  await until("no restart is due", () => ending.clock.pending === 0);
  assert.deepEqual([failing.pauses, ending.pauses, other.pid], [[], [200], undefined]);
});

test("a node that ignores SIGTERM is killed three seconds after its grace", async () => {
  const options = noted(`process.on("SIGTERM", () => console.log("hears")); ${READY} setInterval(() => {}, 1_000);`);
  const node = new DevNode(options);
  await node.start();
  const ended = node[Symbol.asyncDispose]();
  await until("it has heard", () => options.lines.includes("hears"));
  await options.clock.advance(3_999);
  assert.notEqual(node.pid, undefined);
  await options.clock.advance(1);
  await ended;
  assert.equal(node.pid, undefined);
});

test("a node serves the modules at its own ports, and no argument contains the secret #cluster.secret", () => {
  const secret = "ab".repeat(32);
  const { file, args, env } = serveProgram(
    { name: "node-1", node: { host: "127.0.0.1", port: 9081 }, http: { host: "127.0.0.1", port: 3001 } },
    {
      modules: ["a.ts", "b=b.ts"],
      engine: "restate://127.0.0.1:8080?admin=http://127.0.0.1:9070",
      secret,
      graceMs: 5_000,
      log: "warn",
      directory: ({ name }) => `data/${name}`,
    },
  );
  assert.equal(file, process.execPath);
  assert.match(args[0] ?? "", /bin\/troupe\.js$/);
  assert.deepEqual(args.slice(1), [
    "serve",
    "a.ts",
    "b=b.ts",
    "--engine",
    "restate://127.0.0.1:8080?admin=http://127.0.0.1:9070",
    "--node",
    "127.0.0.1:9081",
    "--advertise",
    "http://127.0.0.1:9081",
    "--http",
    "127.0.0.1:3001",
    "--data",
    "data/node-1",
    "--grace",
    "5000",
    "--log",
    "warn",
    "--json",
  ]);
  assert.equal(env["TROUPE_CLUSTER_SECRET"], secret);
});

describe("the secret of the nodes", () => {
  let directory = "";
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "troupe-secret-"))));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test("is created once, readable by its owner only", () => {
    const secret = storedSecret(directory, {}, systemEntropy);
    assert.match(secret, /^[0-9a-f]{64}$/);
    assert.equal(storedSecret(directory, {}, systemEntropy), secret);
    assert.equal(readFileSync(join(directory, "secret"), "utf8"), `${secret}\n`);
    assert.equal(statSync(join(directory, "secret")).mode & 0o777, 0o600);
  });

  test("comes from the environment, and is then not stored", () => {
    const secret = storedSecret(directory, {}, systemEntropy);
    assert.equal(storedSecret(directory, { TROUPE_CLUSTER_SECRET: "ab".repeat(32) }, systemEntropy), "ab".repeat(32));
    assert.equal(storedSecret(directory, { TROUPE_CLUSTER_SECRET: " " }, systemEntropy), secret);
  });

  test("is refused if it is too short, and not replaced", () => {
    writeFileSync(join(directory, "secret"), "abc");
    assert.throws(() => storedSecret(directory, {}, systemEntropy), { code: "USAGE" });
    assert.equal(readFileSync(join(directory, "secret"), "utf8"), "abc");
  });
});
