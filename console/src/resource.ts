// Owns: data that a page loads, keeps while it loads anew, and drops when it closes. Does not own: requests (api.ts).
import { useEffect, useRef } from "preact/hooks";
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { type ApiError, asApiError } from "./api.ts";
import { outages } from "./reachability.ts";

export interface Resource<T> {
  /** The last that was loaded; it stays while newer data is loaded, so that nothing jumps. */
  readonly data: ReadonlySignal<T | undefined>;
  readonly error: ReadonlySignal<ApiError | undefined>;
  readonly loading: ReadonlySignal<boolean>;
  /** Loads again. */
  readonly reload: () => void;
}

/** Loads when `key` changes: everything that `load` depends on, as a text. */
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiError | undefined>(undefined);
  const loading = useSignal(true);
  const running = useRef<AbortController | undefined>(undefined);
  const latest = useRef(load);
  latest.current = load;
  const reload = useRef(() => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    loading.value = true;
    void latest
      .current(controller.signal)
      .then((value) => {
        if (controller.signal.aborted) return;
        data.value = value;
        error.value = undefined;
      })
      .catch((thrown: unknown) => {
        if (controller.signal.aborted) return;
        error.value = asApiError(thrown);
      })
      .finally(() => {
        if (running.current === controller) loading.value = false;
      });
  });
  // After an outage everything is loaded again.
  const ended = outages.value;
  useEffect(() => {
    reload.current();
    return () => running.current?.abort();
  }, [key, ended]);
  return { data, error, loading, reload: reload.current };
}
