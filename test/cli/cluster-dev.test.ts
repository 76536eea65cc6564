// `troupe cluster dev` as a process: what it starts, mends and ends, over nodes without actors and, once, as a user starts it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { until } from "../../src/testing/index.ts";
import { connect, type Player, type Which } from "../clients.ts";
import { install } from "../restate/install.ts";
import { root } from "../serve-child.ts";
import { type Running, runningScript } from "./run.ts";
import { onLoopback } from "../on-loopback.ts";

const restate = join(import.meta.dirname, "../restate");

interface ReadyLine {
  readonly http: string;
  readonly ingress: string;
  readonly endpoint: string;
  readonly data?: string;
  readonly restate: number;
  readonly nodes: readonly { readonly name: string; readonly pid: number }[];
}

before(async () => void (await install()));

const dev = (options: object = {}): Running =>
  runningScript({
    cwd: restate,
    args: ["--conditions=troupe-source", join(import.meta.dirname, "cluster-dev.fixture.ts"), JSON.stringify(options)],
  });

const ready = async (running: Running): Promise<ReadyLine> => {
  await running.said(/"ready":true/);
  return JSON.parse(running.out());
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const pidsOf = ({ restate: server, nodes }: ReadyLine): readonly number[] => [server, ...nodes.map(({ pid }) => pid)];

const who = async (http: string): Promise<{ readonly pid: number; readonly secret: string }> => {
  const { pid, secret } = Object(await (await fetch(http, { headers: { connection: "close" } })).json());
  return { pid, secret };
};

const up = async (ingress: string, key: string): Promise<number> => {
  const response = await fetch(`${ingress}/count/${key}/up`, { method: "POST" });
  assert.equal(response.status, 200);
  return Number(await response.text());
};

test("one address spreads connections over nodes that share a new secret, and Restate reaches them; Ctrl-C ends all and leaves nothing #cluster.dev", async () => {
  await using running = dev();
  const line = await ready(running);
  // Each node answers in its turn, but for one that is too busy to accept the connection.
  const secrets = new Map<number, string>();
  await until("both nodes have answered", async () => {
    const { pid, secret } = await who(line.http);
    secrets.set(pid, secret);
    return secrets.size === 2;
  });
  assert.deepEqual(new Set(secrets.keys()), new Set(line.nodes.map(({ pid }) => pid)));
  const [secret, other] = secrets.values();
  assert.match(secret ?? "", /^[0-9a-f]{64}$/);
  assert.equal(secret, other);
  assert.equal(await up(line.ingress, "a"), 1);
  assert.equal(await up(line.ingress, "a"), 2);
  assert.match(running.err(), /"node":"node-1","level":"info","event":"output","text":"a line of its own"/);
  assert.equal(pidsOf(line).every(isAlive), true);
  running.child.kill("SIGINT");
  assert.equal(await running.ended, 0);
  assert.equal(running.err().split('"event":"drained"').length - 1, 2);
  assert.deepEqual(pidsOf(line).filter(isAlive), []);
});

test("a node that is killed is told of and started again, and calls go on meanwhile", async () => {
  await using running = dev();
  const line = await ready(running);
  const [first] = line.nodes;
  assert.ok(first !== undefined);
  process.kill(first.pid, "SIGKILL");
  await running.said(/"event":"node-ended","node":"node-1","why":"SIGKILL","againInMs":200/);
  for (let n = 1; n <= 5; n += 1) assert.equal(await up(line.ingress, "b"), n);
  await running.said(/"event":"node-ready","node":"node-1","pid":\d+/);
  const pid = Number(/"event":"node-ready","node":"node-1","pid":(\d+)/.exec(running.err())?.[1]);
  assert.notEqual(pid, first.pid);
  await until("the node that came back is among those that answer", async () => (await who(line.http)).pid === pid);
  running.child.kill("SIGTERM");
  assert.equal(await running.ended, 0);
  assert.deepEqual([pid, ...pidsOf(line)].filter(isAlive), []);
});

test("with --data, state, the address under which Restate knows the nodes and what they share are there again at the next start #cluster.dev", async () => {
  const data = mkdtempSync(join(tmpdir(), "troupe-cluster-kept-"));
  try {
    const endpoints: string[] = [];
    const secrets: string[] = [];
    for (const expected of [1, 2]) {
      await using running = dev({ data, nodes: 1 });
      const line = await ready(running);
      endpoints.push(line.endpoint);
      secrets.push((await who(line.http)).secret);
      assert.equal(line.data, data);
      assert.equal(await up(line.ingress, "kept"), expected);
      running.child.kill("SIGHUP");
      assert.equal(await running.ended, 0);
    }
    assert.equal(endpoints[0], endpoints[1]);
    assert.deepEqual(secrets, Array(2).fill(readFileSync(join(data, "secret"), "utf8").trim()));
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
});

test("a node that cannot start ends all with what it wrote, and so does a port that is taken", async () => {
  await using failing = dev({ extra: ["--fails"], json: false });
  assert.equal(await failing.ended, 1);
  assert.match(failing.err(), /node-(\d) this module cannot be loaded[\s\S]*NODE_FAILED: node-\1 did not start \(exit code 2\)/);

  await using holder = await onLoopback(createServer());
  await using taken = dev({ http: holder.port });
  assert.equal(await taken.ended, 1);
  assert.match(taken.err(), /BAD_ADDRESS: Cannot listen at 127\.0\.0\.1:\d+/);
});

test("a second Ctrl-C ends all at once, whatever a node still does", async () => {
  await using running = dev({ extra: ["--stubborn"] });
  const line = await ready(running);
  running.child.kill("SIGINT");
  await running.said(/"event":"drained"[\s\S]*"event":"drained"/);
  running.child.kill("SIGINT");
  assert.equal(await running.ended, 130);
  // Whoever takes them over notes their end in its own time.
  await until("nothing is left", () => !pidsOf(line).some(isAlive));
});

/** An official client that connects anew where its node is gone, and then calls again under the same name. */
const restless = (http: string, which: Which) => {
  let player: Player | undefined;
  let calls = 0;
  return {
    async add(): Promise<number> {
      const callId = `${which.era} ${(calls += 1)}`;
      for (;;)
        try {
          player ??= await connect({ http }, which);
          return Number((await player.call("add", {}, { callId })).text);
        } catch (error) {
          // fetch says TypeError where the connection broke.
          if (!(error instanceof Error && [error, error.cause].some((one) => one instanceof TypeError))) throw error;
          player = undefined;
        }
    },
    [Symbol.asyncDispose]: async () => player?.[Symbol.asyncDispose](),
  };
};

test("as a user starts it, official clients play over two nodes, go on when one is killed, and Ctrl-C ends all #cluster.dev", async () => {
  await using running = runningScript({
    cwd: restate,
    args: [
      join(root, "bin/troupe.js"),
      "cluster",
      "dev",
      join(root, "examples/counter"),
      "--nodes",
      "2",
      "--http",
      "127.0.0.1:0",
      "--json",
    ],
  });
  const line = await ready(running);
  let pid = 0;
  {
    await using old = restless(line.http, { sdk: "v1", era: "legacy" });
    await using young = restless(line.http, { sdk: "v2", era: "modern" });
    let sum = 0;
    const play = async (): Promise<void> => {
      for (const client of [old, young, young, old]) assert.equal(await client.add(), (sum += 1));
    };
    await play();
    const [node] = line.nodes;
    assert.ok(node !== undefined);
    process.kill(node.pid, "SIGKILL");
    await play();
    await running.said(/"event":"node-ended","node":"node-1","why":"SIGKILL"/);
    await running.said(/"event":"node-ready","node":"node-1","pid":\d+/);
    pid = Number(/"event":"node-ready","node":"node-1","pid":(\d+)/.exec(running.err())?.[1]);
    await play();
  }
  running.child.kill("SIGINT");
  assert.equal(await running.ended, 0);
  await until("nothing is left", () => ![pid, ...pidsOf(line)].some(isAlive));
});

test("people get a banner with every address, and Ctrl-C while it starts ends it as well", async () => {
  await using running = dev({ json: false, nodes: 3 });
  await running.said(/Ctrl-C stops all of it/);
  assert.match(running.err(), /stub is served by 3 nodes: count\./);
  assert.match(running.err(), /HTTP +http:\/\/127\.0\.0\.1:\d+\/mcp/);
  assert.match(running.err(), /node-3 +http:\/\/127\.0\.0\.1:\d+\/mcp, for Restate at http:\/\/127\.0\.0\.1:\d+, process \d+/);
  assert.match(running.err(), /restate:\/\/127\.0\.0\.1:\d+\?admin=http:\/\/127\.0\.0\.1:\d+/);
  assert.equal(running.out(), "");

  await using starting = dev({ nodes: 1 });
  await starting.said(/a line of its own/);
  starting.child.kill("SIGINT");
  assert.equal(await starting.ended, 0);
});
