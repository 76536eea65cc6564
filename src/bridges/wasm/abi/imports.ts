// Owns: the imports that a guest's core module is instantiated with; answering those that need no host, random numbers too. Does not own: what other imports do (host/call-host.ts).
import { fromHex, sha256Hex } from "../../../core/platform/index.ts";
import type { GuestCall } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../component/world.ts";
import type { Component } from "../component/component.ts";
import { hostTypeError } from "./codec.ts";
import type { Budget, GuestMemory } from "./memory.ts";
import { type CoreValue, GuestTrap, type HostFunction, webAssembly } from "./webassembly.ts";
import { compiledImport } from "./world-functions.ts";

/** What the answers are derived from. */
export type LocalContext = Pick<GuestCall, "state" | "at" | "seed" | "variables" | "listVariables" | "random" | "outstanding" | "children">;

type Answer = (facts: AnswerContext, args: readonly WitValue[]) => WitValue;

interface AnswerContext extends LocalContext {
  readonly generator: GuestRandom;
}

const RANDOM_BYTES = 1_048_576;
const RANDOM_INT = 2n ** 63n - 1n;

function number(value: WitValue): number {
  if (typeof value !== "number") throw hostTypeError("a number");
  return value;
}

function bigint(value: WitValue): bigint {
  if (typeof value !== "bigint") throw hostTypeError("u64");
  return value;
}

/** Own properties only, so `constructor` is not a variable. */
function variable({ variables }: LocalContext, name: WitValue): string | undefined {
  return typeof name === "string" && Object.hasOwn(variables, name) ? variables[name] : undefined;
}

const ANSWERS: Readonly<Partial<Record<ImportName, Answer>>> = {
  "runtime.log": () => undefined,
  "runtime.get-state": ({ state }) => state,
  "timing.now": ({ at }) => BigInt(at),
  "message-server-host.list-outstanding-requests": ({ outstanding }) => outstanding,
  "supervisor.list-children": ({ children }) => children,
  "environment.get-var": (facts, [name]) => variable(facts, name),
  "environment.exists": (facts, [name]) => variable(facts, name) !== undefined,
  "environment.list-vars": ({ variables, listVariables = true }) => (listVariables ? Object.entries(variables) : []),
  "random.random-bytes"({ generator, random }, [length]) {
    const most = random?.maxBytes ?? RANDOM_BYTES;
    if (number(length) > most) return { err: `At most ${most} random bytes at a time: ask for fewer.` };
    return { ok: generator.bytes(number(length)) };
  },
  "random.random-range"({ generator, random }, [min, max]) {
    const most = random?.maxInt ?? RANDOM_INT;
    if (bigint(min) >= bigint(max)) return { err: "The range is empty: min must be below max." };
    if (bigint(max) > most) return { err: `The range ends above ${most}: choose a smaller max.` };
    return { ok: generator.range(bigint(min), bigint(max)) };
  },
  "random.random-float": ({ generator }) => ({ ok: generator.float() }),
  "random.generate-uuid": ({ generator }) => ({ ok: generator.uuid() }),
};

/** Whether an import is answered in the worker. Others are answered by the host, on the main thread. */
export const isLocalImport = (name: ImportName): boolean => Object.hasOwn(ANSWERS, name);

/** Answers local imports during one call. */
export function localAnswers(facts: LocalContext): (name: ImportName, args: readonly WitValue[]) => WitValue {
  let answering: AnswerContext | undefined;
  return (name, args) => {
    answering ??= { ...facts, generator: new GuestRandom(facts.seed) };
    return ANSWERS[name]?.(answering, args);
  };
}

/** One call, as its imports see it. */
export interface CallContext {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly seed: string;
  /** Counts one host call. `answer` and `wait` count their own. */
  count(): void;
  /** Bytes of arguments and results of imports. */
  readonly importBudget: Budget;
  /** Bytes of the export's result. */
  readonly resultBudget: Budget;
  answer(name: ImportName, args: readonly WitValue[]): WitValue;
  /** For imports that are not local. */
  wait(name: ImportName, args: readonly WitValue[]): Promise<WitValue>;
}

/** Crossing between a guest and its host. */
export interface Boundary {
  /** The guest calls out. Throws if it may not, and not again before `enter`. */
  leave(name: ImportName): { readonly host: CallContext; readonly memory: GuestMemory };
  enter(): void;
  /** Marks the guest as broken, and returns the error to throw into it. */
  fail(thrown: unknown): Error;
}

/** The import object for the core module of a component. */
export function coreImportsOf(component: Component, boundary: Boundary): Record<string, Record<string, object>> {
  const modules = Map.groupBy(component.imports, ({ module }) => module);
  const named = Array.from(modules, ([module, members]) => [
    module,
    Object.fromEntries(
      members.map(({ field, name }) => [field, isLocalImport(name) ? localImport(name, boundary) : suspendingImport(name, boundary)]),
    ),
  ]);
  return Object.fromEntries(named);
}

function localImport(name: ImportName, boundary: Boundary): HostFunction {
  const type = compiledImport(name);
  return (...flat) => {
    try {
      const { host, memory } = boundary.leave(name);
      const value = type.lower(memory, host.answer(name, type.lift(memory, flat)), flat);
      boundary.enter();
      return value;
    } catch (thrown) {
      throw boundary.fail(thrown);
    }
  };
}

function suspendingImport(name: ImportName, boundary: Boundary): object {
  const type = compiledImport(name);
  const callHost = async (flat: readonly CoreValue[]): Promise<CoreValue | undefined> => {
    try {
      const { host, memory } = boundary.leave(name);
      const value = type.lower(memory, await host.wait(name, type.lift(memory, flat)), flat);
      boundary.enter();
      return value;
    } catch (thrown) {
      throw boundary.fail(thrown);
    }
  };
  if (webAssembly.Suspending === undefined)
    throw new GuestTrap("This JavaScript engine cannot suspend a guest that waits for its host: run Node 24.21 or newer.");
  return new webAssembly.Suspending((...flat) => callHost(flat));
}

/** A generator: SHA-256 of the seed and a counter. The same seed always gives the same numbers (law 4), so the seed must stay secret. */
export class GuestRandom {
  readonly #seed: string;
  #counter = 0;
  #block = new Uint8Array(0);
  #at = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      if (this.#at === this.#block.length) this.#next();
      const part = this.#block.subarray(this.#at, this.#at + length - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#at += part.length;
    }
    return bytes;
  }

  /** At least 0, below 1, with 53 random bits. */
  float(): number {
    return Number(this.#u64() >> 11n) / 2 ** 53;
  }

  /** At least `min`, below `max`. Draws again where the remainder would favour small numbers. */
  range(min: bigint, max: bigint): bigint {
    const width = max - min;
    const fair = 2n ** 64n - (2n ** 64n % width);
    let drawn = this.#u64();
    while (drawn >= fair) drawn = this.#u64();
    return min + (drawn % width);
  }

  /** A UUID of version 4. */
  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  #u64(): bigint {
    const bytes = this.bytes(8);
    return new DataView(bytes.buffer).getBigUint64(0);
  }

  #next(): void {
    this.#block = Uint8Array.from(fromHex(sha256Hex(`${this.#seed}:${this.#counter}`)));
    this.#counter += 1;
    this.#at = 0;
  }
}
