/**
 * SIGKILL at random times under eight clients that go on with their sessions and repeat each call that
 * was not answered, under its id. The result is checked against the data directory alone.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { loadWorld, worlds } from "../../examples/mud/index.ts";
import { stateFrom } from "../../src/core/chain/index.ts";
import type { Store } from "../../src/core/contract/index.ts";
import { checkFile, sqliteStore } from "../../src/core/store/index.ts";
import { troupe } from "../cli/run.ts";
import { at } from "../wire.ts";
import { type Called, Ledger } from "./ledger.ts";
import { callTool, lightClient, type LightClient, offeredNow, type CallOutcome } from "./light-client.ts";
import { RestartableServer } from "./restartable-server.ts";
import { type Act, LOOKS, randomAct } from "./random-player.ts";
import { freshSeed, seeded, type Seeded, withSeed } from "./seed.ts";
import { checkRest } from "./world-check.ts";

const CLIENTS = 8;
const KILLS = { mud: 24, counter: 12 };

/** Eight clients of seven principals: the last one has the same principal as the first. */
const people = Array.from({ length: CLIENTS }, (_, index) => `p${index % (CLIENTS - 1)}`);
const keyOf = (person: string): string => `key-of-${person}`;

interface Playing {
  readonly server: RestartableServer;
  readonly ledger: Ledger;
  readonly random: Seeded;
  /** The client's next call. */
  readonly next: (client: LightClient, url: string) => Promise<Act>;
  readonly over: () => boolean;
}

