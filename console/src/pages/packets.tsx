// Owns: the page about packets: capabilities, how they lead to one another, a search in their messages, and the newest packets.
import { Link } from "wouter-preact";
import type { CapabilityRow, PageOf } from "../../../src/bridges/console/shapes.ts";
import { get } from "../api.ts";
import { useParameter } from "../page-state.ts";
import { useResource } from "../resource.ts";
import { Filters, TextFilter } from "../ui/filters.tsx";
import { None } from "../ui/none.tsx";
import { OpenButton, type OpenRow, useOpenRow } from "../ui/open-row.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Split } from "../ui/panel.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, ErrorNote, Loading } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { RefreshButton, usePolling } from "./lists/polling.tsx";
import { CapabilityPanel } from "./packets/capability.tsx";
import { Plan } from "./packets/plan.tsx";
import { Recent } from "./packets/recent.tsx";
import { CapabilitySearch } from "./packets/search.tsx";
import "../ui/lists.css";

const WHAT = "capabilities, and the packets that request them";

export function Packets() {
  return (
    <RequireAbility ability="packets" title="Packets" what={WHAT}>
      <PacketPage />
    </RequireAbility>
  );
}

function PacketPage() {
  const [tab, setTab] = useParameter("tab", "capabilities");
  const list = useResource("capabilities", (signal) => get<PageOf<CapabilityRow>>("/packets/capabilities", undefined, signal));
  usePolling(list.reload, 10_000);
  const all = list.data.value?.items;
  return (
    <>
      <PageHead title="Packets" what={WHAT}>
        <RefreshButton reload={list.reload} />
      </PageHead>
      {list.error.value === undefined ? null : <ErrorNote error={list.error.value} retry={list.reload} />}
      <Tabs
        label="Packets"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: "capabilities", label: "Capabilities", ...(all === undefined ? {} : { count: all.length }) },
          { id: "recent", label: "Recent packets" },
          { id: "plan", label: "Plan" },
          { id: "search", label: "Search" },
        ]}
      >
        {tab === "recent" ? (
          <Recent />
        ) : all === undefined ? (
          list.error.value === undefined ? (
            <Loading what="the capabilities" />
          ) : null
        ) : tab === "plan" ? (
          <Plan capabilities={all} />
        ) : tab === "search" ? (
          <CapabilitySearch capabilities={all} />
        ) : (
          <CapabilityList all={all} />
        )}
      </Tabs>
    </>
  );
}

function CapabilityList({ all }: { readonly all: readonly CapabilityRow[] }) {
  const [search, setSearch] = useParameter("search");
  const open = useOpenRow();
  const text = search.toLowerCase();
  const rows = all.filter(({ id, intent, requires, provides }) =>
    [id, intent, ...requires, ...provides].join("\n").toLowerCase().includes(text),
  );
  const opened = all.find(({ id }) => id === open.key);
  if (all.length === 0)
    return (
      <Empty title="No capabilities">
        <span>
          A module offers one with <code>capability</code> or <code>actorCapability</code>. With <code>--packets</code>, packets reach every
          kind of actors, too.
        </span>
      </Empty>
    );
  return (
    <>
      <Filters>
        <TextFilter value={search} placeholder="Name, intent, field …" onChange={setSearch} />
      </Filters>
      {rows.length === 0 ? (
        <Empty title="Nothing matches">Change or clear the filter.</Empty>
      ) : (
        <Split panel={opened === undefined ? undefined : <CapabilityPanel capability={opened} onClose={open.close} />}>
          <Table
            caption="Capabilities"
            rows={rows}
            keyOf={({ id }) => id}
            open={open.key}
            onOpen={({ id }) => open.toggle(id)}
            columns={columns(open, opened !== undefined)}
          />
        </Split>
      )}
    </>
  );
}

const fields = (names: readonly string[]) => (names.length === 0 ? <None /> : <span class="mono">{names.join(", ")}</span>);

const columns = (open: OpenRow, narrow: boolean): readonly Column<CapabilityRow>[] => {
  const name: Column<CapabilityRow> = {
    head: "Capability",
    cell: ({ id }) => (
      <OpenButton of={id} open={open} mono>
        {id}
      </OpenButton>
    ),
  };
  const actors: Column<CapabilityRow> = {
    head: "Actors",
    align: "right",
    cell: ({ kind, actors: count }) =>
      kind === undefined ? <None /> : <Link href={`/actors?kind=${kind}`}>{(count ?? 0).toLocaleString()}</Link>,
  };
  const intent: Column<CapabilityRow> = { head: "Intent", fill: true, cell: (row) => <span title={row.intent}>{row.intent}</span> };
  if (narrow) return [name, intent];
  return [
    name,
    { head: "Requires", wide: true, cell: ({ requires }) => fields(requires) },
    { head: "Provides", wide: true, cell: ({ provides }) => fields(provides) },
    actors,
    intent,
  ];
};
