/**
 * C2, C4 and C5 under crashes: the process ends before or after any operation of the store, inside a
 * transaction, or with half of a commit in the log, while the MUD is played.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadWorld, mud, worlds } from "../../examples/mud/index.ts";
import { EngineError, type Reply, type Source, type Viewer } from "../../src/core/contract/index.ts";
import { checkFile } from "../../src/core/store/index.ts";
import { cast } from "../../src/mcp/source/index.ts";
import { type Life as EngineLife, Machine, rounds } from "./crashing-machine.ts";
import { type Called, isActorId, Ledger } from "./ledger.ts";
import { type Act, LOOKS, randomAct } from "./random-player.ts";
import { seeded, withSeed } from "./seed.ts";
import { checkRest, misplaced } from "./world-check.ts";

const CRASHES = 1_000;
const PLAYERS = ["ann", "bob", "cyd", "dan", "ann"];
/** The places in which a crash must have happened. */
const PLACES = [
  "before load",
  "after load",
  "before commit",
  "after commit",
  "before remembered",
  "before undelivered",
  "inside a transaction",
  "power off inside a transaction",
  "half of a commit",
];

interface Life extends EngineLife {
  readonly source: Source;
}

const textOf = (reply: Reply): string => JSON.stringify(reply);

test(`C2 C4 C5 over ${CRASHES} crashes around every await of a commit, the MUD loses no call or item #store.crashes #mud.items`, async (t) => {
  const [file = ""] = worlds;
  const world = loadWorld(file);
  const random = seeded(20_260_728);
  await withSeed(random.seed, async () => {
    const kinds = mud(world);
    await using machine = new Machine(random, kinds);
    const served = (life: EngineLife): Life => {
      const { engine, clock, entropy } = life;
      return { ...life, source: cast({ engine, kinds, clock, entropy }) };
    };
    const ledger = new Ledger();
    let now = Promise.withResolvers<Life>();
    const game = { over: false };

    const ask = async (life: Life, who: Viewer, act: Act, call: Called, trace: string) => {
      const options = {
        key: call.id,
        trace: { traceparent: trace },
        onReceipt: (receipt: NonNullable<Called["receipt"]>) => (call.receipt = receipt),
      };
      const answer = life.source.act(who, `tools/${act.tool}`, act.args, options).catch((error: unknown) => error);
      return Promise.race([answer, life.faulty.whenCrashed.then(() => undefined)]);
    };
    const offeredTo = async (life: Life, who: Viewer): Promise<(tool: string) => readonly string[]> => {
      const surface = await Promise.race([Promise.resolve(life.source.surface(who)).catch(() => undefined), life.faulty.whenCrashed]);
      return (tool) => (surface === undefined ? [] : (surface.choices?.[`tools/${tool}`]?.["item"] ?? []));
    };
    const play = async (name: string): Promise<void> => {
      const who: Viewer = { principal: name, scopes: [] };
      let before: { readonly call: Called; readonly trace: string; readonly act: Act } | undefined;
      while (!game.over) {
        const offered = await offeredTo(await now.promise, who);
        const act = randomAct(random, world, PLAYERS, offered);
        // C4: now and then the last call is repeated, as by a client that lost its answer.
        const again = before !== undefined && random.under(8) === 0 ? before : undefined;
        const { call, trace } = again ?? ledger.open(`${name} ${act.tool} ${JSON.stringify(act.args)}`, LOOKS.has(act.tool));
        for (let errors = 0; ;) {
          const life = await now.promise;
          const reply = await ask(life, who, again?.act ?? act, call, trace);
          if (life.faulty.crashed) {
            await rounds();
            if (game.over) return;
            continue;
          }
          if (isReply(reply)) {
            const text = textOf(reply);
            if (again !== undefined && call.outcome === "ok" && !call.looks)
              assert.equal(text, call.text, `${call.id} ${call.what} gets its first reply again`);
            call.outcome = "ok" in reply ? "ok" : "refused";
            call.text = text;
            before = { call, trace, act: again?.act ?? act };
            break;
          }
          assert.ok(reply instanceof EngineError, String(reply));
          // Attempts in crashed processes are not counted: their number depends on how fast the disk recovers.
          errors += 1;
          assert.ok(errors < 500, `${call.id} ${call.what}: ${reply.code} ${reply.message}`);
        }
      }
    };

    const playing = Promise.all(PLAYERS.map((name) => play(name)));
    for (let life = 0; machine.crashes < CRASHES; life += 1) {
      const { life: begun, dead } = await machine.begin(life);
      if (begun !== undefined) now.resolve(served(begun));
      await Promise.race([dead, playing.then(() => dead)]);
      if (begun !== undefined) now = Promise.withResolvers<Life>();
      for (const { actor, seq, head } of ledger.receipts.slice(-8)) {
        const [event] = isActorId(actor) ? await machine.disk.events(actor, seq - 1, 1) : [];
        assert.equal(event?.id, head, `after crash ${machine.crashes}: ${actor} ${seq} was acknowledged`);
      }
      assert.deepEqual(await misplaced(machine.disk, world), [], `after crash ${machine.crashes}`);
    }
    game.over = true;
    machine.tame();
    const { life: last } = await machine.begin(CRASHES * 2);
    assert.ok(last !== undefined);
    now.resolve(served(last));
    await playing;
    while ((await machine.disk.undelivered(1)).length > 0) await rounds();
    await rounds();
    await machine.remount();
    await checkRest(machine.disk, world);
    const chains = await ledger.check(machine.disk);
    assert.deepEqual(checkFile({ directory: machine.directory }), []);
    const events = [...chains.values()].reduce((sum, chain) => sum + chain.length, 0);
    t.diagnostic(
      `seed ${random.seed}: ${machine.crashes} crashes, ${ledger.size} calls (${ledger.count("ok")} acknowledged, ${ledger.count("refused")} refused), ${events} events`,
    );
    for (const place of PLACES) assert.ok(machine.places.has(place), `no crash ${place}`);
    t.diagnostic([...machine.places].map(([place, count]) => `${place}: ${count}`).join(", "));
  });
});

const isReply = (value: unknown): value is Reply =>
  typeof value === "object" && value !== null && ("ok" in value || "refused" in value || "needs" in value);
