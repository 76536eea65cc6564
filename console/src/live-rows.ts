// Owns: numbered rows that arrive while the page is open, and which of them it shows while someone reads. Does not own: loading them.
import { type Signal, signal } from "@preact/signals";

export interface Numbered {
  /** Grows. */
  readonly n: number;
}

export interface LiveRows<T> {
  /** Newest first. */
  readonly rows: Signal<readonly T[]>;
  /** While someone reads: the newest row that is shown. */
  readonly heldAt: Signal<number | undefined>;
  /** New rows, and rows that have changed. */
  readonly add: (rows: readonly T[]) => void;
  readonly hold: (on: boolean) => void;
  /** Shows what came meanwhile, and holds again. */
  readonly catchUp: () => void;
}

/** `most`: as many as the server stores. */
export function liveRows<T extends Numbered>(most: number): LiveRows<T> {
  const rows = signal<readonly T[]>([]);
  const heldAt = signal<number | undefined>(undefined);
  const newest = (): number => rows.value[0]?.n ?? 0;
  return {
    rows,
    heldAt,
    add(some) {
      if (some.length === 0) return;
      const isFirst = rows.value.length === 0;
      const byNumber = new Map(some.map((row) => [row.n, row]));
      const old = rows.value.filter(({ n }) => !byNumber.has(n));
      rows.value = [...byNumber.values(), ...old].toSorted((one, other) => other.n - one.n).slice(0, most);
      // The pointer may have been there before the rows.
      if (isFirst && heldAt.value !== undefined) heldAt.value = newest();
    },
    hold(on) {
      if (on) heldAt.value ??= newest();
      else heldAt.value = undefined;
    },
    catchUp() {
      heldAt.value = newest();
    },
  };
}
