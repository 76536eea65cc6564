// Owns: charts over time. Does not own: the figures. Loaded only by pages that draw some: uPlot is a file of its own in the bundle.
import { effect } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { theme } from "../theme.ts";
import "./chart.css";

export interface Series {
  readonly label: string;
  /** A variable of style.css: `--accent`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  readonly fill?: boolean;
}

const colorOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * A chart of the last minutes. It stands still while the pointer is over it or it has the focus, so that it can be read; the arrow keys
 * then move along it.
 */
export function Chart({
  title,
  times,
  series,
  format,
  height = 130,
}: {
  readonly title: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly height?: number;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const held = useRef(false);
  const id = useId();
  const data: uPlot.AlignedData = [[...times], ...series.map(({ values }) => [...values])];
  const latest = useRef(data);
  latest.current = data;
  const say = useRef(format);
  say.current = format;

  const names = series.map(({ label }) => label).join("\n");
  const lines = useRef(series);
  lines.current = series;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(
      optionsOf(element.clientWidth, height, lines.current, (value) => say.current(value)),
      latest.current,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    const redraw = (): void => made.redraw(false, true);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", redraw);
    const stop = effect(() => {
      void theme.value;
      queueMicrotask(redraw);
    });
    return () => {
      stop();
      system.removeEventListener("change", redraw);
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [names, height]);

  useEffect(() => {
    if (!held.current) plot.current?.setData(latest.current);
  }, [times]);

  const hold = (now: boolean): void => {
    held.current = now;
    if (!now) plot.current?.setData(latest.current);
  };
  const move = (event: KeyboardEvent): void => {
    const made = plot.current;
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (made === undefined || step === 0) return;
    event.preventDefault();
    const last = made.data[0].length - 1;
    const at = Math.max(0, Math.min(last, (made.cursor.idx ?? last) + step));
    made.setCursor({ left: made.valToPos(made.data[0][at] ?? 0, "x"), top: 10 });
  };
  const now = series.map(({ label, values }) => `${label} ${format(values.at(-1) ?? 0)}`).join(", ");
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the same */}
      <div
        ref={place}
        role="img"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the arrow keys read its values
        tabIndex={0}
        aria-label={`${title}, now: ${now}`}
        onPointerEnter={() => hold(true)}
        onPointerLeave={() => hold(false)}
        onFocus={() => hold(true)}
        onBlur={() => hold(false)}
        onKeyDown={move}
      />
    </figure>
  );
}

function optionsOf(width: number, height: number, series: readonly Series[], format: (value: number) => string): uPlot.Options {
  const axis = {
    stroke: () => colorOf("--dim"),
    grid: { stroke: () => colorOf("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    width,
    height,
    padding: [8, 8, 0, 0],
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    legend: { live: true },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, space: 70, size: 22, grid: { show: false }, values: (_, times) => times.map((time) => CLOCK.format(time * 1_000)) },
      { ...axis, space: 28, size: 52, values: (_, values) => values.map(format) },
    ],
    series: [
      { value: (_, time) => (time === null || time === undefined ? "now" : CLOCK.format(time * 1_000)), label: "Time" },
      ...series.map(({ label, color, fill }) => ({
        label,
        width: 1.5,
        stroke: () => colorOf(color),
        ...(fill === true ? { fill: () => `color-mix(in srgb, ${colorOf(color)} 14%, transparent)` } : {}),
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null || value === undefined ? "–" : format(value)),
      })),
    ],
  };
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
