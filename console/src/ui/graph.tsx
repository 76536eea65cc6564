// Owns: drawing a directed graph: its layout, pan and zoom, and moving through it by keyboard. Does not own: what nodes mean. It brings
// dagre, so import it lazily.
import { Graph as Layout, layout } from "@dagrejs/dagre";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { cut } from "./cut.ts";
import "./graph.css";

export interface GraphNode {
  readonly id: string;
  /** What it is, and where. */
  readonly title: string;
  readonly subtitle: string;
  /** In its corner: a time. */
  readonly note?: string | undefined;
  readonly level?: "good" | "bad" | "warning" | undefined;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
}

const NODE = { width: 190, height: 46 };
/** The exact ranking takes seconds for a thousand nodes. */
const EXACT_UP_TO = 200;
const LEAST_PX = 240;
const PAN = 60;
const ZOOM = 1.25;
const LEAST = 0.05;
const MOST = 2.5;

interface Placed {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly (GraphNode & { readonly x: number; readonly y: number })[];
  readonly edges: readonly (GraphEdge & { readonly points: readonly { readonly x: number; readonly y: number }[] })[];
}

function place(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Placed {
  const graph = new Layout();
  graph.setGraph({
    rankdir: "LR",
    nodesep: 16,
    ranksep: 64,
    marginx: 12,
    marginy: 12,
    ranker: nodes.length > EXACT_UP_TO ? "longest-path" : "network-simplex",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...NODE });
  for (const { from, to } of edges) if (graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    nodes: nodes.map((node) => {
      const { x, y } = graph.node(node.id);
      return { ...node, x, y };
    }),
    edges: edges.flatMap((edge) => {
      if (!graph.hasEdge(edge.from, edge.to)) return [];
      const [from, to] = [graph.node(edge.from), graph.node(edge.to)];
      // From side to side: its own points are where the line between the middles meets the border.
      const between = graph.edge(edge.from, edge.to).points.slice(1, -1);
      const points = [
        { x: from.x + NODE.width / 2, y: from.y },
        ...(between.length > 1 ? between : []),
        { x: to.x - NODE.width / 2, y: to.y },
      ];
      return [{ ...edge, points }];
    }),
  };
}

interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export function Graph({
  label,
  nodes,
  edges,
  selected,
  onSelect,
}: {
  readonly label: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly selected: string | undefined;
  readonly onSelect: (id: string) => void;
}) {
  const placed = useMemo(() => place(nodes, edges), [nodes, edges]);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const drag = useRef<{ readonly x: number; readonly y: number; readonly from: View } | undefined>(undefined);

  const fit = useCallback(() => {
    const { clientWidth: width = 0, clientHeight: height = 0 } = box.current ?? {};
    const scale = clamp(Math.min(1, width / placed.width, height / placed.height));
    setView({ scale, x: (width - placed.width * scale) / 2, y: (height - placed.height * scale) / 2 });
  }, [placed]);
  useEffect(fit, [fit]);

  const zoom = useCallback((factor: number, at?: { readonly x: number; readonly y: number }) => {
    const { clientWidth = 0, clientHeight = 0 } = box.current ?? {};
    const { x, y } = at ?? { x: clientWidth / 2, y: clientHeight / 2 };
    setView((now) => {
      const scale = clamp(now.scale * factor);
      const real = scale / now.scale;
      return { scale, x: x - (x - now.x) * real, y: y - (y - now.y) * real };
    });
  }, []);
  const pan = (x: number, y: number): void => setView((now) => ({ ...now, x: now.x + x, y: now.y + y }));

  // Not passive, so that the browser does not zoom the whole page.
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 200), { x: event.clientX - left, y: event.clientY - top });
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [zoom]);

  // A selected node that is out of sight is brought into it.
  useEffect(() => {
    const node = placed.nodes.find(({ id }) => id === selected);
    const element = box.current;
    if (node === undefined || element === null) return;
    setView((now) => {
      const x = now.x + node.x * now.scale;
      const y = now.y + node.y * now.scale;
      const { clientWidth: width, clientHeight: height } = element;
      const inside = x > 40 && x < width - 40 && y > 30 && y < height - 30;
      return inside ? now : { ...now, x: width / 2 - node.x * now.scale, y: height / 2 - node.y * now.scale };
    });
    if (element.contains(document.activeElement) && document.activeElement !== element)
      element.querySelector<SVGGElement>(`[data-node="${CSS.escape(node.id)}"]`)?.focus({ preventScroll: true });
  }, [placed, selected]);

  const select = (id: string | undefined): void => {
    if (id !== undefined) onSelect(id);
  };
  const onKey = (event: KeyboardEvent): void => {
    const handled = event.shiftKey ? panBy(event.key) : moveBy(event.key);
    if (handled || zoomBy(event.key)) event.preventDefault();
  };
  const panBy = (key: string): boolean => {
    const [x, y] = DIRECTIONS[key] ?? [0, 0];
    pan(-x * PAN, -y * PAN);
    return x !== 0 || y !== 0;
  };
  const moveBy = (key: string): boolean => {
    const [x, y] = DIRECTIONS[key] ?? [0, 0];
    if (x === 0 && y === 0) return false;
    const from = selected ?? placed.nodes[0]?.id;
    if (x < 0) select(placed.edges.find(({ to }) => to === from)?.from);
    else if (x > 0) select(placed.edges.find((edge) => edge.from === from)?.to);
    else select(neighbour(placed, from, y));
    return true;
  };
  const zoomBy = (key: string): boolean => {
    if (key === "+" || key === "=") zoom(ZOOM);
    else if (key === "-") zoom(1 / ZOOM);
    else if (key === "0") fit();
    else return false;
    return true;
  };
  const first = selected ?? placed.nodes[0]?.id;
  return (
    <div class="graph">
      <div class="row tools">
        <button type="button" onClick={() => zoom(ZOOM)} aria-label="Zoom in" title="Zoom in (+)">
          +
        </button>
        <button type="button" onClick={() => zoom(1 / ZOOM)} aria-label="Zoom out" title="Zoom out (−)">
          −
        </button>
        <button type="button" onClick={fit} title="Show all (0)">
          Fit
        </button>
        <span class="dim hint">Arrow keys move the selection, with Shift the view; + and − zoom. Drag to move.</span>
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the keys belong to the nodes inside; dragging has buttons and keys next to it */}
      <div
        ref={box}
        class="canvas"
        style={{ height: `min(60vh, ${Math.max(LEAST_PX, placed.height + 24)}px)` }}
        role="group"
        aria-label={label}
        onKeyDown={onKey}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          drag.current = { x: event.clientX, y: event.clientY, from: view };
        }}
        onPointerMove={(event) => {
          const start = drag.current;
          if (start === undefined) return;
          const [x, y] = [event.clientX - start.x, event.clientY - start.y];
          // A click may tremble.
          if (Math.abs(x) + Math.abs(y) < 4) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setView({ ...start.from, x: start.from.x + x, y: start.from.y + y });
        }}
        onPointerUp={() => (drag.current = undefined)}
        onPointerCancel={() => (drag.current = undefined)}
      >
        <svg width="100%" height="100%" role="presentation">
          <defs>
            <marker
              id="graph-arrow"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="9"
              markerHeight="9"
              markerUnits="userSpaceOnUse"
              orient="auto-start-reverse"
            >
              <path d="M0 0 8 4 0 8z" class="head" />
            </marker>
          </defs>
          <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
            {placed.edges.map(({ from, to, points }) => (
              <g key={`${from} ${to}`} class={from === selected || to === selected ? "edge near" : "edge"}>
                <path d={curve(points)} markerEnd="url(#graph-arrow)" />
              </g>
            ))}
            {placed.nodes.map(({ id, title, subtitle, note, level, x, y }) => (
              <g
                key={id}
                data-node={id}
                class={`node ${level ?? ""} ${id === selected ? "selected" : ""}`}
                transform={`translate(${x - NODE.width / 2} ${y - NODE.height / 2})`}
                role="button"
                // Lower case: attributes of SVG elements are taken as they are written.
                tabindex={id === first ? 0 : -1}
                aria-pressed={id === selected}
                onClick={() => onSelect(id)}
                onKeyDown={(event) => {
                  if (event.key !== "Enter" && event.key !== " ") return;
                  event.preventDefault();
                  onSelect(id);
                }}
              >
                <rect width={NODE.width} height={NODE.height} rx="6" />
                <text x="10" y="19" class="title">
                  {cut(title, note === undefined ? 25 : 18)}
                </text>
                {note === undefined ? null : (
                  <text x={NODE.width - 10} y="19" text-anchor="end" class="note">
                    {note}
                  </text>
                )}
                <text x="10" y="36" class="subtitle">
                  {cut(subtitle, 27)}
                </text>
              </g>
            ))}
          </g>
        </svg>
      </div>
    </div>
  );
}

const DIRECTIONS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

const clamp = (scale: number): number => Math.max(LEAST, Math.min(MOST, Number.isFinite(scale) ? scale : 1));

/** The next node up or down, of those in the same column first. */
function neighbour({ nodes }: Placed, from: string | undefined, direction: number): string | undefined {
  const start = nodes.find(({ id }) => id === from);
  if (start === undefined) return undefined;
  const beyond = nodes.filter(({ y }) => (y - start.y) * direction > 1);
  return beyond.toSorted((a, b) => distance(a, start) - distance(b, start))[0]?.id;
}

const distance = (a: { x: number; y: number }, b: { x: number; y: number }): number => Math.abs(a.x - b.x) * 4 + Math.abs(a.y - b.y);

function curve([start, ...rest]: readonly { readonly x: number; readonly y: number }[]): string {
  if (start === undefined) return "";
  let path = `M${start.x} ${start.y}`;
  let before = start;
  for (const point of rest) {
    const half = (before.x + point.x) / 2;
    path += `C${half} ${before.y} ${half} ${point.y} ${point.x} ${point.y}`;
    before = point;
  }
  return path;
}
