// Owns: noticing that a list has become another since it was loaded, without changing it while it is read.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Overview } from "../../../../src/bridges/console/shapes.ts";
import { useStream } from "../../stream.ts";

/** Whether a figure differs from the one that came first after `loaded` changed. */
export function useChanged(valueOf: (figures: Overview) => number | undefined, loaded: unknown): boolean {
  const first = useSignal<number | undefined>(undefined);
  const changed = useSignal(false);
  useEffect(() => {
    first.value = undefined;
    changed.value = false;
  }, [loaded, first, changed]);
  useStream("figures", (figures) => {
    const value = valueOf(figures);
    first.value ??= value;
    if (value !== first.value) changed.value = true;
  });
  return changed.value;
}
