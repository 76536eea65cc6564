// Owns: causes as a sequence diagram: a lifeline for each actor, an arrow for each message. Does not own: what is selected.
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { isNarrow } from "../../narrow.ts";
import { readable } from "../../ui/actor-link.tsx";
import { Table } from "../../ui/table.tsx";
import { duration } from "../../ui/time.tsx";
import { cut } from "../../ui/cut.ts";
import { whoText } from "../../ui/who.tsx";
import { type Causes, offset, pathTo, type Step, stepText } from "./model.ts";
import { useRoving } from "./roving.ts";
import type { ViewProps } from "./view.ts";

const MOST_LANE = 164;
/** So many lanes as there is room for fit into it; more than that are scrolled. */
const leastLane = (): number => (isNarrow.value ? 76 : 140);
const ROW = 46;
/** Of the letters of a label, on average. */
const LETTER = 7;
/** How far the label of a message to the same actor is from its lane. */
const ASIDE = 46;
const BAR = 10;

export function Sequence({ causes, selected, select }: ViewProps) {
  const { steps, actors } = causes;
  const { box, onKeyDown } = useRoving(steps, selected, select);
  const path = pathTo(causes.byId.get(selected));
  const room = useWidth(box);
  const timeWidth = isNarrow.value ? 64 : 72;
  const lane = Math.max(leastLane(), Math.min(MOST_LANE, Math.floor((room - timeWidth) / (actors.length + 1))));
  const width = timeWidth + lane * (actors.length + 1);
  const height = ROW * steps.length + 12;
  const laneOf = new Map(actors.map((actor, at) => [actor, timeWidth + lane * (at + 1.5)]));
  return (
    <div class="sequence" ref={box}>
      <div class="scroll">
        <div class="lanes" style={{ width: `${width}px` }} aria-hidden="true">
          <span class="lane caller" style={{ left: `${timeWidth}px`, width: `${lane}px` }}>
            <span>{callerOf(causes)}</span>
          </span>
          {actors.map((actor, at) => (
            <span key={actor} class="lane" style={{ left: `${timeWidth + lane * (at + 1)}px`, width: `${lane}px` }} title={readable(actor)}>
              {readable(actor)
                .split(/(?<=^[^/]*\/)/)
                .map((part) => (
                  <span key={part}>{part}</span>
                ))}
            </span>
          ))}
        </div>
        <div
          class="drawing"
          role="group"
          aria-label="Sequence diagram: choose an event"
          style={{ height: `${height}px`, width: `${width}px` }}
        >
          {steps.map((step, at) => (
            <button
              key={step.id}
              type="button"
              data-step={step.id}
              class={`hit ${step.id === selected ? "selected" : ""}`}
              style={{ top: `${ROW * at + 3}px`, height: `${ROW}px` }}
              tabIndex={step.id === selected ? 0 : -1}
              aria-pressed={step.id === selected}
              aria-label={stepText(step)}
              onClick={() => select(step.id)}
              onKeyDown={onKeyDown}
            />
          ))}
          <svg width={width} height={height} aria-hidden="true">
            <defs>
              {["", "on"].map((name) => (
                <marker
                  key={name}
                  id={`arrow-${name}`}
                  class={`tip ${name}`}
                  viewBox="0 0 8 8"
                  refX="7.5"
                  refY="4"
                  markerWidth="9"
                  markerHeight="9"
                  markerUnits="userSpaceOnUse"
                  orient="auto-start-reverse"
                >
                  <path d="M0 0 8 4 0 8z" />
                </marker>
              ))}
            </defs>
            <line class="life caller" x1={timeWidth + lane / 2} x2={timeWidth + lane / 2} y1="0" y2={height} />
            {actors.map((actor) => (
              <line key={actor} class="life" x1={laneOf.get(actor)} x2={laneOf.get(actor)} y1="0" y2={height} />
            ))}
            {steps.map((step, at) => (
              <Row
                key={step.id}
                step={step}
                y={ROW * at}
                from={step.parent === undefined ? timeWidth + lane / 2 : (laneOf.get(step.parent.actor) ?? 0)}
                to={laneOf.get(step.actor) ?? 0}
                selected={step.id === selected}
                onPath={path.has(step.id)}
                edges={[timeWidth, Math.max(width, room)]}
              />
            ))}
          </svg>
        </div>
      </div>
    </div>
  );
}

