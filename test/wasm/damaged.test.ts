// Components that were cut off or changed: refused with what is wrong, or guests like any other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as holds, asyncProperty, constantFrom, nat, record } from "fast-check";
import { ALL, bytes, componentOf, grounds, type Grounds, never } from "./grounds.ts";
import { refusal } from "./mischief.ts";

/** Starts it, asks it, and stops it. True: it was a guest. */
async function plays(on: Grounds, component: Uint8Array, about: string): Promise<boolean> {
  const error = await refusal(() => on.stage.start({ manifest: ALL, component, name: about }), about);
  if (error !== undefined) {
    assert.ok(error.code === "InvalidRequest" || error.code === "ActorInitializationError", `${about}: ${error.code} ${error.message}`);
    return false;
  }
  const refused = await refusal(() => on.stage.request(about, bytes("?"), AbortSignal.timeout(1_000)), about);
  if (refused !== undefined) assert.match(refused.code, /^(?:ActorError|Timeout)$/u, about);
  await on.stage.stop(about);
  return true;
}

test("a component that ends anywhere but at its end is refused before anything begins", async () => {
  await using on = await grounds();
  const whole = componentOf("hostile");
  for (let end = 0; end < whole.length; end += 1) {
    const error = await refusal(() => on.stage.start({ manifest: ALL, component: whole.subarray(0, end) }), `cut at ${end}`);
    // Before a custom section: what says nothing to those that run it is all that is missing.
    if (error === undefined) assert.equal(whole[end], 0, `cut at ${end}`);
    else assert.equal(error.code, "InvalidRequest", `cut at ${end}: ${error.message}`);
  }
  assert.ok(await plays(on, whole, "whole"));
});

test("a component with changed bytes is refused, or a guest that answers or traps, and nobody else is hurt", async () => {
  await using on = await grounds();
  await on.start("echo", "echo");
  const wholes = ["hostile", "asker", "echo"].map((name) => new Uint8Array(componentOf(name)));
  let [count, played] = [0, 0];
  const change = record({ at: nat(), to: nat(255) });
  await holds(
    asyncProperty(constantFrom(...wholes), array(change, { minLength: 1, maxLength: 3 }), async (whole, changes) => {
      const changed = whole.slice();
      for (const { at, to } of changes) changed[at % changed.length] = to;
      if (await plays(on, changed, `changed ${(count += 1)}`)) played += 1;
      assert.deepEqual(await on.stage.request("echo", bytes(`${count}`), never), bytes(`${count}`));
    }),
    { numRuns: 300, seed: 20_260_101, endOnFailure: true },
  );
  assert.ok(played > 10, `${played}`);
});
