// Owns: concurrent callers against an engine whose store fails and crashes, and the checks of its chains. Does not own: faults (faulty-store.ts).
import assert from "node:assert/strict";
import {
  checkOptions,
  type OptionTable,
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Clock,
  type DeadLetter,
  DEFAULT_POLICY,
  type Engine,
  type Entropy,
  isJsonObject,
  isList,
  type Json,
  type Outgoing,
  type Reply,
  type Store,
} from "../core/contract/index.ts";
import { messageOf } from "../core/contract/internal.ts";
import { type Fault, type FaultPlace, FaultyStore } from "./faulty-store.ts";
import { SimulatedClock, SimulatedEntropy } from "./simulated-clock.ts";

/** An account. A transfer leaves one account before it arrives at another. */
export interface Account {
  readonly balance: number;
  /** Answers to its transfers. */
  readonly settled: number;
}

const ACCOUNTS: readonly ActorId[] = ["account/a", "account/b", "account/c", "account/d"];

const numberOf = (value: Json | undefined): number => (typeof value === "number" ? value : 0);
const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const accountOf = (value: Json | undefined): ActorId => ACCOUNTS.find((id) => id === value) ?? "account/a";

/**
 * Deposits, transfers (by a send), work, and turns that crash.
 *
 * @example
 * ```ts
 * import { account, testActor } from "troupe/testing";
 *
 * testActor(account).turn("deposit", { op: "1", amount: 5 });
 * ```
 */
export const account: Behaviour<Account> = {
  kind: "account",
  version: 1,
  policy: { ...DEFAULT_POLICY, mailbox: 100_000 },
  initial: () => ({ balance: 0, settled: 0 }),
  receive(state, { action, args }) {
    const { amount: given, to, op, poison } = isJsonObject(args) ? args : {};
    const amount = numberOf(given);
    switch (action) {
      case "deposit":
        return { state: { ...state, balance: state.balance + amount }, reply: { ok: state.balance + amount } };
      case "transfer":
        return {
          state: { ...state, balance: state.balance - amount },
          send: [
            { to: accountOf(to), action: "deposit", args: { amount, op: `${textOf(op)}>` }, start: null, replyAs: "settled" },
            // Has no effect there, so it is removed from the outbox without a commit.
            { to: accountOf(to), action: "refuse", args: null },
            // Starts nothing there, so its answer is sent without a commit, too.
            { to: "account/none", action: "refuse", args: null, start: null, replyAs: "settled" },
            // Fails each time, so it becomes a dead letter, and its answer is an error.
            ...(poison === true ? [{ to: accountOf(to), action: "throw", args: { op: textOf(op) }, start: null, replyAs: "settled" }] : []),
          ],
        };
      case "settled":
        return { state: { ...state, settled: state.settled + 1 } };
      case "work":
        return async () => {
          await new Promise<void>((resolve) => setImmediate(resolve));
          return { state: { ...state, balance: state.balance + amount } };
        };
      case "refuse":
        return { reply: { refused: { code: "NO", message: "No." } } };
      default:
        throw new Error("as the test wanted");
    }
  },
};

/** A call of the workload. */
export interface Operation {
  /** A unique name. */
  readonly op: string;
  readonly message: Outgoing;
  /** The increase of the sum over all accounts if it is applied. Default 0. */
  readonly gain?: number;
  /** True if it leaves no event: it is refused, throws or changes nothing. Default false. */
  readonly vain?: boolean;
}

const BAGGAGE = "op=";

/** The trace of an operation's call. Its baggage names the operation in the event, whatever arguments the kind takes. */
const traceOf = (op: string): { readonly baggage: string } => ({ baggage: `${BAGGAGE}${op}` });

/**
 * The default workload: calls of `account` actors.
 *
 * @example
 * ```ts
 * import { operation, SimulatedEntropy } from "troupe/testing";
 *
 * console.log(operation("1", new SimulatedEntropy(7)));
 * ```
 */
