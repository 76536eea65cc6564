// Owns: docs/images/speed.svg, README's chart of calls per second, made from bench/baseline.json. Does not own: its table (figure-tables.ts).
import type { Figures } from "./figures.ts";
import { rounded } from "./figure-tables.ts";

interface Bar {
  readonly label: string;
  readonly note: string;
  readonly bench: string;
  readonly row: string;
  readonly ours?: true;
}

const CALL = "tools/call over HTTP: ";
const BARS: readonly Bar[] = [
  { label: "Troupe", note: "state in memory", bench: "http-call", row: "memory, in a session", ours: true },
  { label: "node:http", note: "a bare echo, no MCP", bench: "http-call", row: "a bare node:http echo" },
  { label: "Troupe", note: "on disk before the reply", bench: "http-call", row: "on disk, one actor for all", ours: true },
  { label: "mcp-lite", note: "no sessions", bench: "http-peers", row: "mcp-lite, no sessions" },
  { label: "FastMCP (TypeScript)", note: "in a session", bench: "http-peers", row: "FastMCP, in a session" },
  { label: "Official SDK v2", note: "2026-07-28", bench: "http-peers", row: "official SDK v2, 2026-07-28" },
  {
    label: "Durable Object",
    note: "workerd, on disk",
    bench: "http-peers",
    row: "a Durable Object of workerd, on disk",
  },
  { label: "Official SDK v1", note: "in a session", bench: "http-peers", row: "official SDK v1, in a session" },
];

const WIDTH = 760;
const ROW = 34;
const TOP = 46;
const LEFT = 310;
/** Leaves room for the longest figure next to the longest bar. */
const LONGEST = WIDTH - LEFT - 80;

/** Throws if the baseline lacks a row. */
export function speedChart(figures: Figures): string {
  const bars = BARS.map((bar) => {
    const found = figures[bar.bench]?.[CALL + bar.row];
    if (found === undefined) throw new Error(`bench/baseline.json has no ${JSON.stringify(CALL + bar.row)} of ${bar.bench}.`);
    return { ...bar, rate: found.median };
  }).toSorted((one, other) => other.rate - one.rate);
  const most = Math.max(...bars.map(({ rate }) => rate));
  const drawn = bars.map(({ label, note, rate, ours }, index) => {
    const y = TOP + index * ROW;
    const width = Math.max(2, (rate / most) * LONGEST).toFixed(1);
    return [
      `  <text class="${ours === true ? "label ours" : "label"}" x="${LEFT - 12}" y="${y + 18}" text-anchor="end">${label} <tspan class="note">${note}</tspan></text>`,
      `  <rect class="${ours === true ? "bar ours" : "bar"}" x="${LEFT}" y="${y + 4}" width="${width}" height="20" rx="3" />`,
      `  <text class="figure" x="${(LEFT + Number(width) + 8).toFixed(1)}" y="${y + 19}">${rounded(rate, 3)}</text>`,
    ].join("\n");
  });
  const height = TOP + bars.length * ROW + 12;
  const description = bars.map(({ label, note, rate }) => `${label}, ${note}: ${rounded(rate, 3)}`).join("; ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14">
  <title id="title">Tool calls per second over HTTP</title>
  <desc id="description">${description}.</desc>
  <style>
    .page { fill: #ffffff }
    text { fill: #1f2328 }
    .head { font-weight: 600 }
    .note { fill: #59636e; font-size: 12px }
    .label.ours { font-weight: 600 }
    .bar { fill: #8c959f }
    .bar.ours { fill: #1a7f37 }
    .figure { font-size: 13px; font-variant-numeric: tabular-nums }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 }
      text { fill: #f0f6fc }
      .note { fill: #9198a1 }
      .bar { fill: #656c76 }
      .bar.ours { fill: #3fb950 }
    }
  </style>
  <rect class="page" width="${WIDTH}" height="${height}" rx="8" />
  <text class="head" x="20" y="28">Tool calls per second over HTTP, 32 connections, one core for the server</text>
${drawn.join("\n")}
</svg>
`;
}
