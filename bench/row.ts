import { median } from "./statistics.ts";

export interface Row {
  readonly what: string;
  /** One figure for each round. */
  readonly measured: readonly number[];
  /** `×`: the ratio to another figure of the same round. `/s`: per second. */
  readonly unit: "µs" | "ms" | "bytes" | "×" | "/s";
  /** The most the median may be. */
  readonly target?: number | undefined;
  /** The least the median may be. */
  readonly least?: number | undefined;
  /** Compares the best round with the limit, not the median. For tail latencies, since a busy machine adds a tail of its own. */
  readonly best?: boolean;
  /** Figures of the minimal implementation, for each round. If their median misses the limit, the limit is out of reach. */
  readonly floor?: readonly number[] | undefined;
  /** The limit of a specification. */
  readonly spec?: string;
  /** Processor time of the server for each request. */
  readonly cpuUs?: number | undefined;
}

/** A row as it is printed and stored. */
export interface Summary {
  readonly unit: Row["unit"];
  readonly min: number;
  readonly median: number;
  readonly max: number;
  /** `≤ 35` or `≥ 0.9`. Absent: the row has no limit. */
  readonly limit?: string;
  readonly ok?: boolean;
  /** Median of the minimal implementation. */
  readonly floor?: number;
  readonly spec?: string;
  readonly cpuUs?: number;
}

export const summarize = ({ measured, unit, target, least, best = false, floor, spec, cpuUs }: Row): Summary => {
  const [min, middle, max] = [Math.min(...measured), median(measured), Math.max(...measured)];
  const low = best ? min : middle;
  const high = best ? max : middle;
  return {
    unit,
    min,
    median: middle,
    max,
    ...(target === undefined ? {} : { limit: `≤ ${target}`, ok: low <= target }),
    ...(least === undefined ? {} : { limit: `≥ ${least}`, ok: high >= least }),
    ...(floor === undefined ? {} : { floor: median(floor) }),
    ...(spec === undefined || spec === "none" ? {} : { spec }),
    ...(cpuUs === undefined ? {} : { cpuUs }),
  };
};

const WIDTH = 84;
const COLUMN = 10;

/** Three significant digits; a whole number from 100 on. */
export const figure = (value: number): string => {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
};

export const heading = (name: string, compared: boolean): string =>
  columns(`# ${name}`, ["median", "min", "max", "limit", "floor", "CPU µs", ...(compared ? ["baseline", "change"] : [])], "");

/** A line of the table. `was` is the row of the baseline, null if the baseline has none, undefined without a comparison. */
export const line = (what: string, summary: Summary, was?: Summary | null): string => {
  const { unit, min, median: middle, max, limit = "", ok, floor, spec, cpuUs } = summary;
  const compared = was === undefined ? [] : was === null ? ["none", ""] : [figure(was.median), change(was.median, middle)];
  const verdict = ok === undefined ? "" : ok ? "ok" : "OVER";
  const remark = spec === undefined ? verdict : `${verdict} (spec ${spec})`;
  return columns(
    `${what}, ${unit}`,
    [
      figure(middle),
      figure(min),
      figure(max),
      limit,
      ...[floor, cpuUs].map((value) => (value === undefined ? "" : figure(value))),
      ...compared,
    ],
    remark,
  );
};

/** The change in per cent, with its sign. */
export const change = (from: number, to: number): string => {
  if (from === 0) return to === 0 ? "0 %" : "";
  const per = (to / from - 1) * 100;
  return `${per > 0 ? "+" : ""}${per.toFixed(1)} %`;
};

const columns = (what: string, figures: readonly string[], end: string): string =>
  [what.padEnd(WIDTH), ...figures.map((text) => text.padStart(COLUMN)), ` ${end}`].join(" ").trimEnd();
