// Owns: charts over time. Does not own: the figures. Loaded only by pages that draw some: uPlot is a file of its own in the bundle.
import { effect, useSignal } from "@preact/signals";
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

/** The colour of a variable as it is in the current theme. The variable itself may hold both: `light-dark(…)`, which a canvas cannot read. */
function colorOf(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/**
 * A chart of the last minutes, with the newest values next to its title. It stands still while the pointer is over it or it has the focus,
 * so that it can be read; the arrow keys then move along it.
 */
export function Chart({
  title,
  times,
  series,
  format,
  seconds,
  height = 150,
}: {
  readonly title: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** How much time it shows. */
  readonly seconds: number;
  readonly height?: number;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const held = useRef(false);
  /** The index that is read. */
  const at = useSignal<number | undefined>(undefined);
  const id = useId();
  const latest = useRef<uPlot.AlignedData>([[]]);
  latest.current = [[...times], ...series.map(({ values }) => [...values])];
  const lines = useRef(series);
  lines.current = series;
  const axis = useRef(format);
  axis.current = format;
  const names = series.map(({ label }) => label).join("\n");

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const options = optionsOf({
      width: element.clientWidth,
      height,
      seconds,
      series: lines.current,
      format: (value) => axis.current(value),
    });
    const read = (made: uPlot): void => {
      at.value = made.cursor.idx ?? undefined;
    };
    const made = new uPlot({ ...options, hooks: { setCursor: [read] } }, latest.current, element);
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
  }, [names, height, seconds, at]);

  useEffect(() => {
    if (!held.current) plot.current?.setData(latest.current);
  }, [times]);

  const hold = (now: boolean): void => {
    held.current = now;
    if (now) return;
    plot.current?.setCursor({ left: -10, top: -10 });
    plot.current?.setData(latest.current);
  };
  const move = (event: KeyboardEvent): void => {
    const made = plot.current;
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (made === undefined || step === 0) return;
    event.preventDefault();
    const last = made.data[0].length - 1;
    const next = Math.max(0, Math.min(last, (made.cursor.idx ?? last) + step));
    made.setCursor({ left: made.valToPos(made.data[0][next] ?? 0, "x"), top: 10 });
  };

  // While it is held, what is read is what is drawn.
  const shown = held.current ? plot.current?.data : undefined;
  const index = shown === undefined ? undefined : at.value;
  const valueAt = (line: number): number | null | undefined =>
    index === undefined ? series[line]?.values.at(-1) : shown?.[line + 1]?.[index];
  const time = index === undefined ? undefined : shown?.[0][index];
  const say = (value: number | null | undefined): string => (value === null || value === undefined ? "–" : format(value));
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption>
        <span id={id}>{title}</span>
        <span class="chart-time mono">{time === undefined ? "" : CLOCK.format(time * 1_000)}</span>
        <span class="grow" />
        {series.map(({ label, color }, line) => (
          <span key={label} class="chart-value">
            <span class="chart-mark" style={{ background: `var(${color})` }} />
            {label} <b>{say(valueAt(line))}</b>
          </span>
        ))}
      </figcaption>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the same */}
      <div
        ref={place}
        class="chart-place"
        role="img"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the arrow keys read its values
        tabIndex={0}
        aria-label={`${title}: ${series.map(({ label, values }) => `${label} ${say(values.at(-1))}`).join(", ")}`}
        style={{ height: `${height}px` }}
        onPointerEnter={() => hold(true)}
        onPointerLeave={() => hold(false)}
        onFocus={() => hold(true)}
        onBlur={() => hold(false)}
        onKeyDown={move}
      />
    </figure>
  );
}

function optionsOf({
  width,
  height,
  seconds,
  series,
  format,
}: {
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}): uPlot.Options {
  const axis = {
    stroke: () => colorOf("--dim"),
    grid: { stroke: () => colorOf("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    width,
    height,
    // Half of the label at the end of the axis stands to its right.
    padding: [8, 20, 0, 0],
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    legend: { show: false },
    scales: {
      x: { range: (_, __, last) => [(last ?? 0) - seconds, last ?? 0] },
      y: { range: (_, __, most) => [0, most !== null && most > 0 ? most * 1.15 : 1] },
    },
    axes: [
      {
        ...axis,
        space: 70,
        size: 22,
        incrs: [60, 120, 300],
        grid: { show: false },
        values: (_, times) => times.map((time) => MINUTE.format(time * 1_000)),
      },
      { ...axis, space: 34, size: 58, values: (_, values) => values.map(format) },
    ],
    series: [
      {},
      ...series.map(({ label, color, fill }) => ({
        label,
        width: 1.5,
        stroke: () => colorOf(color),
        ...(fill === true ? { fill: () => `color-mix(in srgb, ${colorOf(color)} 12%, transparent)` } : {}),
        points: { show: false },
      })),
    ],
  };
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const MINUTE = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
