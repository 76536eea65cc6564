// Owns: the figures of the last quarter of an hour, for charts: what the server measured, and what came since. Does not own: figures
// (GET /overview).
import { signal } from "@preact/signals";
import type { Overview, Pace } from "../../src/bridges/console/shapes.ts";

/** One a second. */
const MOST = 900;
/** Between two figures that are further apart the line is broken. */
const GAP_MS = 5_000;

/** All figures are known of the seconds in which the page was open. */
export type SampledFigures = Pace & Partial<Overview>;

export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Undefined: nothing was received. */
  readonly figures?: SampledFigures;
}

export const samples = signal<readonly Sample[]>([]);

/** The newest that came while the page was open. */
export const newest = signal<Overview | undefined>(undefined);

/** What the server measured before the page was opened, or while another page was. Those that the page has are not replaced. */
export function fill(paces: readonly Pace[]): void {
  const own = samples.value.flatMap(({ figures }) => figures ?? []);
  const seconds = new Set(own.map(({ at }) => secondOf(at)));
  const all = [...own, ...paces.filter(({ at }) => !seconds.has(secondOf(at)))].toSorted((one, other) => one.at - other.at);
  samples.value = all.reduce<readonly Sample[]>(withFigures, []);
}

export function record(figures: Overview): void {
  newest.value = figures;
  const last = samples.value.at(-1);
  // The answer to a request may be the figures that the stream has sent already.
  if (last !== undefined && figures.at <= last.at) {
    // Unless the server's clock was set back, or another server answers.
    if (last.at - figures.at > GAP_MS) samples.value = [{ at: figures.at, figures }];
    return;
  }
  samples.value = withFigures(samples.value, figures);
}

const secondOf = (at: number): number => Math.round(at / 1_000);

function withFigures(all: readonly Sample[], figures: SampledFigures): readonly Sample[] {
  const last = all.at(-1);
  const gap: readonly Sample[] = last !== undefined && figures.at - last.at > GAP_MS ? [{ at: last.at + 1_000 }] : [];
  return [...all, ...gap, { at: figures.at, figures }].slice(-MOST);
}
