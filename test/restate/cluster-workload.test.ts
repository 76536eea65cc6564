// The same concurrent work on both engines: what holds of one holds of the other.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine, Receipt } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { isRestateSdk, RestateEngine } from "../../src/hosts/restate/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { until } from "../../src/testing/index.ts";
import { freshSeed, seeded, withSeed } from "../torture/seed.ts";
import { install } from "./install.ts";
import { nextAct } from "./purse-acts.ts";
import { PurseBooks } from "./purse-books.ts";
import { purse, tally } from "./purses.fixture.ts";
import { RestateServer } from "./restate-server.ts";

const OWNERS = ["ann", "ben", "cid", "dee", "eve"];
const CALLERS = 10;
const CALLS_EACH = 30;

/** Everybody pays everybody at once, from two callers each. */
const work = async (engine: Engine, seed: number): Promise<void> => {
  const random = seeded(seed);
  await withSeed(random.seed, async () => {
    const books = new PurseBooks(OWNERS);
    await Promise.all(
      OWNERS.map(async (me) => {
        const args = { op: `begin ${me}` };
        const reply = await engine.call({ to: `purse/${me}`, action: "tools/count", args, start: null });
        assert.ok("ok" in reply);
        books.acknowledge({ act: { op: args.op, to: `purse/${me}`, tool: "count", args }, refused: false, reply: reply.ok });
      }),
    );
    await Promise.all(
      Array.from({ length: CALLERS }, async (_, caller) => {
        const me = OWNERS[caller % OWNERS.length] ?? "";
        for (let n = 0; n < CALLS_EACH; n += 1) {
          const act = nextAct(random, `${caller}/${n}`, me, OWNERS);
          let receipt: Receipt | undefined;
          const reply = await engine.call(
            { to: act.to, action: `tools/${act.tool}`, args: act.args, start: null, viewer: { principal: me, scopes: [] } },
            { key: act.op, onReceipt: (one) => (receipt = one) },
          );
          const told = "ok" in reply ? reply.ok : null;
          books.acknowledge({ act, refused: !("ok" in reply), reply: told, ...(receipt === undefined ? {} : { receipt }) });
        }
      }),
    );
    assert.equal(books.size, CALLERS * CALLS_EACH + OWNERS.length);
    await books.check(engine);
  });
};

test("C1 C4 C5 concurrent work in one process: each call once, per-pair order, nothing appears or is lost #cluster.concurrent", async () => {
  await using store = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [purse("disk"), tally("disk")], store });
  await work(engine, freshSeed());
});

test("C1 C4 C5 concurrent work on a Restate server: each call once, per-pair order, nothing appears or is lost #cluster.concurrent", async () => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk));
  await using server = await RestateServer.start(executable);
  const { ingress, admin } = server;
  await using engine = await RestateEngine.start({
    ingress,
    admin,
    sdk,
    kinds: [purse("distributed"), tally("distributed")],
    secret: Buffer.alloc(32, 1),
  });
  await server.register(engine.url);
  await until("the server knows the kinds", async () => (await engine.unregistered()).length === 0);
  await work(engine, freshSeed());
});
