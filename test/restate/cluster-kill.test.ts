// Three servers, two nodes, clients at both: what is left when a node and then the leading server are killed under load.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { joinCluster } from "../../src/hosts/cluster/index.ts";
import type { ActorId, Json } from "../../src/core/contract/index.ts";
import { isRestateSdk, RestateEngine } from "../../src/hosts/restate/index.ts";
import { until } from "../../src/testing/index.ts";
import { connect, type Player, type Which } from "../clients.ts";
import { folder } from "../quest-client.ts";
import { freshSeed, seeded, type Seeded, withSeed } from "../torture/seed.ts";
import { ClusterPlace } from "./cluster-place.ts";
import { install } from "./install.ts";
import { type Act, nextAct } from "./purse-acts.ts";
import { PurseBooks } from "./purse-books.ts";
import { legacyCaller, modernCaller, officialCaller, type PurseCaller } from "./purse-callers.ts";
import purses from "./purses.fixture.ts";
import { RestateCluster } from "./restate-cluster.ts";

const OWNERS = ["ann", "ben", "cid", "dee", "eve", "fay"];
const MOST_TRIES = 500;

/** At so many acknowledged calls the node is killed, then, once it is back, the leader; so many more must follow. */
const NODE_DIES_AT = 40;
const LEADER_DIES_AFTER = 40;
const THEN_MORE = 60;

/** What is killed after how many acknowledged calls. */
class PlannedKills {
  readonly #node: () => Promise<void>;
  readonly #leader: () => Promise<void>;
  #acknowledged = 0;
  #nodeBack: Promise<void> | undefined;
  #backAt: number | undefined;
  #leaderKilled: Promise<void> | undefined;
  #killedAt: number | undefined;
  retried = 0;

  constructor(node: () => Promise<void>, leader: () => Promise<void>) {
    this.#node = node;
    this.#leader = leader;
  }

  acknowledged(): void {
    const count = (this.#acknowledged += 1);
    if (count === NODE_DIES_AT) this.#nodeBack = this.#node().then(() => void (this.#backAt = this.#acknowledged));
    if (this.#backAt !== undefined && count >= this.#backAt + LEADER_DIES_AFTER)
      this.#leaderKilled ??= this.#leader().then(() => void (this.#killedAt = this.#acknowledged));
  }

  get over(): boolean {
    return this.#killedAt !== undefined && this.#acknowledged >= this.#killedAt + THEN_MORE;
  }

  /** Rejects with what a kill could not do. */
  async settled(): Promise<void> {
    await this.#nodeBack;
    await this.#leaderKilled;
  }
}

/** Reads again at each notification, and remembers what it read last. */
const lastSeen = (player: Player, uri: string): (() => unknown) => {
  let seen: unknown;
  let notified = 0;
  const look = async (): Promise<void> => {
    for (;;) {
      const now = player.heard.filter(({ method, params }) => method === "notifications/resources/updated" && params["uri"] === uri).length;
      if (now === notified) return;
      notified = now;
      seen = JSON.parse(await player.read(uri));
    }
  };
  let looking: Promise<void> | undefined;
  return () => {
    looking ??= look().finally(() => (looking = undefined));
    return seen;
  };
};

const MODERN: Which = { sdk: "v2", era: "modern" };
const V1: Which = { sdk: "v1", era: "legacy" };

const bearer = (owner: string): Record<string, string> => ({ authorization: `Bearer the-key-of-${owner}-0000` });

const callerOf = (index: number, headers: Record<string, string>): PurseCaller =>
  [modernCaller, legacyCaller, (how: Record<string, string>) => officialCaller(index < 3 ? V1 : MODERN, how)][index % 3]?.(headers) ??
  modernCaller(headers);

const untilAnswered = async (caller: PurseCaller, urls: readonly string[], from: number, act: Act, kills: PlannedKills) => {
  for (let tries = 0; ; tries += 1)
    try {
      return await caller.call(urls[(from + tries) % urls.length] ?? "", act);
    } catch (error) {
      kills.retried += 1;
      if (tries > MOST_TRIES) throw error;
    }
};

const play = async (index: number, urls: readonly string[], random: Seeded, books: PurseBooks, kills: PlannedKills): Promise<void> => {
  const me = OWNERS[index] ?? "";
  await using caller = callerOf(index, bearer(me));
  for (let n = 0; !kills.over; n += 1) {
    const act = nextAct(random, `${me}/${n}`, me, OWNERS);
    const { refused, text, receipt } = await untilAnswered(caller, urls, index + n, act, kills);
    books.acknowledge({ act, refused, reply: refused ? null : Number(text), ...(receipt === undefined ? {} : { receipt }) });
    kills.acknowledged();
  }
};

test("C2 C4 C5 a node and then the leading server are killed under load: every acknowledged call once, and listeners see the chain's state #cluster.killed", async (t) => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk));
  using files = folder();
  const keys = join(files.path, "keys.json");
  writeFileSync(
    keys,
    JSON.stringify(
      Object.fromEntries(OWNERS.map((owner) => [owner, createHash("sha256").update(`the-key-of-${owner}-0000`).digest("hex")])),
    ),
  );
  await using servers = await RestateCluster.start(executable);
  await using place = await ClusterPlace.open(servers, {
    modules: [join(import.meta.dirname, "purses.fixture.ts")],
    nodes: 2,
    more: ["--receipts", "--rate", "0", "--api-keys", keys],
  });
  const [first, second] = place.nodes;
  assert.ok(first !== undefined && second !== undefined);