export function operation(op: string, dice: SimulatedEntropy): Operation {
  const to = ACCOUNTS[dice.under(ACCOUNTS.length)] ?? "account/a";
  const amount = 1 + dice.under(9);
  const roll = dice.under(10);
  const action = roll < 4 ? "deposit" : roll < 7 ? "transfer" : roll < 8 ? "work" : roll < 9 ? "refuse" : "throw";
  const transfer =
    action === "transfer" ? { to: ACCOUNTS[dice.under(ACCOUNTS.length)] ?? to, ...(dice.under(3) === 0 ? { poison: true } : {}) } : {};
  return {
    op,
    message: { to, action, args: { op, amount, ...transfer }, start: null, trace: traceOf(op) },
    gain: action === "deposit" || action === "work" ? amount : 0,
    vain: action === "refuse" || action === "throw",
  };
}

interface TurnOfChain {
  readonly action: string;
  readonly id: string;
  readonly from: string | undefined;
  readonly args: { readonly [key: string]: Json };
  /** The operation, if the message came from a caller. */
  readonly op: string | undefined;
  readonly sent: readonly string[];
}

/** Each actor's events, read from its chain. */
type Chains = ReadonlyMap<ActorId, { readonly ids: readonly string[]; readonly turns: readonly TurnOfChain[] }>;

const PAGE = 100;
const optionalText = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);

function turnOf(event: ChainEvent): TurnOfChain | undefined {
  const body: Json = JSON.parse(event.body ?? "null");
  if (!isJsonObject(body) || !isJsonObject(body["message"])) return undefined;
  const { action, id, from, cause, args, trace } = body["message"];
  const baggage = from === undefined && cause === undefined && isJsonObject(trace) ? textOf(trace["baggage"]) : "";
  return {
    action: textOf(action),
    id: textOf(id),
    from: optionalText(from),
    args: isJsonObject(args) ? args : {},
    op: baggage.startsWith(BAGGAGE) ? baggage.slice(BAGGAGE.length) : undefined,
    sent: isList(body["sent"]) ? body["sent"].map(textOf) : [],
  };
}

async function readChains(engine: Engine, verify: (events: readonly ChainEvent[]) => void): Promise<Chains> {
  const chains = new Map<ActorId, { ids: string[]; turns: TurnOfChain[] }>();
  let after: ActorId | undefined;
  for (;;) {
    const page = await engine.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { id } of page) {
      let parent: string | null = null;
      const events: ChainEvent[] = [];
      for await (const event of engine.history(id)) {
        const header: { parent: string | null } = JSON.parse(event.header);
        assert.equal(header.parent, parent, `${id} is one chain`);
        parent = event.id;
        events.push(event);
      }
      verify(events);
      chains.set(id, { ids: events.map((event) => event.id), turns: events.flatMap((event) => turnOf(event) ?? []) });
    }
    after = page.at(-1)?.id;
    if (page.length < PAGE) return chains;
  }
}

// `.r`: the answer to a message that left no event.
const SENT = /^([^.]+)\.(\d+)\.(\d+)(\.r)?$/u;

/** C5: each actor has applied the messages of another in the order in which they were sent, each once. */
function checkOrder(chains: Chains): void {
  const applied = new Set<string>();
  for (const [to, { turns }] of chains) {
    const last = new Map<string, { readonly seq: number; readonly n: number; readonly id: string }>();
    for (const { id, from } of turns) {
      if (from === undefined) continue;
      assert.ok(!applied.has(id), `message ${id} from ${from} to ${to} was applied once`);
      applied.add(id);
      const [, life, seq, n, answer = ""] = SENT.exec(id) ?? [];
      if (life === undefined) continue;
      const pair = `${from} ${life}${answer}`;
      const [before, here] = [last.get(pair), { seq: Number(seq), n: Number(n), id }];
      const isInOrder = before === undefined || before.seq < here.seq || (before.seq === here.seq && before.n < here.n);
      assert.ok(isInOrder, `${to} applied message ${id} from ${from} after ${before?.id}, which was sent later`);
      last.set(pair, here);
    }
  }
}

