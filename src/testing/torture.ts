import assert from "node:assert/strict";
import {
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Clock,
  DEFAULT_POLICY,
  type Engine,
  type Entropy,
  isBag,
  type Json,
  type Outgoing,
  type Reply,
  type Store,
  systemClock,
} from "../contract/index.ts";
import { FaultyStore, type Fault, type FaultPlace } from "./faulty-store.ts";
import { SimulatedEntropy, until } from "./simulated-clock.ts";

/** An account holds what it was given; what leaves one is on its way to another until it arrives there. */
export interface Account {
  readonly balance: number;
  /** Answers to its transfers. */
  readonly settled: number;
}

const ACCOUNTS: readonly ActorId[] = ["account/a", "account/b", "account/c", "account/d"];

const numberOf = (value: Json | undefined): number => (typeof value === "number" ? value : 0);
const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const accountOf = (value: Json | undefined): ActorId => ACCOUNTS.find((id) => id === value) ?? "account/a";

/** Deposits, transfers (by a send), work, and turns that crash. */
export const account: Behaviour<Account> = {
  kind: "account",
  version: 1,
  policy: { ...DEFAULT_POLICY, mailbox: 100_000 },
  initial: () => ({ balance: 0, settled: 0 }),
  receive(state, { action, args }) {
    const { amount: given, to, op } = isBag(args) ? args : {};
    const amount = numberOf(given);
    switch (action) {
      case "deposit":
        return { state: { ...state, balance: state.balance + amount }, reply: { ok: state.balance + amount } };
      case "transfer":
        return {
          state: { ...state, balance: state.balance - amount },
          send: [
            { to: accountOf(to), action: "deposit", args: { amount, op: `${textOf(op)}>` }, start: null, replyAs: "settled" },
            // Has no effect there, so it leaves the outbox without a commit.
            { to: accountOf(to), action: "refuse", args: null },
            // Begins nothing there, so its answer comes without a commit too.
            { to: "account/none", action: "refuse", args: null, start: null, replyAs: "settled" },
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

export interface Operation {
  readonly op: string;
  readonly message: Outgoing;
  /** What the sum over all accounts gains when it is applied. */
  readonly gain: number;
  /** It is meant to have no effect. */
  readonly vain: boolean;
}

export function operation(op: string, dice: SimulatedEntropy): Operation {
  const to = ACCOUNTS[dice.under(ACCOUNTS.length)] ?? "account/a";
  const amount = 1 + dice.under(9);
  const roll = dice.under(10);
  const action = roll < 4 ? "deposit" : roll < 7 ? "transfer" : roll < 8 ? "work" : roll < 9 ? "refuse" : "throw";
  const args = { op, amount, ...(action === "transfer" ? { to: ACCOUNTS[dice.under(ACCOUNTS.length)] ?? to } : {}) };
  return {
    op,
    message: { to, action, args, start: null },
    gain: action === "deposit" || action === "work" ? amount : 0,
    vain: action === "refuse" || action === "throw",
  };
}

/** What callers were told, against which the chains are held. */
export class Ledger {
  readonly #acknowledged = new Map<string, Operation>();
  readonly #refused = new Set<string>();
  readonly #open = new Map<string, Operation>();

  acknowledge(wanted: Operation): void {
    this.#acknowledged.set(wanted.op, wanted);
  }

  /** Told "not applied", and never repeated. */
  refuse(op: string): void {
    this.#refused.add(op);
  }

  /** Never answered, and given up: applied once or not at all. */
  giveUp(wanted: Operation): void {
    this.#open.set(wanted.op, wanted);
  }

  get size(): number {
    return this.#acknowledged.size;
  }

  /** Every acknowledged operation is in the chains exactly once, none that was refused, and nothing is lost on the way. */
  async check(engine: Engine, verify: (events: readonly ChainEvent[]) => void = () => undefined): Promise<void> {
    const seen = new Map<string, number>();
    let total = 0;
    let settled = 0;
    for (const id of ACCOUNTS) {
      let parent: string | null = null;
      const events: ChainEvent[] = [];
      for await (const event of engine.history(id)) {
        const header: { parent: string | null } = JSON.parse(event.header);
        assert.equal(header.parent, parent, `${id} is one chain`);
        parent = event.id;
        events.push(event);
        const body: { message: { action: string; args: { op?: string; of?: string } } } = JSON.parse(event.body ?? "");
        const { op, of } = body.message.args;
        const name = op ?? `answer to ${of}`;
        seen.set(name, (seen.get(name) ?? 0) + 1);
        if (body.message.action === "transfer") settled -= 2;
      }
      verify(events);
      const state = (await engine.read(id))?.state;
      if (!isBag(state)) continue;
      total += numberOf(state["balance"]);
      settled += numberOf(state["settled"]);
    }
    let expected = 0;
    for (const [op, { gain, vain, message }] of this.#acknowledged) {
      expected += gain;
      assert.equal(seen.get(op) ?? 0, vain ? 0 : 1, `${op} ${message.action} is in the chain once if it had an effect`);
      if (message.action === "transfer") assert.equal(seen.get(`${op}>`), 1, `what ${op} sent arrived once`);
    }
    for (const [op, { gain, message }] of this.#open) {
      if (!seen.has(op)) continue;
      expected += gain;
      if (message.action === "transfer") assert.equal(seen.get(`${op}>`), 1, `what ${op} sent arrived once`);
    }
    for (const op of this.#refused) assert.equal(seen.get(op) ?? 0, 0, `${op} was not applied, as its caller was told`);
    for (const [op, count] of seen) assert.equal(count, 1, `${op} is there once`);
    assert.equal(total, expected, "nothing appeared, nothing was lost");
    assert.equal(settled, 0, "each send was answered once");
  }
}

export interface TortureOptions {
  readonly seed: number;
  /** What outlives the crashes. */
  readonly store: Store;
  readonly open: (options: { readonly store: Store; readonly clock: Clock; readonly entropy: Entropy }) => Promise<Engine>;
  /** Of each chain at the end; throws where it does not hold. */
  readonly verify?: (events: readonly ChainEvent[]) => void;
  readonly callers?: number;
  readonly callsEach?: number;
}

export interface Tortured {
  readonly crashes: number;
  /** Where the store was when the process ended. */
  readonly places: ReadonlySet<FaultPlace>;
  readonly acknowledged: number;
}

/** A clock whose timers die with the process that set them. */
class MortalClock implements Clock {
  readonly #undos = new Set<() => void>();
  #dead = false;
  now(): number {
    return Date.now();
  }
  after(ms: number, run: () => void): () => void {
    if (this.#dead) return () => undefined;
    const undo = systemClock.after(ms, () => {
      this.#undos.delete(undo);
      run();
    });
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
  readonly clock: MortalClock;
}

/**
 * Concurrent callers against an engine whose store delays, fails, loses answers and
 * crashes at seeded awaits. Half of the calls carry a key and are repeated until they
 * are acknowledged; the others are given up when they may have been applied.
 */
export async function torture({ seed, store, open, verify, callers = 8, callsEach = 4 }: TortureOptions): Promise<Tortured> {
  const dice = new SimulatedEntropy(seed);
  const ledger = new Ledger();
  let crashes = 0;
  const places = new Set<FaultPlace>();
  let process: Promise<Process> | undefined;
  let tame = false;
  let before: FaultyStore | undefined;

  const start = async (): Promise<Process> => {
    // Early in the seed's life the next crash is near, so that start-up is crashed too.
    let steps = 1 + dice.under(40);
    const decide = (place: FaultPlace): Fault => {
      if (tame) return "pass";
      if ((steps -= 1) <= 0) {
        places.add(place);
        return "crash";
      }
      const roll = dice.under(100);
      return roll < 12 ? "delay" : roll < 16 ? "lose" : roll < 20 && place.startsWith("before") ? "fail" : "pass";
    };
    await before?.answered();
    const faulty = new FaultyStore(store, decide);
    before = faulty;
    const clock = new MortalClock();
    const dead = faulty.whenCrashed.then((): undefined => {
      clock.die();
      crashes += 1;
      return undefined;
    });
    const engine = await Promise.race([open({ store: faulty, clock, entropy: dice }), dead]).catch((): undefined => undefined);
    return engine === undefined ? start() : { engine, faulty, clock };
  };
  const current = (): Promise<Process> => (process ??= start());

  /** Undefined: the process died, or the answer left it open. */
  const attempt = async (wanted: Operation, key: string | undefined): Promise<"acknowledged" | "not applied" | "unknown"> => {
    const mine = await current();
    const call = mine.engine.call(wanted.message, key === undefined ? {} : { key });
    const outcome = await Promise.race([call.catch((error: unknown) => error), mine.faulty.whenCrashed.then(() => "crashed")]);
    if (mine.faulty.crashed) {
      if (process !== undefined && (await process) === mine) process = undefined;
      return "unknown";
    }
    if (isReply(outcome)) return "acknowledged";
    if (!(outcome instanceof Error)) return "unknown";
    const applied: unknown = Reflect.get(outcome, "applied");
    const code: unknown = Reflect.get(outcome, "code");
    if (code === "CRASHED" && wanted.vain) return "acknowledged";
    return applied === false ? "not applied" : "unknown";
  };

  const one = async (caller: number): Promise<void> => {
    for (let index = 0; index < callsEach; index += 1) {
      const wanted = operation(`${caller}.${index}`, dice);
      const key = dice.under(2) === 0 ? wanted.op : undefined;
      for (let tries = 0; ; tries += 1) {
        const outcome = await attempt(wanted, key);
        if (outcome === "acknowledged") {
          ledger.acknowledge(wanted);
          break;
        }
        if (outcome === "not applied" && key === undefined) {
          ledger.refuse(wanted.op);
          break;
        }
        if (outcome === "unknown" && key === undefined) {
          ledger.giveUp(wanted);
          break;
        }
        if (tries > 30) tame = true;
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => one(caller)));

  tame = true;
  const last = await current();
  last.clock.die();
  if (!last.faulty.crashed) await last.engine[Symbol.asyncDispose]();
  const { engine, clock } = await start();
  await until("the outbox is empty", async () => (await store.undelivered(1)).length === 0);
  await engine[Symbol.asyncDispose]();
  clock.die();
  const { engine: reader } = await start();
  await ledger.check(reader, verify);
  await reader[Symbol.asyncDispose]();
  return { crashes, places, acknowledged: ledger.size };
}

const isReply = (value: unknown): value is Reply => isBag(value) && ("ok" in value || "refused" in value || "needs" in value);
