// What guests are made of and were left as: when it is collected beside calls, when its file is damaged, and when few instances are kept.
import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { array, assert as holds, asyncProperty, constantFrom, integer, nat, record } from "fast-check";
import { type ActorId, type Clock, systemClock } from "../../src/core/contract/index.ts";
import { verifyTheater } from "../../src/bridges/theater/chain/link.ts";
import { guestStateOf } from "../../src/bridges/theater/engine/stage-actors.ts";
import { until } from "../../src/testing/index.ts";
import type { GuestState } from "../../src/bridges/wasm/index.ts";
import { bytes, grounds, type Grounds, never, text } from "./grounds.ts";
import { labelled, refusal } from "./mischief.ts";

const temporary = (): ReturnType<typeof mkdtempDisposableSync> => mkdtempDisposableSync(join(tmpdir(), "troupe-contents-"));

async function guestOf(on: Grounds, id: ActorId): Promise<GuestState> {
  const snapshot = await on.engine.read(id);
  return (snapshot === undefined ? undefined : guestStateOf(snapshot)) ?? assert.fail(id);
}

/** Moved on by hand: what was put an hour ago is kept for its name alone. */
class Later implements Clock {
  readonly after = systemClock.after.bind(systemClock);
  ahead = 0;

  now(): number {
    return systemClock.now() + this.ahead;
  }
}

interface Step {
  readonly does: "start" | "stop" | "spawn" | "set";
  readonly who: number;
  readonly to: number;
}

const step = record<Step>({
  does: constantFrom("start", "stop", "spawn", "set", "set", "set", "set"),
  who: nat(3),
  to: nat(3),
});

async function takes(on: Grounds, { does, who, to }: Step): Promise<void> {
  const name = `g${who}`;
  // That there is none, or one already, is no matter here.
  if (does === "start") await refusal(() => on.start("asker", name, "set 0"), name);
  else if (does === "stop") await refusal(() => on.stage.stop(name), name);
  else if (does === "spawn") await refusal(() => on.stage.request(name, bytes("supervisor.spawn store:child"), never), name);
  // States of some guests are those of others, and come back.
  else await refusal(() => on.stage.request(name, bytes(`set state ${to}`), never), name);
}

/** Collects again and again. */
class Collecting {
  #over = false;
  #dropped = 0;
  readonly #running: Promise<void>;

  constructor(on: Grounds) {
    this.#running = this.#run(on);
  }

  async #run(on: Grounds): Promise<void> {
    // Once more after the end.
    for (let last = false; !last;) {
      last = this.#over;
      this.#dropped += (await on.contents.collect(on.guests.live())).dropped;
    }
  }

  /** How many contents were dropped. */
  async end(): Promise<number> {
    this.#over = true;
    await this.#running;
    return this.#dropped;
  }
}

/** Gives how many guests there are. */
async function allThere(on: Grounds): Promise<number> {
  const live = await on.engine.list({ kind: "guest", live: true, limit: 1_000 });
  for (const { id } of live) {
    const { manifest, component, state } = await guestOf(on, id);
    for (const digest of [manifest, component, state]) assert.ok(digest === null || (await on.contents.has(digest)), `${id} ${digest}`);
    const kept = text(await on.stage.state(id));
    assert.equal(text(await on.stage.request(id, bytes("get"), never)), `ok ${kept ?? "none"}`);
  }
  return live.length;
}

test("contents that are collected at any time beside calls are never those of a live guest, also to the next process", async () => {
  let [seen, dropped] = [0, 0];
  const steps = array(step, { minLength: 20, maxLength: 60 });
  const property = asyncProperty(steps, integer({ min: 1, max: 6 }), async (all, together) => {
    using folder = temporary();
    const clock = new Later();
    {
      await using on = await grounds({ data: folder.path, clock });
      await labelled(on, "child", "asker");
      await labelled(on, "unborn", "echo");
      for (const who of [0, 1]) await takes(on, { does: "start", who, to: 0 });
      const collecting = new Collecting(on);
      for (let at = 0; at < all.length; at += together) {
        await Promise.all(all.slice(at, at + together).map((one) => takes(on, one)));
        clock.ahead += 2 * 3_600_000;
      }
      dropped += await collecting.end();
      seen += await allThere(on);
      await on.start("asker", "last");
      assert.match(text(await on.stage.request("last", bytes("supervisor.spawn store:unborn"), never)) ?? "", /^ok /u);
      await on.stage.stop("last");
    }
    await using again = await grounds({ data: folder.path });
    await again.contents.collect(again.guests.live());
    seen += await allThere(again);
  });
  await holds(property, { numRuns: 6, seed: 7, endOnFailure: true });
  assert.ok(seen > 20 && dropped > 20, `${seen}, ${dropped}`);
});

