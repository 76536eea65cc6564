// Owns: `engineSuite`, which registers the tests of every engine. Does not own: the tests of its parts (engine-*-suite.ts, turn-suite.ts).
import { SimulatedClock } from "../simulated-clock.ts";
import { callTests } from "./engine-call-suite.ts";
import { failureTests } from "./engine-failure-suite.ts";
import { lifeTests } from "./engine-life-suite.ts";
import { messageTests } from "./engine-message-suite.ts";
import { engineTests } from "./engine-stage.ts";
import { timerTests } from "./engine-timer-suite.ts";
import { type OpenEngine, type SuiteClock, turnSuite } from "./turn-suite.ts";

/** Registers the tests that every engine passes, and those of the `traits` that it claims, with `node:test`. */
export function engineSuite(name: string, open: OpenEngine, { clock: newClock = () => new SimulatedClock() }: SuiteClock = {}): void {
  turnSuite(name, open, { clock: newClock });
  const tests = engineTests(open, newClock);
  callTests(name, tests);
  messageTests(name, tests);
  timerTests(name, tests);
  failureTests(name, tests);
  lifeTests(name, tests);
}
