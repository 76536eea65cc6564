// What guests are made of and were left as: when it is collected beside calls, when its file is damaged, and when few instances are kept.
import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { type ActorId, type Clock, systemClock } from "../../src/contract/index.ts";
import { guestIn } from "../../src/theater/engine/sight.ts";
import type { GuestState } from "../../src/wasm/index.ts";
import { bytes, grounds, type Grounds, never, text } from "./grounds.ts";
import { labelled, refusal } from "./mischief.ts";

const temporary = (): ReturnType<typeof mkdtempDisposableSync> => mkdtempDisposableSync(join(tmpdir(), "troupe-contents-"));

async function guestOf(on: Grounds, id: ActorId): Promise<GuestState> {
  const snapshot = await on.engine.read(id);
  return (snapshot === undefined ? undefined : guestIn(snapshot)) ?? assert.fail(id);
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

const step = fc.record<Step>({
  does: fc.constantFrom("start", "stop", "spawn", "set", "set", "set", "set"),
  who: fc.nat(3),
  to: fc.nat(3),
});

async function takes({ stage, start }: Grounds, { does, who, to }: Step): Promise<void> {
  const name = `g${who}`;
  // That there is none, or one already, is no matter here.
  if (does === "start") await refusal(() => start("asker", name, "set 0"), name);
  else if (does === "stop") await refusal(() => stage.stop(name), name);
  else if (does === "spawn") await refusal(() => stage.request(name, bytes("supervisor.spawn store:child"), never), name);
  // States of some guests are those of others, and come back.
  else await refusal(() => stage.request(name, bytes(`set state ${to}`), never), name);
}

/** Collects until it is told to end. */
function collecting(on: Grounds): () => Promise<number> {
  let [over, dropped] = [false, 0];
  const all = async (): Promise<void> => {
    while (!over) ({ dropped } = await more());
  };
  const more = async (): Promise<{ readonly dropped: number }> => {
    const collected = await on.contents.collect(on.guests.live());
    return { dropped: dropped + collected.dropped };
  };
  const running = all();
  return async () => {
    over = true;
    await running;
    ({ dropped } = await more());
    return dropped;
  };
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
  const steps = fc.array(step, { minLength: 20, maxLength: 60 });
  const property = fc.asyncProperty(steps, fc.integer({ min: 1, max: 6 }), async (all, together) => {
    using folder = temporary();
    const clock = new Later();
    {
      await using on = await grounds({ data: folder.path, clock });
      await labelled(on, "child", "asker");
      await labelled(on, "unborn", "echo");
      for (const who of [0, 1]) await takes(on, { does: "start", who, to: 0 });
      const end = collecting(on);
      for (let at = 0; at < all.length; at += together) {
        await Promise.all(all.slice(at, at + together).map((one) => takes(on, one)));
        clock.ahead += 2 * 3_600_000;
      }
      dropped += await end();
      seen += await allThere(on);
      await on.start("asker", "last");
      assert.match(text(await on.stage.request("last", bytes("supervisor.spawn store:unborn"), never)) ?? "", /^ok /u);
      await on.stage.stop("last");
    }
    await using again = await grounds({ data: folder.path });
    await again.contents.collect(again.guests.live());
    seen += await allThere(again);
  });
  await fc.assert(property, { numRuns: 6, seed: 7, endOnFailure: true });
  assert.ok(seen > 20 && dropped > 20, `${seen}, ${dropped}`);
});
