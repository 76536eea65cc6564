// Owns: how the suites of engines open an engine for each test, and read its actors. Does not own: the tests (engine-suite.ts).
import {
  type ActorId,
  type Behaviour,
  type Engine,
  isJsonObject,
  type Json,
  type JsonObject,
  type Outgoing,
  type Policy,
} from "../../core/contract/index.ts";
import { type SimulatedClock, SimulatedEntropy, until } from "../simulated-clock.ts";
import { type Hooks, tallyKind } from "./suite-kinds.ts";
import { type Opened, type OpenEngine, tallyOf } from "./turn-suite.ts";

export const A: ActorId = "tally/a";
export const B: ActorId = "tally/b";

interface Stage {
  readonly engine: Engine;
  readonly opened: Opened;
  readonly clock: SimulatedClock;
  readonly hooks: { gate?: () => Promise<unknown>; saw?: NonNullable<Hooks["saw"]> };
}

interface Wanted {
  readonly policy?: Partial<Policy>;
  readonly kinds?: (hooks: Hooks) => readonly Behaviour[];
  readonly keyMs?: number;
}

export const logOf = async (engine: Engine, id: ActorId): Promise<readonly string[]> =>
  (await engine.read(id)) ? (await tallyOf(engine, id)).log : [];
export const logged = (engine: Engine, id: ActorId, line: string | RegExp): Promise<void> =>
  until(`${id} logs ${String(line)}`, async () =>
    (await logOf(engine, id)).some((own) => (typeof line === "string" ? own === line : line.test(own))),
  );

/** A message without `start`: only an actor that starts on first use starts with it. */
export const unstarted = (to: ActorId, action: string, args: Json = null): Outgoing => ({ to, action, args });

export const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** When it started, when its last message arrived, and the number of its messages. */
export const known = async (engine: Engine, id: ActorId): Promise<readonly unknown[]> => {
  const now = await engine.read(id);
  return [now?.createdAt, now?.lastMessageAt, now?.messageCount];
};

const inMemoryToo = (hooks: Hooks): readonly Behaviour[] => [
  tallyKind("tally", {}, hooks),
  tallyKind("note", { persistence: "memory" }, hooks),
];

/** Registers a test with an engine of its own. */
export interface EngineTests {
  readonly it: (title: string, run: (stage: Stage) => Promise<void>, wanted?: Wanted) => void;
  /** Skipped by engines without actors in memory. */
  readonly itInMemory: (title: string, run: (stage: Stage) => Promise<void>) => void;
}

export function engineTests(open: OpenEngine, newClock: () => SimulatedClock): EngineTests {
  const { test } = process.getBuiltinModule("node:test");
  const it = (title: string, run: (stage: Stage) => Promise<void>, wanted: Wanted = {}): void => {
    test(title, async () => {
      const hooks: Stage["hooks"] = {};
      const given: Hooks = { gate: () => hooks.gate?.() ?? Promise.resolve(), saw: (what, message) => hooks.saw?.(what, message) };
      const clock = newClock();
      const kinds = wanted.kinds?.(given) ?? [tallyKind("tally", wanted.policy, given)];
      await using opened = await open({
        kinds,
        clock,
        entropy: new SimulatedEntropy(7),
        ...(wanted.keyMs === undefined ? {} : { keyMs: wanted.keyMs }),
      });
      await run({ engine: opened.engine, opened, clock, hooks });
    });
  };
  const itInMemory = (title: string, run: (stage: Stage) => Promise<void>): void =>
    it(title, async (stage) => (stage.engine.traits.has("memory-actors") ? run(stage) : undefined), { kinds: inMemoryToo });
  return { it, itInMemory };
}