function useWidth(box: RefObject<HTMLElement>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    // Without its borders.
    const measure = (): void => setWidth(element.clientWidth - 2);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  return width;
}

const callerOf = ({ root: { node } }: Causes): string => (node.cause === undefined ? whoText(node) : "an earlier event");

function Row({
  step,
  y,
  from,
  to,
  selected,
  onPath,
  edges: [left, right],
}: {
  readonly step: Step;
  readonly y: number;
  readonly from: number;
  readonly to: number;
  readonly selected: boolean;
  readonly onPath: boolean;
  /** Between which there is room for labels. */
  readonly edges: readonly [left: number, right: number];
}) {
  const { title, node, waitedMs } = step;
  const letter = node.letter !== undefined;
  const line = y + 30;
  const level = letter ? "bad" : onPath ? "on" : "";
  const forward = to >= from;
  const end = letter ? to + (forward ? -9 : 9) : to + (forward ? -BAR / 2 : BAR / 2);
  const self = from === to;
  // To the side of its lane on which its label has room.
  const side = right - to - ASIDE >= Math.min(title.length * LETTER, to - ASIDE - left) ? 1 : -1;
  const roomy = self ? (side === 1 ? right - to : to - left) - ASIDE : Math.abs(to - from) + 8;
  const text = cut(title, Math.max(6, Math.floor(roomy / LETTER)));
  return (
    <g class={`step ${level} ${selected ? "selected" : ""} ${waitedMs >= 1_000 ? "waited" : ""}`}>
      <text class="time" x={left - 10} y={line + 4} text-anchor="end">
        {offset(step.fromMs)}
      </text>
      {self ? (
        <>
          <path
            class="arrow"
            d={`M${to + (side * BAR) / 2} ${line - 10}h${side * 34}v14h${side * -33}`}
            markerEnd={`url(#arrow-${level})`}
          />
          <text class="label" x={to + side * ASIDE} y={line} text-anchor={side === 1 ? "start" : "end"}>
            {text}
          </text>
        </>
      ) : (
        <>
          <path class="arrow" d={`M${from} ${line}H${end}`} {...(letter ? {} : { markerEnd: `url(#arrow-${level})` })} />
          <text class="label" x={(from + to) / 2} y={line - 6} text-anchor="middle">
            {text}
          </text>
        </>
      )}
      {letter ? (
        <path class="cross" d={`M${to - 6} ${line - 6}l12 12m0 -12l-12 12`} />
      ) : (
        <rect class="bar" x={to - BAR / 2} y={line - 9} width={BAR} height="20" rx="2" />
      )}
    </g>
  );
}

export const SequenceTable = ({ causes: { steps } }: { readonly causes: Causes }) => (
  <Table
    caption="Messages in order"
    rows={steps}
    keyOf={({ id }) => id}
    columns={[
      { head: "When", cell: ({ fromMs }) => offset(fromMs), align: "right" },
      { head: "From", cell: ({ parent, node }) => (parent === undefined ? whoText(node) : readable(parent.actor)) },
      { head: "To", cell: ({ actor }) => readable(actor) },
      { head: "Message", cell: ({ title }) => title },
      { head: "Waited", cell: ({ parent, waitedMs }) => (parent === undefined ? "" : duration(waitedMs)), align: "right" },
      { head: "Result", cell: ({ node }) => (node.letter === undefined ? "handled" : `dead letter: ${node.letter.why}`) },
    ]}
  />
);
