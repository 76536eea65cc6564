// Nodes lose half of what they tell each other: whoever listens ends at the right state all the same, and soon.
import assert from "node:assert/strict";
import { test } from "node:test";
import { joinCluster, type Cluster } from "../../src/hosts/cluster/index.ts";
import { systemClock, type ActorId, type Clock } from "../../src/core/contract/index.ts";
import { isRestateSdk, RestateEngine } from "../../src/hosts/restate/index.ts";
import { until } from "../../src/testing/index.ts";
import { at } from "../wire.ts";
import { install } from "./install.ts";
import purses from "./purses.fixture.ts";
import { RestateServer } from "./restate-server.ts";

const ACTORS = 20;
const CHANGES_EACH = 10;
const secret = Buffer.alloc(32, 3);

/** Nothing that is put off for ten seconds or more comes about by it: neither the round of every 15 s nor any other. */
const hasty = (): Clock & { readonly putOff: () => number } => {
  let putOff = 0;
  return {
    now: () => systemClock.now(),
    after(ms, run) {
      if (ms < 10_000) return systemClock.after(ms, run);
      putOff += 1;
      return () => undefined;
    },
    putOff: () => putOff,
  };
};

interface Joined extends AsyncDisposable {
  readonly engine: RestateEngine;
  readonly peers: Cluster;
  /** How many hints it was to tell, and how many of these it lost. */
  readonly told: () => { readonly hints: number; readonly lost: number };
}

test("C8 200 changes through one node while half of the hints are lost: a listener on another sees each, by the gap and not by the clock #cluster.hints", async () => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk));
  await using server = await RestateServer.start(executable);
  const patience = hasty();
  const join = async (): Promise<Joined> => {
    const { ingress, admin } = server;
    const engine = await RestateEngine.start({ ingress, admin, sdk, kinds: purses, secret, patience });
    let hints = 0;
    const drop = (topic: string): boolean => topic === "changed" && (hints += 1) % 2 === 0;
    const limits = { heartbeatMs: 20, gapMs: 20, forMs: 300 };
    const peers = await joinCluster({ secret, url: engine.url, members: engine.members(), drop, limits });
    engine.join(peers, (request, response) => peers.handle(request, response));
    return {
      engine,
      peers,
      told: () => ({ hints, lost: Math.floor(hints / 2) }),
      async [Symbol.asyncDispose]() {
        await engine[Symbol.asyncDispose]();
        await peers[Symbol.asyncDispose]();
      },
    };
  };
  await using acting = await join();
  await using listening = await join();
  await server.register(acting.engine.url);
  await until("the nodes hear each other", () =>
    [acting, listening].every(({ peers }) => peers.status().some(({ heard, reached }) => heard && reached)),
  );
  assert.ok(patience.putOff() >= 2, "the rounds are held back");

  const heard = new Map<ActorId, number>();
  listening.engine.watch("tally/*", ({ id, seq }) => void heard.set(id, Math.max(seq, heard.get(id) ?? 0)));
  await Promise.all(
    Array.from({ length: ACTORS }, async (_, actor) => {
      const to: ActorId = `tally/${actor}`;
      let sum = 0;
      for (let n = 1; n <= CHANGES_EACH; n += 1) {
        const by = actor + n;
        sum += by;
        await acting.engine.call({ to, action: "tools/add", args: { op: `${actor}/${n}`, by }, start: null });
        await until(`the listener hears of change ${n} of ${to}`, () => heard.get(to) === n);
        assert.equal(at((await listening.engine.read(to))?.state, "sum"), sum);
      }
    }),
  );
  const { hints, lost } = acting.told();
  assert.ok(hints >= ACTORS * CHANGES_EACH && lost >= hints / 2 - 1, `${lost} of ${hints} hints were lost`);
});