/** C5: a dead letter was sent by an event, was not applied, and is there once. */
function checkLetters(chains: Chains, letters: readonly DeadLetter[]): void {
  const sent = new Set<string>();
  const applied = new Set<string>();
  for (const { turns } of chains.values()) {
    for (const turn of turns) {
      for (const id of turn.sent) sent.add(id);
      if (turn.from !== undefined) applied.add(turn.id);
    }
  }
  const seen = new Set<string>();
  for (const { message } of letters) {
    assert.ok(!seen.has(message.id), `dead letter ${message.id} is there once`);
    seen.add(message.id);
    assert.ok(!applied.has(message.id), `dead letter ${message.id} to ${message.to} was not applied`);
    const [, , , , answer] = SENT.exec(message.id) ?? [];
    if (message.from !== undefined && answer === undefined) assert.ok(sent.has(message.id), `an event sent dead letter ${message.id}`);
  }
}

/**
 * The outcomes that callers saw, to compare with the chains.
 *
 * @example
 * ```ts
 * import { Ledger } from "troupe/testing";
 *
 * const ledger = new Ledger();
 * ```
 */
export class Ledger {
  readonly #acknowledged = new Map<string, Operation>();
  readonly #refused = new Set<string>();
  readonly #open = new Map<string, Operation>();

  acknowledge(wanted: Operation): void {
    this.#acknowledged.set(wanted.op, wanted);
  }

  /** The call failed with "not applied", and was not repeated. */
  refuse(op: string): void {
    this.#refused.add(op);
  }

  /** The call was abandoned without an answer: it was applied once or not at all. */
  giveUp(wanted: Operation): void {
    this.#open.set(wanted.op, wanted);
  }

  get size(): number {
    return this.#acknowledged.size;
  }

