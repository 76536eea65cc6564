// Three servers as one: what the distributed engine's tests stand on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../src/testing/index.ts";
import { countingEndpoint } from "./counting-endpoint.ts";
import { install } from "./install.ts";
import { RestateCluster } from "./restate-cluster.ts";

const KEYS = 8;
const CALLS_EACH = 12;
/** The leader is killed under load, when so many calls were answered. */
const KILL_AT = 30;

const up = async (ingress: string, key: string, call: string): Promise<number> => {
  const response = await fetch(`${ingress}/count/${key}/up`, {
    method: "POST",
    headers: { "idempotency-key": call },
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return Number(await response.text());
};

test("three servers count as one, and nothing is lost or doubled when the leader of most partitions is killed #cluster.killed", async () => {
  const { server: executable } = await install();
  await using endpoint = await countingEndpoint();
  await using cluster = await RestateCluster.start(executable);
  await cluster.register(endpoint.url);
  for (const [index, ingress] of cluster.ingresses.entries())
    await until(`server ${index} knows the object`, () =>
      up(ingress, "all", `first ${index}`).then(
        (sum) => sum === index + 1,
        () => false,
      ),
    );

  let answered = 0;
  let retried = 0;
  let killing: Promise<void> | undefined;
  let killed = -1;
  const kill = async (): Promise<void> => {
    killed = await cluster.leader();
    await cluster.kill(killed);
  };
  const callUntilAnswered = async (key: string, call: string, from: number): Promise<number> => {
    for (let attempt = from; ; attempt += 1)
      try {
        return await up(cluster.ingresses[attempt % cluster.ingresses.length] ?? "", key, call);
      } catch {
        retried += 1;
      }
  };
  const sums = await Promise.all(
    Array.from({ length: KEYS }, async (_, caller) => {
      const key = `key-${caller}`;
      const seen: number[] = [];
      for (let n = 0; n < CALLS_EACH; n += 1) {
        seen.push(await callUntilAnswered(key, `${key}/${n}`, caller + n));
        answered += 1;
        if (answered === KILL_AT) killing = kill();
      }
      return seen;
    }),
  );
  await killing;
  assert.notEqual(killed, -1);
  assert.ok(retried > 0, "calls went to the server that was killed");
  const each = Array.from({ length: CALLS_EACH }, (_, n) => n + 1);
  for (const seen of sums) assert.deepEqual(seen, each);

  await cluster.restart(killed);
  await until("the server that was killed takes calls again", () =>
    up(cluster.ingresses[killed] ?? "", "all", "after").then(
      (sum) => sum === 4,
      () => false,
    ),
  );
});
