// README: calls of actors on a Restate server beside a bare virtual object that makes the same change, one caller and 64: called
// as it is, and with an idempotency key, without which nobody learns what became of a call whose answer was lost. And how long
// after its reply a change is heard of on another node. The server, the node and the caller are processes of their own.
import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import * as restate from "@restatedev/restate-sdk";
import { joinCluster } from "troupe/cluster";
import { RestateEngine } from "troupe/restate";
import { install } from "../test/restate/install.ts";
import { RestateServer } from "../test/restate/restate-server.ts";
import { start } from "./child.ts";
import { plain } from "./kinds/plain.ts";
import { callers, median } from "./load.ts";

/** Short, and many: what the server does in between, and the machine, falls on all alike. */
const BURST_MS = 400;
const ROUNDS = 60;
const WARM_UP = 5;
const HEARD = 200;

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

const callBare = (ingress: string, caller: number, keyed: boolean): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const sent = request(
      `${ingress}/bare/${caller}/add`,
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
    sent.end('{"by":1}');
  });

export const run = async (): Promise<void> => {
  const { server: executable } = await install();
  await using server = await RestateServer.start(executable, { partitions: 4 });
  const bare = await start(["bench/cluster-node.ts", "bare"]);
  const node = await start(["bench/cluster-node.ts", "actors", server.ingress]);
  await using engine = await RestateEngine.start({ ingress: server.ingress, sdk: restate, kinds: [plain("disk")] });
  try {
    for (const { ready } of [bare, node]) await server.register(String(ready["url"]));
    const callActor = (caller: number): Promise<unknown> =>
      engine.call({ to: `plain-disk/${caller}`, action: "add", args: { by: 1 }, start: null });
    for (const count of [1, 64]) {
      const rates = { ours: Array<number>(), bare: Array<number>(), keyed: Array<number>() };
      for (let round = -WARM_UP; round < ROUNDS; round += 1) {
        const bareRate = await callers(count, BURST_MS, (caller) => callBare(server.ingress, caller, false));
        const ourRate = await callers(count, BURST_MS, callActor);
        const keyedRate = await callers(count, BURST_MS, (caller) => callBare(server.ingress, caller, true));
        if (round < 0) continue;
        rates.ours.push(ourRate);
        rates.bare.push(bareRate);
        rates.keyed.push(keyedRate);
      }
      const whose = `${String(count).padStart(3)} caller${count === 1 ? " " : "s"}`;
      console.log(
        `${whose}  ${median(rates.ours).toFixed(0)}/s; ${beside(rates.ours, rates.bare, "a bare virtual object")}; ${beside(rates.ours, rates.keyed, "one called with an idempotency key")}`,
      );
    }
    await heard(engine, server.ingress, node.child.pid ?? 0);
  } finally {
    agent.destroy();
    bare.child.kill("SIGKILL");
    node.child.kill("SIGKILL");
  }
};

const beside = (ours: readonly number[], theirs: readonly number[], what: string): string => {
  const ratios = ours.map((rate, n) => rate / (theirs[n] ?? rate)).toSorted((one, other) => one - other);
  const [quarter = 0, threeQuarters = 0] = [ratios[Math.floor(ratios.length / 4)], ratios[Math.floor((ratios.length * 3) / 4)]];
  return `${median(ratios).toFixed(2)} of ${what} (${median(theirs).toFixed(0)}/s; middle half ${quarter.toFixed(2)}–${threeQuarters.toFixed(2)})`;
};

/** The node runs the turn and tells of it; this process is another node, which listens, and calls. */
const heard = async (engine: RestateEngine, ingress: string, node: number): Promise<void> => {
  await using listening = await RestateEngine.start({ ingress, sdk: restate, kinds: [plain("disk")] });
  await using peers = await joinCluster({ secret: Buffer.alloc(32, "bench"), url: listening.url, members: listening.members() });
  listening.join(peers, (request_, response) => peers.handle(request_, response));
  const met = new Promise<void>((resolve) => peers.onGap(resolve));
  process.kill(node, "SIGUSR1");
  await met;
  const took: number[] = [];
  for (let n = 0; n < HEARD; n += 1) {
    const id = `plain-disk/heard-${n % 10}` as const;
    const told = Promise.withResolvers<number>();
    const undo = listening.watch(id, () => told.resolve(performance.now()));
    await engine.call({ to: id, action: "add", args: { by: 1 }, start: null });
    const replied = performance.now();
    took.push((await told.promise) - replied);
    undo();
  }
  took.sort((one, other) => one - other);
  console.log(
    `a change is heard of on another node ${median(took).toFixed(1)} ms after its reply (95 of 100 within ${(took[Math.floor(took.length * 0.95)] ?? 0).toFixed(1)} ms; below 0: before it)`,
  );
};
