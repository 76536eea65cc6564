import assert from "node:assert/strict";
import { test } from "node:test";
import type { PeerListener } from "../../core/contract/index.ts";
import { LeftCallers } from "./left-callers.ts";

/** Two nodes that notify each other. */
function nodes(): readonly [LeftCallers, LeftCallers] {
  const listeners: PeerListener[] = [];
  const join = (own: LeftCallers, index: number): void =>
    own.join({
      on: (_, listen) => {
        listeners[index] = listen;
        return () => undefined;
      },
      tell: (_, message) => listeners.forEach((listen, at) => at !== index && void listen(message, "node")),
    });
  const [one, other] = [new LeftCallers(), new LeftCallers()];
  join(one, 0);
  join(other, 1);
  return [one, other];
}

test("a caller that leaves at one node aborts the work that another node does for it, and no other work", () => {
  const [here, there] = nodes();
  const aborted: string[] = [];
  there.work("a", () => aborted.push("a there"));
  here.work("a", () => aborted.push("a here"));
  there.work("b", () => aborted.push("b"));
  there.work("a", () => aborted.push("over"))();
  here.leave("a");
  assert.deepEqual(aborted, ["a there", "a here"]);
});

test("work that begins after its caller has left is aborted at once, and the oldest callers are forgotten", () => {
  const [here, there] = nodes();
  const aborted: string[] = [];
  for (let index = 0; index <= 10_000; index += 1) here.leave(`call ${index}`);
  for (const index of [0, 1, 10_000]) there.work(`call ${index}`, () => aborted.push(`call ${index}`));
  assert.deepEqual(aborted, ["call 1", "call 10000"]);
});
