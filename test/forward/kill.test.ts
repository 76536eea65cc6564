// A server is killed while calls go through random graphs of its actors. The clients repeat, under its key, each call that was not answered.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { stateFrom } from "../../src/core/chain/index.ts";
import type { ActorId, Json } from "../../src/core/contract/index.ts";
import { checkFile, sqliteStore } from "../../src/core/store/index.ts";
import { callTool, lightClient, type CallOutcome } from "../torture/light-client.ts";
import { RestartableServer } from "../torture/restartable-server.ts";
import { freshSeed, seeded, withSeed } from "../torture/seed.ts";
import { type Call, calls$, countsIn, expectedOf, IDS } from "./model.fixture.ts";

const KILLS = 3;
const CLIENTS = ["legacy", "modern", "legacy", "modern"] as const;
const KEY = "key-of-ann";
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test(`killed ${KILLS} times, a server gives each forwarded call its one reply, and nothing is left waiting #actors.forward #actors.request #actors.settled`, async (t) => {
  const random = seeded(freshSeed());
  const path = mkdtempSync(join(tmpdir(), "troupe-forward-"));
  writeFileSync(join(path, "keys.json"), JSON.stringify({ ann: createHash("sha256").update(KEY).digest("hex") }));
  const args = ["test/forward/served.fixture.ts", "--rate", "0", "--api-keys", join(path, "keys.json")];
  await using server = new RestartableServer(args, { data: join(path, "data") });
  await withSeed(random.seed, async () => {
    const made = fc.sample(calls$, { numRuns: 4_000, seed: random.seed });
    const all: Call[] = [];
    const state = { answered: 0, over: false };

    const play = async (era: "legacy" | "modern"): Promise<void> => {
      const client = lightClient(era, KEY);
      while (!state.over) {
        const next = made[all.length];
        assert.ok(next !== undefined, "there are enough calls");
        const call: Call = { ...next, call: `c${all.length}` };
        all.push(call);
        const given: CallOutcome = await answered(async () =>
          callTool(client, await server.url, "call", { ...call, steps: [...call.steps] }, { id: call.call, trace: TRACE }),
        );
        assert.ok("text" in given, JSON.stringify(given));
        state.answered += 1;
        const { reply } = expectedOf(call);
        assert.deepEqual([given.refused, given.refused || given.text], [Number.isNaN(Number(reply)), Number.isNaN(Number(reply)) || reply]);
      }
    };
    await server.start();
    const playing = Promise.all(CLIENTS.map(play));
    for (let kills = 0; kills < KILLS; kills += 1) {
      // During calls, however slow the machine is.
      for (const enough = state.answered + 3 + random.under(20); state.answered < enough;) await Promise.race([sleep(5), playing]);
      await server.kill();
      await server.start();
    }
    state.over = true;
    await playing;
    {
      await using reader = sqliteStore({ directory: server.data, readOnly: true });
      while ((await reader.undelivered(1)).length > 0) await sleep(20);
    }
    assert.equal(await server.stop(), 0);
    await using store = sqliteStore({ directory: server.data, readOnly: true });
    const states = new Map<ActorId, Json | undefined>();
    for (const id of [...IDS, "caller/ann" as const]) {
      const stored = await store.load(id);
      assert.deepEqual(stored?.row.pending ?? {}, {}, `${id} waits for nothing`);
      states.set(id, stored === undefined ? undefined : stateFrom(stored.tail).state);
    }
    const counts = countsIn(states);
    for (const call of all) assert.deepEqual(counts.get(call.call) ?? new Map(), expectedOf(call).counts, JSON.stringify(call));
    assert.deepEqual(checkFile({ directory: server.data }), []);
    t.diagnostic(`seed ${random.seed}: ${server.kills} kills, ${all.length} calls`);
    assert.ok(all.length > KILLS, "something happened");
  });
  rmSync(path, { recursive: true, force: true });
});

/** Repeats a call until it is answered: the connection breaks with its server. */
async function answered(ask: () => Promise<CallOutcome>): Promise<CallOutcome> {
  for (let tries = 0; tries < 500; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await sleep(5);
    }
  }
  throw new Error("The call was never answered.");
}
