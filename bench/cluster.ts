// Calls of actors on a Restate server, with one caller and 64, compared with a bare virtual object that makes the same change: without
// a key; with an idempotency key, without which the outcome of a call is unknown if its answer is lost; and with an object that stores
// as much as an actor does, which is the minimal way to store a chain with the SDK. Also the time until another node is notified of a
// change. The server, the node and the caller are separate processes.
import { randomBytes, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import * as restate from "@restatedev/restate-sdk";
import { joinCluster } from "troupe/cluster";
import { RestateEngine } from "troupe/restate";
import { install } from "../test/restate/install.ts";
import { RestateServer } from "../test/restate/restate-server.ts";
import type { BenchOptions } from "./options.ts";
import { Servers, start } from "./server-process.ts";
import { plain } from "./kinds/plain.ts";
import { callers } from "./load.ts";
import { quantile, times } from "./statistics.ts";
import { print, rounds } from "./table.ts";

/** Many short bursts, so that background work affects all contestants. */
const BURST_MS = 400;
const WARM_UP = 3;

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

interface Bare {
  readonly ingress: string;
  readonly object: "bare" | "laden";
  readonly keyed: boolean;
}

/** As long as an actor's message. Only 32 bytes are random, like an id and a seed, since equal text compresses well. */
const message = (): string => JSON.stringify({ by: 1, line: randomBytes(32).toString("hex") + "m".repeat(64) });

const callBare = ({ ingress, object, keyed }: Bare, caller: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const sent = request(
      `${ingress}/${object}/${caller}/add`,
      {
        agent,
        method: "POST",
        headers: { "content-type": "application/json", ...(keyed ? { "idempotency-key": randomUUID() } : {}) },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          if (answer.statusCode === 200) resolve(JSON.parse(text));
          else reject(new Error(text));
        });
      },
    );
    sent.on("error", reject);
    sent.end(object === "laden" ? message() : '{"by":1}');
  });

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  const { server: executable } = await install();
  await using server = await RestateServer.start(executable, { partitions: 4 });
  await using nodes = new Servers();
  const bare = await nodes.add(start(["bench/cluster-node.ts", "bare"]));
  const node = await nodes.add(start(["bench/cluster-node.ts", "actors", server.ingress]));
  await using engine = await RestateEngine.start({ ingress: server.ingress, sdk: restate, kinds: [plain("disk")] });
  try {
    for (const { ready } of [bare, node]) await server.register(String(ready["url"]));
    for (const count of [1, 64]) await compare(engine, server.ingress, count, quick ? 6 : 14);
    await notificationDelay(engine, server.ingress, node.child.pid ?? 0, quick ? 50 : 200);
  } finally {
    agent.destroy();
  }
};

const compare = async (engine: RestateEngine, ingress: string, count: number, roundCount: number): Promise<void> => {
  const burst = (call: (caller: number) => Promise<unknown>) => () => callers(count, BURST_MS, call);
  const contest = (object: Bare["object"], keyed: boolean) => burst((caller) => callBare({ ingress, object, keyed }, caller));
  const measured = await rounds(
    WARM_UP + roundCount,
    burst((caller) => engine.call({ to: `plain-disk/${caller}`, action: "add", args: { by: 1 }, start: null })),
    contest("bare", false),
    contest("bare", true),
    contest("laden", true),
  );
  const [ours = [], bare = [], keyed = [], laden = []] = measured.map((figures) => figures.slice(WARM_UP));
  const what = `calls on Restate, ${count} caller${count === 1 ? "" : "s"}`;
  const object = "a bare virtual object";
  print({ what: `${what}: actors, of ${object}`, measured: times(ours, bare), unit: "×", least: 0.85 });
  print({ what: `${what}: actors, of ${object} called with a key`, measured: times(ours, keyed), unit: "×" });
  print({ what: `${what}: actors, of ${object} as laden`, measured: times(ours, laden), unit: "×" });
  print({ what: `${what}: ${object} as laden, of a bare one`, measured: times(laden, bare), unit: "×" });
  print({ what: `${what}: actors`, measured: ours, unit: "/s" });
  print({ what: `${what}: ${object}`, measured: bare, unit: "/s" });
  print({ what: `${what}: ${object} called with a key`, measured: keyed, unit: "/s" });
  print({ what: `${what}: ${object} as laden`, measured: laden, unit: "/s" });
};

/** The time until this process, a second node, is notified of a change that the first node made. */
const notificationDelay = async (engine: RestateEngine, ingress: string, node: number, changes: number): Promise<void> => {
  await using listening = await RestateEngine.start({ ingress, sdk: restate, kinds: [plain("disk")] });
  await using peers = await joinCluster({ secret: Buffer.alloc(32, "bench"), url: listening.url, members: listening.members() });
  listening.join(peers, (request_, response) => peers.handle(request_, response));
  const met = new Promise<void>((resolve) => peers.onGap(resolve));
  process.kill(node, "SIGUSR1");
  await met;
  const took: number[] = [];
  for (let n = 0; n < changes; n += 1) {
    const id = `plain-disk/heard-${n % 10}` as const;
    const notified = Promise.withResolvers<number>();
    const undo = listening.watch(id, () => notified.resolve(performance.now()));
    await engine.call({ to: id, action: "add", args: { by: 1 }, start: null });
    const replied = performance.now();
    took.push((await notified.promise) - replied);
    undo();
  }
  const what = "a change heard of on another node, after its reply";
  print({ what, measured: took, unit: "ms" });
  print({ what: `${what}: 95 of 100 within`, measured: [quantile(took, 0.95)], unit: "ms" });
};
