// README: a call in process, without a protocol: the engine alone (Behaviour), with actor(), and with a nested state.
import type { Engine, Outgoing } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import counter from "../examples/counter/index.ts";
import { nested } from "./kinds/nested.ts";
import { plain } from "./kinds/plain.ts";
import { median } from "./load.ts";

const CALLS = 100_000;
const ROUNDS = 7;

const sequential = async (engine: Engine, message: Outgoing): Promise<number> => {
  const started = performance.now();
  for (let n = 0; n < CALLS; n += 1) await engine.call(message);
  return ((performance.now() - started) * 1_000) / CALLS;
};

const pipelined = async (engine: Engine, message: Outgoing): Promise<number> => {
  const started = performance.now();
  for (let n = 0; n < CALLS; n += 500) {
    const calls: Promise<unknown>[] = [];
    for (let m = 0; m < 500; m += 1) calls.push(engine.call(message));
    await Promise.all(calls);
  }
  return ((performance.now() - started) * 1_000) / CALLS;
};

export const run = async (): Promise<void> => {
  await using engine = await LocalEngine.start({ kinds: [plain("memory"), counter, nested] });
  const subjects: readonly (readonly [string, Outgoing])[] = [
    ["Behaviour", { to: "plain/main", action: "add", args: { by: 1 }, start: null }],
    ["actor()", { to: "counter/main", action: "tools/add", args: { by: 1 }, start: null }],
    ["nested", { to: "nested/main", action: "see", args: { row: 5 }, start: null }],
  ];
  for (const [name, message] of subjects) {
    const one: number[] = [];
    const many: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      one.push(await sequential(engine, message));
      many.push(await pipelined(engine, message));
    }
    console.log(`${name.padEnd(12)} ${median(one).toFixed(2)} µs one after the other, ${median(many).toFixed(2)} µs with 500 under way`);
  }
};
