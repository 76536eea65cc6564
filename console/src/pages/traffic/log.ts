// Owns: the rows of traffic that the page has, and which of them it shows while somebody reads. Does not own: loading them.
import { type Signal, signal } from "@preact/signals";
import type { TrafficRow } from "../../../../src/bridges/console/shapes.ts";

/** As many as the server keeps. */
const MOST = 2_000;

export interface TrafficLog {
  /** Newest first. */
  readonly rows: Signal<readonly TrafficRow[]>;
  /** While somebody reads: the newest row that is shown. */
  readonly heldAt: Signal<number | undefined>;
  /** New rows, and rows that have changed. */
  readonly add: (rows: readonly TrafficRow[]) => void;
  readonly hold: (on: boolean) => void;
  /** Shows what came meanwhile, and holds again. */
  readonly catchUp: () => void;
}

export function trafficLog(): TrafficLog {
  const rows = signal<readonly TrafficRow[]>([]);
  const heldAt = signal<number | undefined>(undefined);
  const newest = (): number => rows.value[0]?.n ?? 0;
  return {
    rows,
    heldAt,
    add(some) {
      if (some.length === 0) return;
      const byNumber = new Map(some.map((row) => [row.n, row]));
      const old = rows.value.filter(({ n }) => !byNumber.has(n));
      rows.value = [...byNumber.values(), ...old].toSorted((one, other) => other.n - one.n).slice(0, MOST);
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

export interface TrafficFilter {
  readonly method: string;
  readonly session: string;
  readonly status: string;
  readonly era: string;
  readonly search: string;
}

/** `inText`: the rows whose messages have the text that is searched. */
export function matches(row: TrafficRow, { method, session, status, era, search }: TrafficFilter, inText?: ReadonlySet<number>): boolean {
  if (method !== "" && row.method !== method) return false;
  if (session !== "" && row.session !== session) return false;
  if (status !== "" && row.status !== status) return false;
  if (era !== "" && row.era !== era) return false;
  if (search === "" || inText?.has(row.n) === true) return true;
  const text = [row.method, row.name, row.session, row.client, row.principal, row.peer, row.error?.message, row.code]
    .join("\n")
    .toLowerCase();
  return text.includes(search.toLowerCase());
}
