// Owns: stories of parts that show data: tables, trees, charts, pages.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Json } from "../../src/core/contract/index.ts";
import { liveRows } from "../src/live-rows.ts";
import { CapabilityPanel } from "../src/pages/packets/capability.tsx";
import { Result } from "../src/pages/query/result.tsx";
import { Badge } from "../src/ui/badge.tsx";
import { Chart } from "../src/ui/chart.tsx";
import { Fact, Facts } from "../src/ui/facts.tsx";
import { JsonTree } from "../src/ui/json-tree.tsx";
import { LiveList } from "../src/ui/live-list.tsx";
import { Pager } from "../src/ui/pager.tsx";
import { useSelection } from "../src/ui/selection.ts";
import { Sparkline } from "../src/ui/sparkline.tsx";
import { SortedTable, Table } from "../src/ui/table.tsx";
import { Tabs } from "../src/ui/tabs.tsx";
import { duration } from "../src/ui/time.tsx";
import type { Stories } from "./main.tsx";

interface Row {
  readonly name: string;
  readonly status: string;
  readonly ms: number;
}

const ROWS: readonly Row[] = [
  { name: "<b>not bold</b>", status: "ok", ms: 3 },
  { name: "report", status: "error", ms: 1_200 },
  { name: "a-name-without-any-place-to-break-it-".repeat(6), status: "running", ms: 40 },
];
const columns = [
  { head: "Name", cell: ({ name }: Row) => name, sort: ({ name }: Row) => name },
  { head: "Status", cell: ({ status }: Row) => <Badge word={status} /> },
  { head: "Time", cell: ({ ms }: Row) => duration(ms), align: "right", sort: ({ ms }: Row) => ms },
] as const;

const STATE: Json = {
  title: "The <i>torch</i>",
  count: 12,
  open: true,
  none: null,
  long: "It goes on and on. ".repeat(40),
  people: Array.from({ length: 30 }, (_, n) => ({ name: `Person ${n}`, age: n })),
  nested: { one: { two: { three: { four: [1, 2, [3]] } } } },
};
const TIMES = Array.from({ length: 60 }, (_, n) => 1_795_900_000 + n);
const WAVE = TIMES.map((_, n) => 50 + Math.round(40 * Math.sin(n / 6)));

export const dataStories: Stories = {
  Table: () => <Table caption="Calls" columns={columns} rows={ROWS} keyOf={({ name }) => name} />,
  "Table, sorted and selected": function Selected() {
    const selection = useSelection();
    return (
      <SortedTable
        caption="Calls that can be selected"
        columns={columns}
        rows={ROWS}
        keyOf={({ name }) => name}
        nameOf={({ name }) => name}
        selection={selection}
        otherwise="-time"
      />
    );
  },
  "Rows of a query": () => (
    <Result
      result={{
        columns: ["actor", "at", "count(*)", "count(*)", "state"],
        rows: [
          ["counter/main", 1_760_000_000_000, 12, 1, '{"count":12}'],
          [`incident/${"x".repeat(120)}`, null, 3, 0.5, "text without any place to break it ".repeat(8)],
        ],
        ms: 12,
        cut: "rows",
        shortened: 1,
      }}
    />
  ),
  "Table without rows": () => <Table caption="No calls" columns={columns} rows={[]} keyOf={({ name }) => name} />,
  "Live list": function Live() {
    const stopped = useSignal(false);
    const live = useMemo(() => {
      const rows = liveRows<Row & { readonly n: number }>(2_000);
      rows.add(ROWS.map((row, n) => ({ ...row, n })));
      return rows;
    }, []);
    return (
      <LiveList
        live={live}
        found={live.rows.value}
        stopped={stopped}
        open=""
        note={(count) => `${count} of the newest 2,000`}
        empty="None"
        older={() => undefined}
      >
        {(rows) => <Table caption="Live calls" columns={columns} rows={rows} keyOf={({ n }) => String(n)} />}
      </LiveList>
    );
  },
  Capability: () => (
    <CapabilityPanel
      capability={{
        id: "reading_list",
        intent: "Keep a list of <b>books</b> to read",
        requires: ["text"],
        provides: [],
        runs: "actor",
        effects: ["counter lists"],
        kind: "reading-list",
        shared: false,
        persistence: "disk",
        actors: 12,
        searchable: ["payload:add"],
        parameters: { type: "object" },
      }}
      onClose={() => undefined}
    />
  ),
  Pager: () => (
    <>
      <Pager
        pages={{ after: "", seen: [], open: () => undefined, reset: () => undefined }}
        count={50}
        size={50}
        next="50"
        total={1_000_000}
      />
      <Pager pages={{ after: "", seen: [], open: () => undefined, reset: () => undefined }} count={12} size={50} next={undefined} />
    </>
  ),
  Tabs: function Tabbed() {
    const at = useSignal("state");
    return (
      <Tabs
        label="An actor"
        value={at.value}
        onChange={(id) => (at.value = id)}
        tabs={[
          { id: "state", label: "State" },
          { id: "history", label: "History", count: 1_204 },
          { id: "relations", label: "Relations" },
        ]}
      >
        {at.value}
      </Tabs>
    );
  },
  "JSON tree": () => <JsonTree label="A state" value={STATE} search changed={{ n: 1, paths: new Set(["/count", "/people/2/age"]) }} />,
  "JSON tree of a text": () => <JsonTree label="A text" value="Only a text." />,
  Facts: () => (
    <>
      <Facts across>
        <Fact name="Event">1,204</Fact>
        <Fact name="State">12.0 KiB</Fact>
        <Fact name="Parent" />
      </Facts>
      <Facts>
        <Fact name="Who">ann</Fact>
        <Fact name="Version of its kind">3</Fact>
        <Fact name="Id">
          <code>{"0123456789abcdef".repeat(8)}</code>
        </Fact>
      </Facts>
    </>
  ),
  Chart: () => (
    <Chart
      seconds={60}
      title="Turns per second"
      times={TIMES}
      format={(value) => String(value)}
      series={[{ label: "turns", color: "--accent", values: WAVE, fill: true }]}
    />
  ),
  "Chart without data": () => (
    <Chart seconds={60} title="Nothing yet" times={[]} format={String} series={[{ label: "turns", color: "--accent", values: [] }]} />
  ),
  Sparkline: () => <Sparkline values={WAVE} />,
};