/** Undefined if no answer arrived. */
const answered = async <T>(ask: Promise<T>): Promise<T | undefined> => {
  try {
    return await ask;
  } catch (error) {
    // fetch throws TypeError if the connection broke; anything else is a fault of the test.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
};

const retryUntilAnswered = async (
  playing: Playing,
  run: (url: string) => Promise<CallOutcome>,
  call: Called,
): Promise<Extract<CallOutcome, { text: string }>> => {
  for (let tries = 0; tries < 200; tries += 1) {
    const reply = await answered(run(await playing.server.url));
    if (reply === undefined) {
      // The process has ended or is ending; the next one has another address.
      await sleep(5);
      continue;
    }
    assert.ok("text" in reply, `${call.id} ${call.what}: ${JSON.stringify(reply)}`);
    return reply;
  }
  throw new Error(`${call.id} ${call.what} was never answered`);
};

const play = async (index: number, playing: Playing): Promise<void> => {
  const { ledger, random } = playing;
  const client = lightClient(index % 2 === 0 ? "legacy" : "modern", keyOf(people[index] ?? ""));
  let last: { readonly act: Act; readonly call: Called; readonly trace: string } | undefined;
  while (!playing.over()) {
    // C4: a client may repeat an answered call.
    if (last !== undefined && random.under(8) === 0) {
      const { act, call, trace } = last;
      const reply = await retryUntilAnswered(playing, (url) => callTool(client, url, act.tool, act.args, { id: call.id, trace }), call);
      assert.equal(reply.text, call.text, `${call.id} ${call.what} gets its first reply again`);
    }
    const act = await answered(playing.next(client, await playing.server.url));
    if (act === undefined) {
      await sleep(5);
      continue;
    }
    const { call, trace } = ledger.open(`${people[index]} ${act.tool} ${JSON.stringify(act.args)}`, LOOKS.has(act.tool));
    const reply = await retryUntilAnswered(playing, (url) => callTool(client, url, act.tool, act.args, { id: call.id, trace }), call);
    call.outcome = reply.refused ? "refused" : "ok";
    call.text = reply.text;
    if (reply.receipt !== undefined) call.receipt = reply.receipt;
    if (call.outcome === "ok" && !call.looks) last = { act, call, trace };
  }
};

/** Resolves when more calls were acknowledged than there will be kills: a slow machine gets the time it needs. */
const progress = async (server: RestartableServer, ledger: Ledger): Promise<void> => {
  while (ledger.count("ok") <= server.kills + 1)
    assert.equal(await Promise.race([sleep(10, "runs"), server.ended]), "runs", "the server ended without being killed");
};

/** Kills the server that many times while the clients play, then lets them finish. */
const torture = async (server: RestartableServer, kills: number, random: Seeded, next: Playing["next"]): Promise<Ledger> => {
  const ledger = new Ledger();
  await server.start();
  let over = false;
  const playing = Promise.all(people.map((_, index) => play(index, { server, ledger, random, next, over: () => over })));
  const killing = (async (): Promise<void> => {
    let isStarting = false;
    while (server.kills < kills) {
      // One start in four is killed too.
      if (isStarting) await sleep(random.under(600));
      else await progress(server, ledger);
      await sleep(30 + random.under(500));
      await server.kill();
      const up = server.start();
      isStarting = random.under(4) === 0;
      if (!isStarting) await up;
    }
    over = true;
  })();
  await Promise.all([playing, killing]);
  return ledger;
};

/** Waits until no message is undelivered, then stops the server, so that only the directory remains. */
const drained = async (server: RestartableServer): Promise<Store> => {
  {
    await using reader = sqliteStore({ directory: server.data, readOnly: true });
    while ((await reader.undelivered(1)).length > 0) await sleep(20);
  }
  assert.equal(await server.stop(), 0);
  // Slow turns depend on the machine.
  assert.deepEqual(
    server.log.filter((line) => !line.includes('"event":"turn-slow"')),
    [],
  );
  return sqliteStore({ directory: server.data, readOnly: true });
};

/** Runs `troupe verify` with the last receipt of every actor. */
const verifiedByCommand = async (server: RestartableServer, ledger: Ledger): Promise<void> => {
  const last = new Map(ledger.receipts.toSorted((one, other) => one.seq - other.seq).map((receipt) => [receipt.actor, receipt]));
  const receipts = [...last.values()].flatMap((receipt) => ["--receipt", JSON.stringify(receipt)]);
  const { code, stdout, stderr } = await troupe("verify", "--data", server.data, "--json", ...receipts);
  assert.equal(code, 0, stdout + stderr);
  assert.deepEqual(checkFile({ directory: server.data }), []);
};

/** A folder with the keys; the server has its own data directory. */
const startServer = (module: string) => {
  const path = mkdtempSync(join(tmpdir(), "troupe-kill-"));
  const keys = Object.fromEntries(people.map((person) => [person, createHash("sha256").update(keyOf(person)).digest("hex")]));
  writeFileSync(join(path, "keys.json"), JSON.stringify(keys));
  const args = [module, "--receipts", "--rate", "0", "--lists", "dynamic", "--api-keys", join(path, "keys.json")];
  const server = new RestartableServer(args, { data: join(path, "data") });
  return {
    server,
    async [Symbol.asyncDispose](): Promise<void> {
      await server[Symbol.asyncDispose]();
      rmSync(path, { recursive: true, force: true });
    },
  };
};

const report = (t: TestContext, random: Seeded, server: RestartableServer, ledger: Ledger): void =>
  t.diagnostic(
    `seed ${random.seed}: ${server.kills} kills, ${ledger.size} calls (${ledger.count("ok")} acknowledged, ${ledger.count("refused")} refused), ${ledger.receipts.length} receipts`,
  );

test(`C2 C4 C5 killed ${KILLS.mud} times under ${CLIENTS} clients, the MUD has each acknowledged call and each item once #store.crashes`, async (t) => {
  const random = seeded(freshSeed());
  await withSeed(random.seed, async () => {
    await using place = startServer("examples/mud");
    const { server } = place;
    const [file = ""] = worlds;
    const world = loadWorld(file);
    const names = people.map((person) => `Player ${person}`);
    let offered: (tool: string) => readonly string[] = () => [];
    const ledger = await torture(server, KILLS.mud, random, async (client, url) => {
      // The items in a room change all the time, so a slightly outdated list will do.
      if (random.under(3) === 0) offered = await offeredNow(client, url);
      if (random.under(12) === 0) return { tool: "choose_name", args: { name: random.pick(names) ?? "" } };
      return randomAct(random, world, names, offered);
    });
    await using store = await drained(server);
    await checkRest(store, world);
    await ledger.check(store);
    await verifiedByCommand(server, ledger);
    report(t, random, server, ledger);
    assert.ok(ledger.count("ok") > KILLS.mud, "something happened");
  });
});

test(`C2 C4 killed ${KILLS.counter} times under ${CLIENTS} clients, the counter is the sum of what was added #store.crashes`, async (t) => {
  const random = seeded(freshSeed());
  await withSeed(random.seed, async () => {
    await using place = startServer("examples/counter-disk");
    const { server } = place;
    const ledger = await torture(server, KILLS.counter, random, async () => ({ tool: "add", args: { by: 1 + random.under(99) } }));
    await using store = await drained(server);
    const chains = await ledger.check(store);
    let total = 0;
    const answers = new Map<string, string>();
    for (const { message, reply } of chains.get("counter/main") ?? []) {
      total += Number(at(message, "args", "by"));
      assert.deepEqual(reply, { ok: total }, "each reply is the sum after its own turn");
      answers.set(String(at(message, "trace", "traceparent")), String(total));
    }
    for (const [trace, { id, outcome, text }] of ledger.calls) if (outcome === "ok") assert.equal(text, answers.get(trace), id);
    const stored = await store.load("counter/main");
    assert.deepEqual(stateFrom(stored?.tail ?? []).state, { count: total });
    await verifiedByCommand(server, ledger);
    report(t, random, server, ledger);
    assert.ok(ledger.count("ok") > KILLS.counter, "something happened");
  });
});
