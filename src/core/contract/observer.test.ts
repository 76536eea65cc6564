import assert from "node:assert/strict";
import { test } from "node:test";
import { type Figures, type Observer, observers } from "./observer.ts";

const recording = (name: string, log: string[], trace?: string): Observer => ({
  begun({ method }) {
    log.push(`${name} ${method}`);
    return {
      ...(trace === undefined ? undefined : { trace: { traceparent: trace } }),
      during: (act) => act(),
      ended: (failure) => void log.push(`${name} ended ${failure?.kind ?? "well"}`),
    };
  },
});

/** As the console's. */
const figuresOnly = (shown: Set<() => Figures>): Observer => ({
  shows(figures) {
    shown.add(figures);
    return () => void shown.delete(figures);
  },
});

test("two observers see the same requests, and the first trace is passed on", () => {
  const log: string[] = [];
  const observation = observers(recording("a", log), undefined, recording("b", log, "00-1"))?.begun?.({ method: "ping", id: 1 });
  assert.deepEqual(observation?.trace, { traceparent: "00-1" });
  assert.equal(
    observation?.during(() => 3),
    3,
  );
  observation?.ended({ kind: "error", code: 1 });
  assert.deepEqual(log, ["a ping", "b ping", "a ended error", "b ended error"]);
});

test("one that observes figures only makes no observation for requests", () => {
  const [one, other] = [new Set<() => Figures>(), new Set<() => Figures>()];
  const both = observers(figuresOnly(one), figuresOnly(other));
  assert.equal(both?.begun?.({ method: "ping", id: 1 }), undefined);
  const hide = both?.shows?.(() => ({ sessions: 2 }));
  assert.deepEqual([one.size, other.size], [1, 1]);
  hide?.();
  assert.deepEqual([one.size, other.size], [0, 0]);
});

test("without observers there is none, and one stands for itself", () => {
  const log: string[] = [];
  const alone = recording("a", log);
  assert.equal(observers(undefined), undefined);
  assert.equal(observers(undefined, alone), alone);
  observers(alone, figuresOnly(new Set()))?.begun?.({ method: "ping", id: 1 });
  assert.deepEqual(log, ["a ping"]);
});
