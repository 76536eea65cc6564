// Owns: causes on a timeline: waits, work and failed attempts as bars. Does not own: what is selected.
import { useMemo } from "preact/hooks";
import { useParameter } from "../../page-state.ts";
import { readable } from "../../ui/actor-link.tsx";
import { Table } from "../../ui/table.tsx";
import { counted, duration } from "../../ui/time.tsx";
import { type Causes, offset, type Step } from "./model.ts";
import { useRoving } from "./roving.ts";
import type { ViewProps } from "./view.ts";

export function Timeline({ causes, selected, select }: ViewProps) {
  const { steps } = causes;
  const { box, onKeyDown } = useRoving(steps, selected, select);
  const [chosen, choose] = useParameter("scale");
  const even = chosen === "" ? isUneven(causes) : chosen === "even";
  const scale = useMemo(() => (even ? evenScale(causes) : trueScale(causes)), [causes, even]);
  return (
    <div class="timeline" ref={box}>
      <div class="row legend">
        <span>
          <i class="key wait" /> waited
        </span>
        <span>
          <i class="key work" /> handled
        </span>
        <span>
          <i class="key dead" /> dead letter
        </span>
        <span class="grow" />
        <label class="row">
          <input type="checkbox" checked={even} onChange={(event) => choose(event.currentTarget.checked ? "even" : "true")} /> Shorten long
          waits
        </label>
      </div>
      <div class="bars" role="group" aria-label="Timeline: choose an event">
        <div class="axis" aria-hidden="true">
          <span />
          <span class="track">
            {scale.ticks.map((ms) => (
              <span key={ms} class="tick" style={{ left: percent(scale.place(ms)) }}>
                {offset(ms)}
              </span>
            ))}
          </span>
        </div>
        {steps.map((step) => (
          <Bar key={step.id} step={step} scale={scale} selected={step.id === selected} select={select} press={onKeyDown} />
        ))}
      </div>
    </div>
  );
}

const percent = (share: number): string => `${(share * 100).toFixed(3)}%`;
const MOST_INDENT = 6;

function Bar({
  step,
  scale,
  selected,
  select,
  press,
}: {
  readonly step: Step;
  readonly scale: Scale;
  readonly selected: boolean;
  readonly select: (id: string) => void;
  readonly press: (event: KeyboardEvent) => void;
}) {
  const { id, node, parent, title, actor, fromMs, toMs, waitedMs } = step;
  const from = scale.place(fromMs);
  const waitFrom = parent === undefined ? from : scale.place(Math.max(parent.fromMs, fromMs - waitedMs));
  const letter = node.letter !== undefined;
  const attempts = node.attempts ?? 0;
  return (
    <button
      type="button"
      data-step={id}
      class={`step ${letter ? "bad" : ""} ${selected ? "selected" : ""}`}
      tabIndex={selected ? 0 : -1}
      aria-pressed={selected}
      onClick={() => select(id)}
      onKeyDown={press}
    >
      <span class="name" style={{ paddingLeft: `${Math.min(node.depth, MOST_INDENT) * 12}px` }}>
        <strong>{title}</strong> <small>{readable(actor)}</small>
        <span class="visually-hidden">{parent === undefined ? "" : `, caused by ${parent.title} on ${readable(parent.actor)}, `}</span>
      </span>
      <span class="track">
        {from > waitFrom ? <i class="wait" style={{ left: percent(waitFrom), width: percent(from - waitFrom) }} /> : null}
        {Array.from({ length: Math.min(attempts, 5) }, (_, at) => (
          <i key={at} class="attempt" style={{ left: percent(waitFrom + ((from - waitFrom) * (at + 0.5)) / Math.min(attempts, 5)) }} />
        ))}
        {letter ? (
          <i class="dead" style={{ left: percent(from) }}>
            ✕
          </i>
        ) : (
          <i class="work" style={{ left: percent(from), width: percent(scale.place(toMs) - from) }} />
        )}
      </span>
      <span class="took">
        {letter ? (attempts > 0 ? `✕ after ${counted(attempts, "try", "tries")}` : "✕ dead letter") : offset(fromMs)}
      </span>
    </button>
  );
}

// ── scales ──────────────────────────────────────────────────────────────────

interface Scale {
  /** Milliseconds since the start → a share of the width. */
  place(ms: number): number;
  readonly ticks: readonly number[];
}

/** Room for the last label. */
const USED = 0.97;

function trueScale({ spanMs }: Causes): Scale {
  const span = Math.max(spanMs, 1);
  const step = niceStep(span / 5);
  const ticks: number[] = [];
  for (let ms = 0; ms <= span; ms += step) ticks.push(ms);
  return { place: (ms) => (ms / span) * USED, ticks };
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1) * power;
}

const momentsOf = ({ steps }: Causes): readonly number[] =>
  [...new Set([0, ...steps.flatMap(({ fromMs, toMs }) => [fromMs, toMs])])].toSorted((a, b) => a - b);

/** A few waits are most of the time: on a true scale everything else would be a line. */
function isUneven(causes: Causes): boolean {
  const moments = momentsOf(causes);
  if (moments.length < 4) return false;
  const gaps = moments.slice(1).map((ms, at) => ms - (moments[at] ?? 0));
  return Math.max(...gaps) > causes.spanMs * 0.7 && causes.spanMs > 1_000;
}

/** Between two moments the width grows with the logarithm of the time: the order and the rough length stay visible. */
function evenScale(causes: Causes): Scale {
  const moments = momentsOf(causes);
  const places = [0];
  for (let at = 1; at < moments.length; at += 1)
    places.push((places[at - 1] ?? 0) + Math.log2(2 + (moments[at] ?? 0) - (moments[at - 1] ?? 0)));
  const whole = (places.at(-1) ?? 0) || 1;
  const place = (ms: number): number => {
    let at = moments.findIndex((moment) => moment >= ms);
    if (at < 0) at = moments.length - 1;
    const [from, to] = [moments[at - 1] ?? 0, moments[at] ?? 0];
    const [left, right] = [places[at - 1] ?? 0, places[at] ?? 0];
    const share = to === from ? 1 : (ms - from) / (to - from);
    return ((left + (right - left) * share) / whole) * USED;
  };
  const ticks: number[] = [];
  for (const ms of moments) if (ticks.every((other) => Math.abs(place(other) - place(ms)) > 0.13)) ticks.push(ms);
  return { place, ticks };
}

export const TimelineTable = ({ causes: { steps } }: { readonly causes: Causes }) => (
  <Table
    caption="Waits and durations"
    rows={steps}
    keyOf={({ id }) => id}
    columns={[
      { head: "Event", cell: ({ title }) => title },
      { head: "On", cell: ({ actor }) => readable(actor) },
      { head: "Since the start", cell: ({ fromMs }) => offset(fromMs), align: "right" },
      { head: "Waited", cell: ({ parent, waitedMs }) => (parent === undefined ? "" : duration(waitedMs)), align: "right" },
      { head: "Took", cell: ({ node }) => (node.ms === undefined ? "" : duration(node.ms)), align: "right" },
      { head: "Failed attempts", cell: ({ node }) => node.attempts ?? "", align: "right" },
      { head: "Result", cell: ({ node }) => (node.letter === undefined ? "handled" : `dead letter: ${node.letter.why}`) },
    ]}
  />
);
