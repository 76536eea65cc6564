import { diceOf, type Dice } from "../../examples/mud/rules/dice.ts";

export interface Seeded {
  readonly seed: number;
  readonly dice: Dice;
  /** 0 to below `count`. */
  under(count: number): number;
  pick<T>(from: readonly T[]): T | undefined;
}

/** Dice of that seed; the environment's `TORTURE_SEED` stands before it, to see a failure again. */
export const seeded = (seed: number): Seeded => {
  const given = process.env["TORTURE_SEED"];
  const used = given === undefined ? seed : Number(given);
  const dice = diceOf(used);
  const under = (count: number): number => Math.floor(dice() * count);
  return { seed: used, dice, under, pick: (from) => from[under(from.length)] };
};

/** One that no run had before. */
export const freshSeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0] ?? 1;

/** Runs, and names the seed where it fails. */
export const withSeed = async <T>(seed: number, run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (cause) {
    throw new Error(`TORTURE_SEED=${seed} fails: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
};
