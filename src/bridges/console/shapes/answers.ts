// Owns: the JSON of what the answers of many routes have in common: pages, progress and errors.

import type { StateMisfit } from "../../../core/contract/index.ts";

/** A page of a list. `next` is the value of `after` for the following page; absent: there are no more. */
export interface PageOf<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

/** The event `progress` of every long operation. */
export interface ProgressShape {
  readonly done: number;
  readonly total?: number;
}

/** Every answer that is not 2xx. */
export interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** Of `STATE_MISFIT`: what does not fit, by JSON Pointers. */
    readonly misfits?: readonly StateMisfit[];
    /** Of `SQL_WRONG`: where in the query, as an offset. */
    readonly at?: number;
  };
}
