import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock, Figures } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { tallyKind } from "../../testing/index.ts";
import { LocalEngine, type LocalOptions } from "./index.ts";

test("a turn that takes 100 ms or more is reported with actor and action, and counted", async () => {
  let now = 1_000;
  const clock: Clock = { now: () => now, after: () => () => undefined };
  const takes = { add: 99, get: 100, throw: 2_000 };
  for (const persistence of ["memory", "disk"] as const) {
    const kind = tallyKind("tally", { persistence });
    const slow: unknown[] = [];
    let figures: (() => Figures) | undefined;
    const taking: typeof kind = {
      ...kind,
      receive(state, message, ...more) {
        now += message.action === "add" ? takes.add : message.action === "throw" ? takes.throw : takes.get;
        return kind.receive(state, message, ...more);
      },
    };
    const options: LocalOptions = {
      kinds: [taking],
      store: memoryStore(),
      clock,
      onSlowTurn: (turn) => slow.push(turn),
      observer: {
        shows(given) {
          figures = given;
          return () => undefined;
        },
      },
    };
    await using engine = await LocalEngine.start(options);
    const call = (action: string) => engine.call({ to: "tally/a", action, args: null, start: null });
    await call("add");
    assert.deepEqual(slow, []);
    await assert.rejects(call("throw"), { code: "CRASHED" });
    assert.deepEqual(slow, [{ actor: "tally/a", action: "throw", ms: 2_000 }]);
    await call("get").catch(() => undefined);
    assert.deepEqual(slow[1], { actor: "tally/a", action: "get", ms: 100 });
    assert.equal(figures?.().slowTurns, 2);
    // A store in memory has no log.
    assert.equal(figures?.().backlog, undefined);
  }
});
