// README: a call in process, without a protocol: the engine alone (Behaviour), with actor(), and with a nested state.
import type { Engine, Outgoing } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import counter from "../examples/counter/index.ts";
import type { Asked } from "./asked.ts";
import { nested } from "./kinds/nested.ts";
import { plain } from "./kinds/plain.ts";
import { each, print, rounds } from "./table.ts";

const UNDER_WAY = 500;
const ALONE_US = 1.5;

/** Microseconds of each, with so many under way. */
const pipelined = async (engine: Engine, message: Outgoing, calls: number): Promise<number> => {
  const us = await each(calls / UNDER_WAY, () => Promise.all(Array.from({ length: UNDER_WAY }, () => engine.call(message))));
  return us / UNDER_WAY;
};

interface Subject {
  readonly name: string;
  readonly message: Outgoing;
  readonly target: number;
}

const SUBJECTS: readonly Subject[] = [
  { name: "a behaviour", message: { to: "plain/main", action: "add", args: { by: 1 }, start: null }, target: 0.8 },
  { name: "actor(), a flat state", message: { to: "counter/main", action: "tools/add", args: { by: 1 }, start: null }, target: 0.8 },
  { name: "actor(), a nested state", message: { to: "nested/main", action: "see", args: { row: 5 }, start: null }, target: 1.2 },
];

export const run = async ({ quick }: Asked): Promise<void> => {
  const calls = quick ? 50_000 : 100_000;
  await using engine = await LocalEngine.start({ kinds: [plain("memory"), counter, nested] });
  for (const { name, message, target } of SUBJECTS) {
    const [one = [], many = []] = await rounds(
      quick ? 3 : 7,
      () => each(calls, () => engine.call(message)),
      () => pipelined(engine, message, calls),
    );
    print({ what: `a call in process, one after the other: ${name}`, measured: one, unit: "µs", target: ALONE_US });
    print({ what: `a call in process, ${UNDER_WAY} under way: ${name}`, measured: many, unit: "µs", target });
  }
};
