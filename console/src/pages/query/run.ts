// Owns: running a query: what the last one resulted in, and cancelling it. Does not own: its text (../query.tsx).
import { useRef } from "preact/hooks";
import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { SqlRows } from "../../../../src/bridges/console/shapes.ts";
import { type ApiError, asApiError, post } from "../../api.ts";
import { noteRun } from "./stored.ts";

export interface Outcome {
  readonly sql: string;
  readonly result?: SqlRows;
  readonly error?: ApiError;
}

export interface QueryRun {
  /** Undefined: none has run. */
  readonly last: ReadonlySignal<Outcome | undefined>;
  readonly running: ReadonlySignal<boolean>;
  /** Cancels the one that runs. */
  readonly run: (sql: string) => void;
  readonly cancel: () => void;
}

/** `onEnd`: unless it was cancelled. */
export function useQueryRun(onEnd: (outcome: Outcome) => void): QueryRun {
  const last = useSignal<Outcome | undefined>(undefined);
  const running = useSignal(false);
  const controller = useRef<AbortController | undefined>(undefined);
  const latest = useRef(onEnd);
  latest.current = onEnd;
  const cancel = useRef(() => {
    controller.current?.abort();
    controller.current = undefined;
    running.value = false;
  }).current;
  const run = useRef((sql: string) => {
    cancel();
    const own = new AbortController();
    controller.current = own;
    running.value = true;
    void post<SqlRows>("/sql", { sql }, own.signal)
      .then(
        (result): Outcome => ({ sql, result }),
        (thrown: unknown): Outcome => ({ sql, error: asApiError(thrown) }),
      )
      .then((outcome) => {
        if (own.signal.aborted) return;
        cancel();
        last.value = outcome;
        if (outcome.result !== undefined) noteRun(sql);
        latest.current(outcome);
      });
  }).current;
  return { last, running, run, cancel };
}
