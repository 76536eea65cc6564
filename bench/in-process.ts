// A call in process, without a protocol: the engine alone (Behaviour), with actor(), and with a nested state.
import type { Outgoing } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import counter from "../examples/counter/index.ts";
import type { Asked } from "./asked.ts";
import { byHand } from "./by-hand.ts";
import { idle } from "./kinds/idle.ts";
import { initial, nested, see, tally } from "./kinds/nested.ts";
import { plain } from "./kinds/plain.ts";
import { each, print, rounds } from "./table.ts";

const UNDER_WAY = 500;
const ALONE_US = 1.5;

type Call = () => Promise<unknown>;

/** Microseconds of each, with so many under way. One actor answers in order: the last is waited for, since to gather all takes longer than some of them. */
const pipelined = async (act: Call, calls: number): Promise<number> => {
  const us = await each(calls / UNDER_WAY, () => {
    for (let n = 1; n < UNDER_WAY; n += 1) void act();
    return act();
  });
  return us / UNDER_WAY;
};

interface Subject {
  readonly name: string;
  readonly asked: Outgoing;
  /** What it may take with many under way; absent: only to be read beside the others. */
  readonly target?: number;
  /** The least that can do it. */
  readonly floor?: Call;
}

const ADD = { action: "tools/add", args: { by: 1 }, start: null };
const SEE: Outgoing = { to: "nested/main", action: "see", args: { row: 5 }, start: null };
const TALLY: Outgoing = { to: "nested/other", action: "tally", args: { key: "b" }, start: null };
const count = () => ({ count: 0 });

const SUBJECTS: readonly Subject[] = [
  { name: "a behaviour", asked: { to: "plain/main", action: "add", args: { by: 1 }, start: null } },
  {
    name: "actor(), a flat state",
    asked: { to: "counter/main", ...ADD },
    target: 0.8,
    floor: byHand(count, { to: "counter/main", ...ADD }, (state) => (state.count += 1)),
  },
  { name: "actor(), a nested state, an object by its name", asked: TALLY, target: 1.2, floor: byHand(initial, TALLY, tally) },
  { name: "actor(), a nested state, an item by its place", asked: SEE, target: 1.2, floor: byHand(initial, SEE, see) },
  { name: "actor() whose turn is empty", asked: { to: "idle/main", ...ADD } },
];

/** Many short bursts: where the machine is taken away for a while, that is in few of them, and not in their median. */
export const run = async ({ quick }: Asked): Promise<void> => {
  const calls = 5_000;
  const times = quick ? 31 : 101;
  await using engine = await LocalEngine.start({ kinds: [plain("memory"), counter, nested, idle] });
  for (const { name, asked, target, floor } of SUBJECTS) {
    const call: Call = () => engine.call(asked);
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
