import { diceOf, type Dice } from "../../examples/mud/rules/dice.ts";

export interface Seeded {
  readonly seed: number;
  readonly dice: Dice;
  /** 0 to below `count`. */
  under(count: number): number;
  pick<T>(from: readonly T[]): T | undefined;
}

/** A random generator with that seed; the environment's `TORTURE_SEED` overrides it, to reproduce a failure. */
export const seeded = (seed: number): Seeded => {
  const given = process.env["TORTURE_SEED"];
  const used = given === undefined ? seed : Number(given);
  const dice = diceOf(used);
  const under = (count: number): number => Math.floor(dice() * count);
  return { seed: used, dice, under, pick: (from) => from[under(from.length)] };
};

/** A new seed in each run. */
export const freshSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0] ?? 1;

/** Runs, and reports the seed if it fails. */
export const withSeed = async <T>(seed: number, run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (cause) {
    throw new Error(`TORTURE_SEED=${seed} fails: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
};
