// A call in process, without a protocol: a Behaviour, an actor(), and an actor() with a nested state.
import type { Outgoing } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import counter from "../examples/counter/index.ts";
import type { BenchOptions } from "./options.ts";
import { minimalCall } from "./minimal-call.ts";
import { idle } from "./kinds/idle.ts";
import { initial, nested, see, tally } from "./kinds/nested.ts";
import { plain } from "./kinds/plain.ts";
import { each, print, rounds } from "./table.ts";

const UNDER_WAY = 500;
const ALONE_US = 1.5;

type Call = () => Promise<unknown>;

/** Microseconds per call, with 500 calls in flight. Awaits only the last of them: the actor answers in order, and Promise.all would take longer than some calls. */
const pipelined = async (act: Call, calls: number): Promise<number> => {
  const us = await each(calls / UNDER_WAY, () => {
    for (let n = 1; n < UNDER_WAY; n += 1) void act();
    return act();
  });
  return us / UNDER_WAY;
};

interface Subject {
  readonly name: string;
  readonly message: Outgoing;
  /** The limit with many calls in flight. Absent: no limit. */
  readonly target?: number;
  /** The minimal implementation. */
  readonly floor?: Call;
}

const ADD = { action: "tools/add", args: { by: 1 }, start: null };
const SEE: Outgoing = { to: "nested/main", action: "see", args: { row: 5 }, start: null };
const TALLY: Outgoing = { to: "nested/other", action: "tally", args: { key: "b" }, start: null };
const count = () => ({ count: 0 });

const SUBJECTS: readonly Subject[] = [
  { name: "a behaviour", message: { to: "plain/main", action: "add", args: { by: 1 }, start: null } },
  {
    name: "actor(), a flat state",
    message: { to: "counter/main", ...ADD },
    target: 0.8,
    floor: minimalCall(count, { to: "counter/main", ...ADD }, (state) => (state.count += 1)),
  },
  { name: "actor(), a nested state, an object by its name", message: TALLY, target: 1.2, floor: minimalCall(initial, TALLY, tally) },
  { name: "actor(), a nested state, an item by its place", message: SEE, target: 1.2, floor: minimalCall(initial, SEE, see) },
  { name: "actor() whose turn is empty", message: { to: "idle/main", ...ADD } },
];

/** Uses many short bursts, so that pauses of the machine affect few of them and not the median. */
export const run = async ({ quick }: BenchOptions): Promise<void> => {
  const calls = 5_000;
  const times = quick ? 31 : 101;
  await using engine = await LocalEngine.start({ kinds: [plain("memory"), counter, nested, idle] });
  for (const { name, message, target, floor } of SUBJECTS) {
    const call: Call = () => engine.call(message);
    const least: Call = floor ?? (() => Promise.resolve());
    const [one = [], many = [], alone = [], together = []] = await rounds(
      times,
      () => each(calls, call),
      () => pipelined(call, calls),
      () => each(calls, least),
      () => pipelined(least, calls),
    );
    const what = (how: string): string => `a call in process, ${how}: ${name}`;
    print({ what: what("one after the other"), measured: one, unit: "µs", target: target && ALONE_US, floor: floor && alone });
    print({ what: what(`${UNDER_WAY} under way`), measured: many, unit: "µs", target, floor: floor && together });
  }
};
