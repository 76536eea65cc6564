// The same calls in both engines: LocalEngine, and the handlers that run on Restate.
import {
  type ActorId,
  type Behaviour,
  type CallOptions,
  EngineError,
  type Json,
  type Outgoing,
  type Reply,
} from "../../src/core/contract/index.ts";
import { omitUndefined } from "../../src/core/contract/internal.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { mapHandler, DEAD_LETTERS } from "../../src/hosts/restate/directory.ts";
import { World, type WorldOptions } from "../../src/hosts/restate/world.fixture.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { settle, SimulatedClock, SimulatedEntropy } from "../../src/testing/index.ts";

/** One engine, and what a test reads from it. */
export interface TestEngine extends AsyncDisposable {
  /** The reply, whenever it arrives. */
  call(outgoing: Outgoing, options?: Pick<CallOptions, "key" | "answers" | "can">): Promise<Reply>;
  /** The code of a call's error. */
  fault(outgoing: Outgoing): Promise<string>;
  /** Resolves when all sent messages have been applied. */
  settle(): Promise<void>;
  state(id: ActorId): Promise<Json | undefined>;
  /** How many calls of the actor have no reply yet. */
  pending(id: ActorId): Promise<number>;
  stop(id: ActorId): Promise<void>;
  /** The actions of dead letters. */
  letters(): Promise<readonly string[]>;
  /** The same actors after a restart of the process. */
  reopen(): Promise<TestEngine>;
}

type Open = (kinds: readonly Behaviour[]) => Promise<TestEngine>;

const openLocal: Open = async (kinds) => {
  const clock = new SimulatedClock();
  return local(kinds, clock, memoryStore({ clock }));
};

// Two engines over one store must not give the same ids.
let seeds = 0;

async function local(kinds: readonly Behaviour[], clock: SimulatedClock, store: ReturnType<typeof memoryStore>): Promise<TestEngine> {
  const engine = await LocalEngine.start({ kinds, store, clock, entropy: new SimulatedEntropy((seeds += 1)) });
  const ended = async <T>(promise: Promise<T>): Promise<T> => {
    const state = { over: false };
    const end = (): void => void (state.over = true);
    promise.then(end, end);
    for (let round = 0; round < 20 && !state.over; round += 1) await clock.advance(1_000);
    return promise;
  };
  return {
    call: (outgoing, options) => ended(engine.call(outgoing, options)),
    fault: (outgoing) =>
      ended(
        engine.call(outgoing).then(
          (reply) => JSON.stringify(reply),
          (error: unknown) => (error instanceof EngineError ? error.code : String(error)),
        ),
      ),
    settle: () => clock.advance(1),
    state: async (id) => (await engine.read(id))?.state,
    pending: async (id) => Object.keys((await store.load(id))?.row.pending ?? {}).length,
    stop: (id) => engine.stop(id, "enough"),
    letters: async () => (await engine.letters()).map(({ message }) => message.action),
    async reopen() {
      await engine.drain(0);
      return local(kinds, clock, store);
    },
    [Symbol.asyncDispose]: () => engine.drain(0),
  };
}

/** `faults`: the faults of each invocation. */
export const onRestate = async (
  kinds: readonly Behaviour[],
  faults?: WorldOptions["faults"],
  after?: World,
): Promise<TestEngine & { readonly world: World }> => {
  const world = new World({ kinds, ...omitUndefined({ after, faults }) });
  const outcomeOf = async (outgoing: Outgoing, options: Pick<CallOptions, "key" | "answers" | "can"> = {}): Promise<Reply | string> => {
    const { key, answers, can } = options;
    const outcome = await world.call(
      { ...outgoing, ...(answers !== undefined && { answers }), ...(can !== undefined && { can }) },
      key === undefined ? {} : { key },
    );
    if ("fault" in outcome) return outcome.fault.code;
    if (outcome.reply !== undefined) return outcome.reply;
    for (let round = 1; round < 2_000; round += 1) {
      const { reply, pending } = Object(await world.ask(world.names.actor(outgoing.to, "reply"), `later ${outcome.later ?? ""}`)).value;
      if (reply !== null) return reply.reply;
      if (pending !== true) return "OUTCOME_UNKNOWN";
      // Retries become due.
      if (round % 50 === 0) await world.pass(1_000);
      else await settle();
    }
    return "NO_REPLY";
  };
  return {
    world,
    async call(outgoing, options) {
      const outcome = await outcomeOf(outgoing, options);
      if (typeof outcome === "string") throw new Error(outcome);
      return outcome;
    },
    async fault(outgoing) {
      const outcome = await outcomeOf(outgoing);
      return typeof outcome === "string" ? outcome : JSON.stringify(outcome);
    },
    async settle() {
      // A call that was just made may not have sent anything yet.
      for (let round = 0; round < 20; round += 1) {
        await settle();
        await world.settle();
      }
    },
    state: async (id) => world.state(id),
    pending: async (id) => Object.keys(world.row(id)?.pending ?? {}).length,
    stop: async (id) => void (await world.stop(id, "enough")),
    async letters() {
      const listed = await world.ask(mapHandler(world.names, DEAD_LETTERS, "", "list"), { limit: 10 });
      const entries: readonly [string, { message: { action: string } }][] = Object(listed).value.entries;
      return entries.map(([, { message }]) => message.action);
    },
    reopen: () => onRestate(kinds, faults, world),
    [Symbol.asyncDispose]: async () => undefined,
  };
};

interface EngineUnderTest {
  readonly name: string;
  readonly open: Open;
}

export const LOCAL: EngineUnderTest = { name: "LocalEngine", open: openLocal };

export const ENGINES: readonly EngineUnderTest[] = [LOCAL, { name: "Restate", open: (kinds) => onRestate(kinds) }];
