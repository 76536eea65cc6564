// Owns: the figures of the last five minutes, for charts; they outlive the page that shows them. Does not own: figures (GET /overview).
import { signal } from "@preact/signals";
import type { Overview } from "../../src/bridges/console/shapes.ts";

/** One figure a second, for five minutes. */
const MOST = 300;
/** Between two figures that are further apart the line is broken. */
const GAP_MS = 5_000;

export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Undefined: nothing was received. */
  readonly figures?: Overview;
}

export const samples = signal<readonly Sample[]>([]);

export function record(figures: Overview): void {
  const last = samples.value.at(-1);
  // The answer to a request may be the figures that the stream has sent already.
  if (last !== undefined && figures.at <= last.at) {
    // Unless the server's clock was set back, or another server answers.
    if (last.at - figures.at > GAP_MS) samples.value = [{ at: figures.at, figures }];
    return;
  }
  const gap: readonly Sample[] = last !== undefined && figures.at - last.at > GAP_MS ? [{ at: last.at + 1_000 }] : [];
  samples.value = [...samples.value, ...gap, { at: figures.at, figures }].slice(-MOST);
}
