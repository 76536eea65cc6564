// Whatever a guest does in whichever handler: the host lives, says what happened, and everybody else goes on.
import assert from "node:assert/strict";
import { mkdtempDisposableSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../../src/testing/index.ts";
import { bytes, componentOf, grounds, type Grounds, never, text } from "./grounds.ts";
import { AFTERWARDS, assertSentence, FAIL, HANDLERS, HARMLESS, NEXT, parent, refusal, type Scene } from "./mischief.ts";
import { Neighbours } from "./neighbours.ts";

const OTHERS = ["ann", "bob", "cid"];
/** Of these a caller waits for the guest, and is told. */
const TOLD: ReadonlySet<string> = new Set(["request", "channel-open", "channel-message"]);

async function begins(on: Grounds, letter: string): Promise<void> {
  const name = `init-${letter}`;
  const error = await refusal(() => on.start("hostile", name, letter), name);
  if (HARMLESS.includes(letter)) return assert.equal(error, undefined, name);
  assert.equal(error?.code, "ActorInitializationError", name);
  assert.equal((await on.stage.actor(name)).status, "STOPPED", name);
  assert.equal((await on.start("echo", name, "free")).status, "RUNNING", name);
}

/** It waits for a restart, with the state it had. */
async function pauses({ stage }: Grounds, name: string, before: string): Promise<void> {
  await until(`${name} is paused`, async () => (await stage.actor(name)).status === "PAUSED");
  assertSentence((await stage.actor(name)).halted?.why ?? "", name);
  assert.equal(text(await stage.state(name)), before, name);
  assert.equal((await refusal(() => stage.request(name, bytes("?"), never), name))?.code, "ActorError", name);
}

async function plays(on: Grounds, villain: string): Promise<void> {
  const scenes: (Scene & { readonly handler: string; readonly name: string })[] = [];
  for (const [handler, prepare] of Object.entries(HANDLERS))
    for (const letter of FAIL) {
      const name = `${handler}-${letter}`;
      scenes.push({ handler, name, ...(await prepare({ on, villain, name }, letter)) });
    }
  const inTurn = async (handler: string): Promise<void> => {
    for (const { name, before, act } of scenes.filter((scene) => scene.handler === handler)) {
      const error = await refusal(act, name);
      if (TOLD.has(handler)) assert.equal(error?.code, "ActorError", name);
      await pauses(on, name, before);
    }
  };
  await Promise.all(Object.keys(HANDLERS).map(inTurn));
}

async function playsAfterwards(on: Grounds, villain: string): Promise<void> {
  for (const letter of NEXT)
    for (const [handler, act] of Object.entries(AFTERWARDS)) {
      const name = `${handler}-after-${letter}`;
      const place = { on, villain, name };
      const child = await parent(place, "kept");
      assert.equal(text(await on.stage.request(name, bytes(letter), never)), "still here", name);
      const error = await refusal(() => act(place, child), name);
      if (TOLD.has(handler)) assert.equal(error?.code, "ActorError", name);
      await pauses(on, name, "kept");
      // Its globals went with the instance.
      await on.stage.restart(name);
      assert.equal(text(await on.stage.request(name, bytes("?"), never)), "still here", name);
    }
}

test("each mischief in each handler is told in a sentence and pauses its guest alone, and leaves nothing behind", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-hostile-"));
  {
    await using on = await grounds({ data: folder.path, limits: { callMs: 400, memoryBytes: 32 * 1_048_576 } });
    for (const name of OTHERS) await on.start("echo", name);
    await on.start("counter", "counter");
    await using neighbours = new Neighbours(on, OTHERS);
    const villain = `store:${await on.contents.put(componentOf("hostile"))}`;
    for (const letter of FAIL + HARMLESS) await begins(on, letter);
    await plays(on, villain);
    await playsAfterwards(on, villain);
    assert.equal(await neighbours.end(), undefined);

    const { asked } = neighbours;
    assert.ok(asked > 30, `${asked}`);
    await until("all is counted", async () => text(await on.stage.request("counter", bytes(""), never)) === `${asked}`);
    const { workers, instances, killed, started } = on.sandbox.measures;
    assert.ok(workers <= 2 && started <= killed + 2, JSON.stringify(on.sandbox.measures));
    assert.ok(instances <= (await on.stage.count()), JSON.stringify(on.sandbox.measures));
    for (const { id } of await on.engine.list({ limit: 10_000 })) assert.equal(await on.flaw(id), undefined, id);
    for (const name of [...OTHERS, "counter"]) {
      const { run, mismatches } = await on.guests.reexecute(`guest/${name}`);
      assert.ok(run > 10);
      assert.deepEqual(mismatches, [], name);
    }
  }
  const left = readdirSync(folder.path).filter((file) => !/^(?:content|troupe)\.db(?:\.lock)?$/u.test(file));
  assert.deepEqual(left, []);
  const running = process.getActiveResourcesInfo().filter((resource) => /MessagePort|Worker/u.test(resource));
  assert.deepEqual(running, []);
});
