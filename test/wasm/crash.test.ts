// The process that runs guests is killed under them, again and again.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../../src/testing/index.ts";
import type { Stage } from "../../src/bridges/theater/stage.ts";
import { troupe } from "../cli/run.ts";
import { root } from "../serve-child.ts";
import { bytes, clientOf, folder, started, textOf } from "../theater/process.ts";
import { ALL, grounds, never } from "./grounds.ts";

const PLACES = { counter: "examples/wasm/counter", asker: "test/wasm/guests/asker" } as const;

/** Manifests of guests, with their components, where an operator would have them. */
function manifestsIn(path: string): string {
  const directory = join(path, "manifests");
  mkdirSync(directory);
  for (const [name, place] of Object.entries(PLACES)) {
    copyFileSync(join(root, place, `${name}.wasm`), join(directory, `${name}.wasm`));
    writeFileSync(join(directory, `${name}.toml`), `component = "${name}.wasm"\n${ALL}`);
  }
  return directory;
}

/** What a guest adds at a time, so that its sends are told apart from the client's own. */
const SENT = 1_000;

/** What one client has done so far. */
interface Sender {
  readonly name: string;
  readonly counter: string;
  readonly asker: string;
  acknowledged: number;
  tried: number;
  /** The last of the asker's requests that was answered; each adds one to the counter, and keeps its number as the state. */
  told: number;
}

/** Until the server is gone. */
async function works(client: Stage, sender: Sender): Promise<void> {
  const { counter, asker } = sender;
  try {
    for (let n = sender.told + 1; ; n += 1) {
      sender.tried += 1;
      await client.send(counter, bytes("add"));
      sender.acknowledged += 1;
      await client.request(asker, bytes(`message-server-host.send ${counter} ${SENT}\n&&\nset ${n}`), never);
      sender.told = n;
    }
  } catch (error) {
    assert.match(String(error), /^StageError/u);
  }
}

const count = async (client: Stage, id: string): Promise<number> => Number(textOf(await client.request(id, bytes(""), never)));

test("C1 C5 killed under its guests, a process goes on with all that was acknowledged, and each of it once", async () => {
  using place = folder();
  const manifests = manifestsIn(place.path);
  const senders: Sender[] = [];
  for (let round = 1; round <= 2; round += 1) {
    await using server = await started("theater", "--address", "127.0.0.1:0", "--manifests", manifests, "--data", place.data);
    await using client = clientOf(server);
    const began = await Promise.all(
      Array.from({ length: 2 }, async (_, n): Promise<Sender> => {
        const [counter, asker] = [await client.start({ manifest: "counter.toml" }), await client.start({ manifest: "asker.toml" })];
        return { name: `${round}-${n}`, counter: counter.id, asker: asker.id, acknowledged: 0, tried: 0, told: 0 };
      }),
    );
    senders.push(...began);
    const working = senders.map((sender) => works(client, sender));
    const before = senders.map(({ told }) => told);
    await until("much is acknowledged", () => senders.every(({ told }, n) => told >= (before[n] ?? 0) + 10));
    server.child.kill("SIGKILL");
    await server.ended;
    // It would wait for the server to come back.
    await client[Symbol.asyncDispose]();
    await Promise.all(working);

    await using on = await grounds({ data: place.data });
    // What was under way may have been applied.
    for (const sender of senders) {
      const kept = Number(textOf(await on.stage.state(sender.asker)) ?? 0);
      assert.ok(kept === sender.told || kept === sender.told + 1, `${sender.name}: ${kept} of ${sender.told}`);
      await until("what was sent has come", async () => Math.trunc((await count(on.stage, sender.counter)) / SENT) >= kept);
      const total = await count(on.stage, sender.counter);
      assert.equal(Math.trunc(total / SENT), kept, sender.name);
      assert.ok(total % SENT >= sender.acknowledged && total % SENT <= sender.tried, `${sender.name}: ${total}, ${sender.acknowledged}`);
      sender.told = kept;
      sender.acknowledged = sender.tried = total % SENT;
    }
    for (const { id } of await on.engine.list({ kind: "guest", limit: 100 })) {
      assert.equal(await on.flaw(id), undefined, id);
      assert.deepEqual((await on.guests.reexecute(id)).mismatches, [], id);
    }
    const { dropped } = await on.contents.collect(on.guests.live());
    assert.ok(dropped > 10, `${dropped}`);
  }

  const verified = await troupe("verify", "--data", place.data);
  assert.equal(verified.code, 0, verified.stderr);
  await using on = await grounds({ data: place.data });
  for (const { counter, asker, told, acknowledged } of senders) {
    assert.equal(textOf(await on.stage.state(asker)), `${told}`);
    assert.equal(await count(on.stage, counter), told * SENT + acknowledged);
    assert.equal(textOf(await on.stage.request(asker, bytes("get"), never)), `ok ${told}`);
  }
});