/** One bit of a content is another in the file; gives how to mend it. */
function rots(folder: string, digest: string): () => void {
  const write = (piece: Uint8Array): void => {
    using database = new DatabaseSync(join(folder, "content.db"));
    database.prepare("UPDATE piece SET bytes = ? WHERE digest = ?").run(piece, digest);
  };
  using database = new DatabaseSync(join(folder, "content.db"));
  const whole = database.prepare("SELECT bytes FROM piece WHERE digest = ?").get(digest)?.["bytes"];
  assert.ok(whole instanceof Uint8Array);
  const changed = whole.slice();
  changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1;
  write(changed);
  return () => write(whole);
}

test("a content that is damaged in its file is told as that, others go on, and so does its guest once it is mended", async () => {
  using folder = temporary();
  {
    await using on = await grounds({ data: folder.path });
    await on.start("echo", "ann", "ann's state");
    await on.start("counter", "bob");
  }
  for (const what of ["state", "component"] as const) {
    let mend: () => void;
    {
      await using on = await grounds({ data: folder.path });
      const digest = (await guestOf(on, "guest/ann"))[what];
      mend = rots(folder.path, digest ?? "");
      const { seq } = (await on.engine.read("guest/ann")) ?? assert.fail();
      for (const call of [
        () => on.stage.request("ann", bytes("?"), never),
        () => on.stage.open("ann", bytes("?"), { message: () => undefined, closed: () => undefined }),
        ...(what === "state" ? [() => on.stage.state("ann")] : []),
      ]) {
        const error = await refusal(call, what);
        assert.deepEqual([error?.code, error?.message.includes(`${digest} is not what was put`)], ["StoreError", true], what);
      }
      assert.equal((await on.engine.read("guest/ann"))?.seq, seq);
      assert.equal(text(await on.stage.request("bob", bytes(""), never)), "0");
      assert.equal(await on.flaw("guest/ann"), undefined);
    }
    mend();
    await using on = await grounds({ data: folder.path });
    assert.equal(text(await on.stage.state("ann")), "ann's state");
    assert.equal(text(await on.stage.request("ann", bytes("?"), never)), "?");
  }
});

test("where two instances are kept, twenty guests answer as if all were", async () => {
  await using on = await grounds({ sandbox: { workers: 1, instances: 2 } });
  const names = Array.from({ length: 20 }, (_, n) => `c${n}`);
  for (const name of names) await on.start("counter", name);
  const counts = new Map<string, number>();
  const property = asyncProperty(array(record({ who: nat(19), add: integer({ min: -9, max: 9 }) })), async (calls) => {
    const sent = calls.map(async ({ who, add }) => {
      const name = names[who] ?? "";
      await on.stage.send(name, bytes(`${add}`));
      counts.set(name, (counts.get(name) ?? 0) + add);
    });
    await Promise.all(sent);
    for (const [name, count] of counts)
      await until(`${name} has counted ${count}`, async () => text(await on.stage.request(name, bytes(""), never)) === `${count}`);
    assert.ok(on.sandbox.measures.instances <= 2);
  });
  await holds(property, { numRuns: 40, seed: 3, endOnFailure: true });
  for (const name of names) assert.deepEqual((await on.guests.reexecute(`guest/${name}`)).mismatches, []);
});

test("Theater's chain and the ids of events are the same at each reading, and after a restart", async () => {
  using folder = temporary();
  const read = async ({ stage }: Grounds): Promise<readonly [readonly string[], readonly string[]]> => {
    const chain = await stage.chain("asker");
    assert.deepEqual(verifyTheater(chain), { ok: true, events: chain.length });
    const hashes = chain.map(({ hash }) => Buffer.from(hash).toString("hex"));
    const events = await stage.events("asker", { limit: 1_000 });
    for (const { id } of events) assert.equal((await stage.event(id))?.id, id);
    return [hashes, events.map(({ id }) => id)];
  };
  let before: Awaited<ReturnType<typeof read>> = [[], []];
  for (let life = 1; life <= 3; life += 1) {
    await using on = await grounds({ data: folder.path });
    if (life === 1) await on.start("asker", "asker");
    else assert.deepEqual(await read(on), before);
    await on.stage.request("asker", bytes(`set state ${life}\n&&\nrandom.random-bytes 8\n&&\nstore.new`), never);
    await refusal(() => on.stage.request("asker", bytes("trap"), never), "trap");
    await on.stage.restart("asker");
    const [hashes, ids] = await read(on);
    assert.deepEqual(await read(on), [hashes, ids]);
    assert.deepEqual([hashes.slice(0, before[0].length), ids.slice(0, before[1].length)], before);
    assert.ok(ids.length >= before[1].length + 3);
    before = [hashes, ids];
  }
});
