// Owns: operations that take a while: how far one is, what it resulted in, why it failed, cancelling it. Does not own: the requests
// (api.ts), or how progress is drawn (ui/progress.tsx).
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { ProgressShape } from "../../src/bridges/console/shapes.ts";
import { type ApiError, asApiError, run } from "./api.ts";

/** Neither: it was cancelled, or did not begin. */
interface Outcome<T> {
  readonly result?: T;
  readonly error?: ApiError;
}

export interface Operation<T> extends Outcome<T> {
  /** Undefined: it is not running. */
  readonly progress: ProgressShape | undefined;
  /** Drops the last result and error. Does nothing while it is running. `total`: how much there is to do, until the server says so. */
  readonly start: (body?: object, total?: number) => Promise<Outcome<T>>;
  readonly cancel: () => void;
  /** Drops the result and the error. */
  readonly clear: () => void;
}

/** A long operation of the API, such as `/batch`. It is cancelled when the page closes, unless `background`. */
export function useOperation<T>(path: string, { background = false }: { readonly background?: boolean } = {}): Operation<T> {
  const progress = useSignal<ProgressShape | undefined>(undefined);
  const outcome = useSignal<Outcome<T>>({});
  const running = useRef<AbortController | undefined>(undefined);
  const cancel = (): void => running.current?.abort();
  useEffect(() => (background ? undefined : cancel), [background]);
  const start = async (body: object = {}, total?: number): Promise<Outcome<T>> => {
    if (running.current !== undefined) return {};
    const controller = new AbortController();
    running.current = controller;
    const expected = total === undefined ? {} : { total };
    outcome.value = {};
    progress.value = { done: 0, ...expected };
    const own = await run<T>(path, body, (step) => (progress.value = { ...expected, ...step }), controller.signal).then(
      (result): Outcome<T> => ({ result }),
      (thrown: unknown): Outcome<T> => (controller.signal.aborted ? {} : { error: asApiError(thrown) }),
    );
    running.current = undefined;
    outcome.value = own;
    progress.value = undefined;
    return own;
  };
  return { ...outcome.value, progress: progress.value, start, cancel, clear: () => (outcome.value = {}) };
}

export interface Action {
  readonly busy: boolean;
  readonly error: ApiError | undefined;
  /** Does nothing while another runs. Its failure is in `error`. */
  readonly act: (body: () => Promise<void>) => Promise<void>;
  /** Drops the error. */
  readonly clear: () => void;
}

/** A short operation: whether it is running, and why it failed. */
export function useAction(): Action {
  const busy = useSignal(false);
  const error = useSignal<ApiError | undefined>(undefined);
  const act = async (body: () => Promise<void>): Promise<void> => {
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    try {
      await body();
    } catch (thrown) {
      error.value = asApiError(thrown);
    }
    busy.value = false;
  };
  return { busy: busy.value, error: error.value, act, clear: () => (error.value = undefined) };
}
