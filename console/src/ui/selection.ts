// Owns: which rows of a list are selected. Does not own: the checkboxes (table.tsx).
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

export interface Selection {
  readonly keys: ReadonlySet<string>;
  readonly has: (key: string) => boolean;
  /** With `range`, the keys in the order in which they are shown: all from the one that was set last. */
  readonly set: (key: string, on: boolean, range?: readonly string[]) => void;
  readonly setAll: (keys: readonly string[], on: boolean) => void;
  readonly clear: () => void;
}

export function useSelection(): Selection {
  const keys = useSignal<ReadonlySet<string>>(new Set());
  const last = useRef<string | undefined>(undefined);
  const setAll = (some: readonly string[], on: boolean): void => {
    const next = new Set(keys.value);
    for (const key of some) {
      if (on) next.add(key);
      else next.delete(key);
    }
    keys.value = next;
  };
  return {
    keys: keys.value,
    has: (key) => keys.value.has(key),
    set(key, on, range = []) {
      const [from, to] = [range.indexOf(last.current ?? ""), range.indexOf(key)];
      setAll(from === -1 || to === -1 ? [key] : range.slice(Math.min(from, to), Math.max(from, to) + 1), on);
      last.current = key;
    },
    setAll,
    clear: () => (keys.value = new Set()),
  };
}
