// README: a call in process, without a protocol: the engine alone (Behaviour), with actor(), and with a nested state.
import type { Engine, Outgoing } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import counter from "../examples/counter/index.ts";
import type { Asked } from "./asked.ts";
import { idle } from "./kinds/idle.ts";
import { nested } from "./kinds/nested.ts";
import { plain } from "./kinds/plain.ts";
import { each, print, rounds } from "./table.ts";

const UNDER_WAY = 500;
const ALONE_US = 1.5;

/** Microseconds of each, with so many under way. */
const pipelined = async (act: () => Promise<unknown>, calls: number): Promise<number> => {
  const us = await each(calls / UNDER_WAY, () => Promise.all(Array.from({ length: UNDER_WAY }, act)));
  return us / UNDER_WAY;
};

interface Subject {
  readonly name: string;
  readonly act: (engine: Engine) => () => Promise<unknown>;
  /** What it may take with many under way; absent: a floor, to be read beside the others. */
  readonly target?: number;
}

const call =
  (message: Outgoing): Subject["act"] =>
  (engine) =>
  () =>
    engine.call(message);

const SUBJECTS: readonly Subject[] = [
  { name: "a behaviour", act: call({ to: "plain/main", action: "add", args: { by: 1 }, start: null }), target: 0.8 },
  { name: "actor(), a flat state", act: call({ to: "counter/main", action: "tools/add", args: { by: 1 }, start: null }), target: 0.8 },
  { name: "actor(), a nested state", act: call({ to: "nested/main", action: "see", args: { row: 5 }, start: null }), target: 1.2 },
  { name: "floor, no call: a promise", act: () => () => Promise.resolve() },
  { name: "floor, actor() whose turn is empty", act: call({ to: "idle/main", action: "tools/add", args: { by: 1 }, start: null }) },
];

export const run = async ({ quick }: Asked): Promise<void> => {
  const calls = quick ? 50_000 : 100_000;
  await using engine = await LocalEngine.start({ kinds: [plain("memory"), counter, nested, idle] });
  for (const { name, act, target } of SUBJECTS) {
    const done = act(engine);
    const [one = [], many = []] = await rounds(
      quick ? 3 : 7,
      () => each(calls, done),
      () => pipelined(done, calls),
    );
    const limit = target === undefined ? undefined : ALONE_US;
    print({ what: `a call in process, one after the other: ${name}`, measured: one, unit: "µs", target: limit });
    print({ what: `a call in process, ${UNDER_WAY} under way: ${name}`, measured: many, unit: "µs", target });
  }
};
