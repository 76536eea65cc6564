import type { EngineError } from "./errors.ts";

export const LATE = Symbol("late");

/** A run that has a time. Who made it tells that it is up; a listener at its signal would cost each run more. */
export interface MayBeLate {
  [LATE]: ((error: EngineError) => void) | undefined;
}

/** `told` hears it where the time of that run is up, whatever its handler does then. */
export function whenLate(run: object, told: (error: EngineError) => void): void {
  if (LATE in run) run[LATE] = told;
}
