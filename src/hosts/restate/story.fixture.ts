import assert from "node:assert/strict";
import type { Behaviour, Json } from "../../core/contract/index.ts";
import { PLACES, type Cut, type Faults } from "./journal.fixture.ts";
import { errorFrom, type Outcome } from "./outcome.ts";
import { World, type WorldOptions } from "./world.fixture.ts";

/** Actions on a world, and the replies to them. */
export interface Story {
  readonly kinds: readonly Behaviour[];
  readonly options?: Partial<WorldOptions>;
  readonly play: (world: World) => Promise<unknown>;
}

/** What a caller of a `LocalEngine` would have got. */
export function replyOf(outcome: Outcome): Json {
  if ("fault" in outcome) {
    const { code, message } = errorFrom(outcome.fault);
    return { fault: code, message };
  }
  return outcome.reply === undefined ? { later: outcome.later ?? null } : { ...outcome.reply };
}

export async function played({ kinds, options, play }: Story, faults?: WorldOptions["faults"]): Promise<{ world: World; left: unknown }> {
  const world = new World({ kinds, ...options, ...(faults === undefined ? {} : { faults }) });
  const replies = await play(world);
  const left = {
    replies,
    storedKeys: world.storedKeys(),
    timers: world.timers,
    delivered: world.delivered,
    // Calls that work repeated in another run were answered again, and left nothing.
    invoked: world.invoked.flatMap(({ handler, outcome, effects }) => (effects.length === 0 ? [] : [{ handler, outcome, effects }])),
  };
  return { world, left };
}

/** Law 4: every invocation of an actor is cut at each of its steps, in each way, and then at all of them one after the other. */
export async function cutEverywhere(story: Story): Promise<World> {
  const whole = await played(story);
  const most = Math.max(...whole.world.invoked.map(({ steps }) => steps));
  let cuts = 0;
  const check = async (faults: Faults, what: string): Promise<void> => {
    const cut = await played(story, () => faults);
    cuts += cut.world.invoked.reduce((sum, { attempts }) => sum + attempts - 1, 0);
    assert.deepEqual(cut.left, whole.left, `cut ${what}`);
  };
  for (const place of PLACES) {
    const steps = Array.from({ length: most }, (_, step): Cut => ({ step, place }));
    for (const one of steps) await check({ cuts: [one] }, `${place} step ${one.step}`);
    await check({ cuts: steps }, `${place} every step`);
  }
  assert.ok(cuts > 2 * most, "it was cut");
  return whole.world;
}

/** One invocation of an actor is cancelled at each of its waits, both before and after what it waits for has started. */
export async function cancelledEverywhere(
  story: Story,
  which: (invocation: World["invoked"][number], nth: number, of: World["invoked"]) => boolean,
  check: (left: { readonly cut: World; readonly whole: World; readonly outcome: unknown; readonly effects: readonly string[] }) => unknown,
): Promise<void> {
  const { world: whole } = await played(story);
  const chosen = whole.invoked.filter(which);
  assert.ok(chosen.length > 0);
  for (const { nth, handler, waits } of chosen) {
    assert.ok(waits > 0);
    for (let wait = 0; wait < waits; wait += 1)
      for (const begun of [false, true]) {
        const { world: cut } = await played(story, (name, index) => (index === nth ? { cancelled: { wait, begun } } : {}));
        const met = cut.invoked.find((invocation) => invocation.nth === nth);
        assert.equal(met?.handler, handler);
        assert.ok(met.cancelled, "it was cancelled");
        await check({ cut, whole, outcome: met.outcome, effects: met.effects });
      }
  }
}