  // Another node, which runs no turns: what it hears of is what the others say.
  const secret = Buffer.from(place.secret, "hex");
  await using engine = await RestateEngine.start({ ...place.engine, sdk, kinds: purses, secret });
  await using peers = await joinCluster({ secret, url: engine.url, members: engine.members() });
  engine.join(peers, (request, response) => peers.handle(request, response));
  const watched = new Map<ActorId, string>();
  engine.watch("purse/*", ({ id, head }) => void watched.set(id, head ?? ""));
  engine.watch("tally/main", ({ id, head }) => void watched.set(id, head ?? ""));

  const books = new PurseBooks(OWNERS);
  const killNode = async (): Promise<void> => {
    await first.kill();
    await first.restart();
  };
  const killLeader = async (): Promise<void> => servers.kill(await servers.leader());
  const kills = new PlannedKills(killNode, killLeader);
  await using ann = await connect({ http: second.http }, V1, { headers: bearer("ann") });
  await using ben = await connect({ http: second.http }, MODERN, { headers: bearer("ben") });
  for (const [index, owner] of OWNERS.entries()) {
    const act: Act = { op: `begin ${owner}`, to: `purse/${owner}`, tool: "count", args: { op: `begin ${owner}` } };
    const { text, receipt } = await untilAnswered(modernCaller(bearer(owner)), [second.http], index, act, kills);
    books.acknowledge({ act, refused: false, reply: Number(text), ...(receipt === undefined ? {} : { receipt }) });
  }
  await ann.subscribe("purse://state");
  await ann.subscribe("tally://sum");
  await ben.listen({ resourceSubscriptions: ["purse://state", "tally://sum"] });
  const seen: readonly (readonly [ActorId, () => unknown])[] = [
    ["purse/ann", lastSeen(ann, "purse://state")],
    ["tally/main", lastSeen(ann, "tally://sum")],
    ["purse/ben", lastSeen(ben, "purse://state")],
    ["tally/main", lastSeen(ben, "tally://sum")],
  ];

  const random = seeded(freshSeed());
  try {
    await withSeed(random.seed, async () => {
      await Promise.all(OWNERS.map((_, index) => play(index, [first.http, second.http], random, books, kills)));
      await kills.settled();
      assert.ok(kills.retried > 0, "calls were cut off and made again");
      await books.check(engine);
      const states = new Map<ActorId, Json | undefined>();
      for (const id of books.actors) {
        const now = await engine.read(id);
        states.set(id, now?.state);
        await until(`whoever watches ${id} has heard of its head`, () => watched.get(id) === now?.head);
      }
      for (const [id, last] of seen) {
        const wanted = JSON.stringify(states.get(id));
        await until(`a listener has seen the state of ${id}: ${wanted}`, () => JSON.stringify(last()) === wanted);
      }
    });
  } catch (error) {
    for (const line of place.log) t.diagnostic(line);
    throw error;
  }
  t.diagnostic(`seed ${random.seed}: ${books.size} calls acknowledged, ${kills.retried} made again`);
});