  /**
   * Asserts that the chains contain every acknowledged operation exactly once and no refused one, that messages between actors were
   * applied in order, and that dead letters match the chains. Resolves to the ids of each actor's events.
   */
  async check(
    engine: Engine,
    verify: (events: readonly ChainEvent[]) => void = () => undefined,
    letters: readonly DeadLetter[] = [],
  ): Promise<ReadonlyMap<ActorId, readonly string[]>> {
    const chains = await readChains(engine, verify);
    const seen = new Map<string, number>();
    for (const { turns } of chains.values()) for (const { op } of turns) if (op !== undefined) seen.set(op, (seen.get(op) ?? 0) + 1);
    for (const [op, { vain = false, message }] of this.#acknowledged)
      assert.equal(seen.get(op) ?? 0, vain ? 0 : 1, `${op} ${message.action} is in the chain once if it had an effect`);
    for (const op of this.#refused) assert.equal(seen.get(op) ?? 0, 0, `${op} was not applied, as its caller saw`);
    for (const [op, count] of seen) assert.equal(count, 1, `${op} is there once`);
    checkOrder(chains);
    checkLetters(chains, letters);
    return new Map(Array.from(chains, ([id, { ids }]) => [id, ids]));
  }

  /** Asserts for the default workload that the sum of all accounts is right, and each send was answered. */
  async checkAccounts(engine: Engine, letters: readonly DeadLetter[]): Promise<void> {
    const chains = await readChains(engine, () => undefined);
    const applied = new Set<string>();
    const arrived = new Map<string, number>();
    const poisoned: string[] = [];
    let expected = 0;
    let answers = 0;
    for (const { turns } of chains.values()) {
      for (const { action, args, from, op } of turns) {
        if (op !== undefined) applied.add(op);
        if (from !== undefined && action === "deposit") arrived.set(textOf(args["op"]), (arrived.get(textOf(args["op"])) ?? 0) + 1);
        if (action !== "transfer") continue;
        answers += 2;
        if (args["poison"] !== true) continue;
        answers += 1;
        poisoned.push(textOf(args["op"]));
      }
    }
    for (const [op, { gain = 0, message }] of [...this.#acknowledged, ...this.#open]) {
      if (!applied.has(op)) continue;
      expected += gain;
      if (message.action === "transfer") assert.equal(arrived.get(`${op}>`), 1, `what ${op} sent arrived once`);
    }
    for (const [op, count] of arrived) assert.equal(count, 1, `${op} is there once`);
    let total = 0;
    for (const id of ACCOUNTS) {
      const state = (await engine.read(id))?.state;
      if (!isJsonObject(state)) continue;
      total += numberOf(state["balance"]);
      answers -= numberOf(state["settled"]);
    }
    assert.equal(total, expected, "nothing appeared, nothing was lost");
    assert.equal(answers, 0, "each send was answered once");
    const dead = letters.map(({ message: { args } }) => (isJsonObject(args) ? textOf(args["op"]) : ""));
    assert.deepEqual(dead.toSorted(), poisoned.toSorted(), "what failed three times is a dead letter, and nothing else");
  }
}

/** Options of `torture`. */
export interface TortureOptions {
  readonly seed: number;
  /**
   * What outlives the crashes. A function is given the simulated clock, so that the store's time is the engine's: `(clock) => memoryStore({ clock })`.
   */
  readonly store: Store | ((clock: Clock) => Store);
  /**
   * The store that the next process finds after a crash, or after a fault of the store that only opening it again mends: after a loss
   * of power, say. Default: the same store.
   */
  readonly reopen?: (store: Store, clock: Clock) => Store | Promise<Store>;
  readonly open: (options: {
    readonly store: Store;
    readonly clock: Clock;
    readonly entropy: Entropy;
    readonly kinds: readonly Behaviour[];
  }) => Promise<Engine>;
  /** The kinds passed to `open`. Default: `account`. They must not wait for anything real: no `fetch`, no system timers. */
  readonly kinds?: readonly Behaviour[];
  /** Makes the call named `op`, with all randomness from `dice`. Default: `operation`, for `account`. */
  readonly workload?: (op: string, dice: SimulatedEntropy) => Operation;
  /** Called with the idle engine at the end. Throw if the actors are not as expected. */
  readonly check?: (engine: Engine) => void | Promise<void>;
  /** Called with each chain at the end. Throw if it is invalid. */
  readonly verify?: (events: readonly ChainEvent[]) => void;
  readonly callers?: number;
  readonly callsEach?: number;
}

const OPTIONS: OptionTable<TortureOptions> = {
  seed: true,
  store: true,
  reopen: true,
  open: true,
  kinds: true,
  workload: true,
  check: true,
  verify: true,
  callers: true,
  callsEach: true,
};

/** The result of `torture`. */
export interface Tortured {
  readonly crashes: number;
  /** The places in the store where the process crashed. */
  readonly places: ReadonlySet<FaultPlace>;
  readonly acknowledged: number;
  /** Crashes, and the outcome of each attempt of each operation, in order. */
  readonly trace: readonly string[];
  /** The ids of each actor's events. */
  readonly chains: ReadonlyMap<ActorId, readonly string[]>;
  readonly letters: readonly DeadLetter[];
}

/** A process's view of the simulated clock: its timers end with the process. */
class ProcessClock implements Clock {
  readonly #clock: SimulatedClock;
  readonly #undos = new Set<() => void>();
  #dead = false;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }
  now(): number {
    return this.#clock.now();
  }
  elapsed(): number {
    return this.#clock.elapsed();
  }
  after(ms: number, run: () => void): () => void {
    if (this.#dead) return () => undefined;
    const stop = this.#clock.after(ms, () => {
      this.#undos.delete(undo);
      run();
    });
    const undo = (): void => {
      this.#undos.delete(undo);
      stop();
    };
    this.#undos.add(undo);
    return undo;
  }
  die(): void {
    this.#dead = true;
    for (const undo of this.#undos) undo();
  }
}

/** One process of the engine: until the store's next crash. */
interface Process {
  readonly engine: Engine;
  readonly faulty: FaultyStore;
  readonly clock: ProcessClock;
}

// 2100: later than the system's time, so that a store without the simulated clock does not expire keys that are needed.
const BEGINNING = 4_102_444_800_000;
/** In simulated time. A call that has not ended by then waits for something that never happens. */
const LONGEST_MS = 120_000;
/** Rounds of the event loop between two steps of the clock: more than a fault's delay takes. */
const ROUNDS = 4;
/** How far the clock advances at once. */
const STEP_MS = 10;
const MOST_TRIES = 60;
/** How long a process continues after its store has failed permanently. */
const LAST_MS = 20;
const MOST_STARTS = 100;

/**
 * Runs concurrent callers against an engine whose store delays, fails, loses answers and crashes at seeded places. Half of the calls
 * carry a key and are repeated until they are acknowledged; the others are abandoned if they may have been applied.
 *
 * Time is simulated and all randomness comes from the seed: with a store that does not wait for anything real, as in memory, the same
 * seed gives the same run. Throws an error that names the seed if a check fails.
 *
 * @example
 * ```ts
 * import { LocalEngine } from "troupe/engine";
 * import { memoryStore } from "troupe/store";
 * import { torture } from "troupe/testing";
 *
 * console.log(await torture({ seed: 1, store: (clock) => memoryStore({ clock }), open: (options) => LocalEngine.start(options) }));
 * ```
 */
export async function torture(options: TortureOptions): Promise<Tortured> {
  checkOptions("torture", options, OPTIONS);
  let faulty: FaultyStore | undefined;
  // Not `settle`, which looks at the files of the whole process: what others do there must not change when the clock moves.
  const settled = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      await faulty?.answered();
    }
  };
  const clock = new SimulatedClock(BEGINNING, settled);
  const progress = { isOver: false };
  const run = tortured(options, clock, (next) => (faulty = next)).finally(() => (progress.isOver = true));
  // It may fail while the clock is being moved, before anybody awaits it.
  run.catch(() => undefined);
  try {
    while (!progress.isOver) {
      if (clock.now() - BEGINNING > LONGEST_MS) throw new Error(`It has not ended after ${LONGEST_MS / 1_000} s of simulated time.`);
      await clock.advance(STEP_MS);
    }
    return await run;
  } catch (error) {
    const why = messageOf(error);
    throw new Error(`torture with seed ${options.seed} failed: ${why}`, { cause: error });
  }
}

async function tortured(
  { seed, store: given, reopen, open, verify, check, kinds = [account], workload = operation, callers = 8, callsEach = 4 }: TortureOptions,
  time: SimulatedClock,
  opened: (faulty: FaultyStore) => void,
): Promise<Tortured> {
  const dice = new SimulatedEntropy(seed);
  let store = typeof given === "function" ? given(time) : given;
  const ledger = new Ledger();
  let crashes = 0;
  const places = new Set<FaultPlace>();
  const trace: string[] = [];
  let process: Promise<Process> | undefined;
  let tame = false;
  let before: FaultyStore | undefined;
  let breakdown: (() => void) | undefined;

  const startOnce = async (): Promise<Process | { readonly error: unknown }> => {
    // Early in the seed's life the next crash is near, so that start-up is crashed too.
    let steps = 1 + dice.under(40);
    const decide = (place: FaultPlace): Fault => {
      if (tame) return "pass";
      if ((steps -= 1) <= 0) {
        places.add(place);
        trace.push(`crash ${place}`);
        return "crash";
      }
      const roll = dice.under(100);
      return roll < 12 ? "delay" : roll < 16 ? "lose" : roll < 20 && place.startsWith("before") ? "fail" : "pass";
    };
    await before?.answered();
    if (reopen !== undefined && (before?.crashed === true || store.fault !== undefined)) store = await reopen(store, time);
    const faulty = new FaultyStore(store, decide);
    before = faulty;
    opened(faulty);
    const clock = new ProcessClock(time);
    const dead = faulty.whenCrashed.then(() => {
      clock.die();
      crashes += 1;
      return { error: undefined };
    });
    try {
      const engine = await Promise.race([open({ store: faulty, clock, entropy: dice, kinds }), dead]);
      return "error" in engine ? engine : { engine, faulty, clock };
    } catch (error) {
      clock.die();
      return { error };
    }
  };
  const start = async (): Promise<Process> => {
    for (let starts = 1; ; starts += 1) {
      const begun = await startOnce();
      if ("engine" in begun) return begun;
      if (begun.error !== undefined && (tame || starts >= MOST_STARTS)) throw begun.error;
    }
  };
  const current = (): Promise<Process> => (process ??= start());

  const isBroken = (): boolean => reopen !== undefined && store.fault !== undefined;

  /** Unknown: the process died, or the answer left it open. */
  const attempt = async (wanted: Operation, key: string | undefined): Promise<"acknowledged" | "refused" | "not applied" | "unknown"> => {
    const mine = await current();
    const message = { ...wanted.message, trace: traceOf(wanted.op) };
    const call = mine.engine.call(message, key === undefined ? {} : { key });
    const outcome = await Promise.race([call.catch((error: unknown) => error), mine.faulty.whenCrashed.then(() => "crashed")]);
    if (mine.faulty.crashed) {
      if (process !== undefined && (await process) === mine) process = undefined;
      return "unknown";
    }
    if (isBroken()) {
      // A store that broke for good is opened again by the next process. Not at once: what this one still acknowledges must be true.
      breakdown ??= time.after(1 + dice.under(LAST_MS), () => {
        breakdown = undefined;
        mine.faulty.crash();
      });
      if (key !== undefined && !isReply(outcome)) await mine.faulty.whenCrashed;
    }
    if (isReply(outcome)) return "refused" in outcome && wanted.vain !== true ? "refused" : "acknowledged";
    if (!(outcome instanceof Error)) return "unknown";
    const applied: unknown = Reflect.get(outcome, "applied");
    const code: unknown = Reflect.get(outcome, "code");
    if (code === "CRASHED" && wanted.vain === true) return "acknowledged";
    return applied === false ? "not applied" : "unknown";
  };

  const one = async (caller: number): Promise<void> => {
    for (let index = 0; index < callsEach; index += 1) {
      const wanted = workload(`${caller}.${index}`, dice);
      const key = dice.under(2) === 0 ? wanted.op : undefined;
      for (let tries = 1; ; tries += 1) {
        const outcome = await attempt(wanted, key);
        trace.push(`${wanted.op} ${outcome}`);
        if (outcome === "acknowledged") {
          ledger.acknowledge(wanted);
          break;
        }
        if (outcome === "not applied" && key === undefined) {
          ledger.refuse(wanted.op);
          break;
        }
        // A refusal may leave an event or none: the kind decides.
        if (outcome === "refused" || (outcome === "unknown" && key === undefined) || tries >= MOST_TRIES) {
          ledger.giveUp(wanted);
          break;
        }
        if (tries > MOST_TRIES / 2) tame = true;
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => one(caller)));

  tame = true;
  const last = await current();
  last.clock.die();
  if (!last.faulty.crashed) await last.engine[Symbol.asyncDispose]();
  do {
    const { engine, clock } = await start();
    while (store.fault === undefined && (await store.undelivered(1)).length > 0)
      await new Promise<void>((resolve) => void time.after(1, resolve));
    await engine[Symbol.asyncDispose]();
    clock.die();
  } while (isBroken());
  const { engine: reader, clock: quiet } = await start();
  const letters = await store.letters(MOST_LETTERS);
  const chains = await ledger.check(reader, verify, letters);
  if (workload === operation) await ledger.checkAccounts(reader, letters);
  await check?.(reader);
  await reader[Symbol.asyncDispose]();
  quiet.die();
  return { crashes, places, acknowledged: ledger.size, trace, chains, letters };
}

const MOST_LETTERS = 100_000;

const isReply = (value: unknown): value is Reply => isJsonObject(value) && ("ok" in value || "refused" in value || "needs" in value);
