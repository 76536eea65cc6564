// Owns: loading anew what has changed, but not more often than can be read, and never instead of a request that runs. Does not own:
// what changed (stream.ts), or loading (resource.ts).
import { useEffect, useRef } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import type { Resource } from "./resource.ts";

/** Faster changes cannot be followed. */
const PAUSE_MS = 300;

/** Calls to it are merged. */
export function useThrottledReload<T>({ loading, reload }: Resource<T>, pauseMs = PAUSE_MS): () => void {
  const due = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const start = useRef(() => {
    if (timer.current !== undefined || loading.peek()) return;
    due.current = false;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      if (due.current) start.current();
    }, pauseMs);
    reload();
  });
  useSignalEffect(() => {
    if (!loading.value && due.current) start.current();
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return useRef(() => {
    due.current = true;
    start.current();
  }).current;
}
