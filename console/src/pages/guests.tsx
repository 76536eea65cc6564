// Owns: the list of WebAssembly guests, and what can be done with them. Does not own: one guest (guests/guest.tsx), or its actor's page.
import type { Collected, GuestRow, PageOf } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { asApiError, get, post } from "../api.ts";
import { useParameter } from "../page-state.ts";
import { useResource } from "../resource.ts";
import { ActorLink } from "../ui/actor-link.tsx";
import { Badge } from "../ui/badge.tsx";
import { confirm } from "../ui/confirm.tsx";
import { Choice, Filters, TextFilter } from "../ui/filters.tsx";
import { None } from "../ui/none.tsx";
import { OpenButton, type OpenRow, useOpenRow } from "../ui/open-row.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Pager, usePages } from "../ui/pager.tsx";
import { Split } from "../ui/panel.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { counted, bytes, duration, Until } from "../ui/time.tsx";
import { toast } from "../ui/toasts.tsx";
import { Guest } from "./guests/guest.tsx";
import { guestStatus } from "./guests/status.ts";
import { RefreshButton, usePolling } from "./lists/polling.tsx";

const SIZE = 100;
const WHAT = "actors that are written in WebAssembly";

export function Guests() {
  return (
    <RequireAbility ability="guests" title="Guests" what={WHAT}>
      <GuestList />
    </RequireAbility>
  );
}

function GuestList() {
  const pages = usePages();
  const [status, setStatus] = useParameter("status");
  const [search, setSearch] = useParameter("search");
  const open = useOpenRow();
  const list = useResource(`guests ${status} ${search} ${pages.after}`, (signal) =>
    get<PageOf<GuestRow>>("/guests", { status, search, after: pages.after, limit: SIZE }, signal),
  );
  usePolling(list.reload);
  return (
    <>
      <PageHead title="Guests" what={WHAT}>
        {can("run") ? (
          <button type="button" class="small" onClick={() => void collect()}>
            Drop unused contents
          </button>
        ) : null}
        <RefreshButton reload={list.reload} />
      </PageHead>
      <Filters>
        <TextFilter
          value={search}
          placeholder="Name of a guest or a manifest …"
          onChange={(value) => {
            pages.reset();
            setSearch(value);
          }}
          delayed
        />
        <Choice
          label="Status"
          all="Not stopped"
          value={status}
          values={["running", "paused", "failed", "stopped"]}
          onChange={(value) => {
            pages.reset();
            setStatus(value);
          }}
        />
      </Filters>
      <Loaded resource={list} what="guests">
        {({ items: rows, next }) =>
          rows.length === 0 && pages.after === "" && open.key === "" ? (
            status === "" && search === "" ? (
              <Empty title="No guests">
                <span>
                  A guest is an actor whose code is a WebAssembly component, with a manifest that says what it may do. A Theater client or
                  an MCP client starts one with <code>start_actor</code>; the page theater.md of the documentation shows how.
                </span>
              </Empty>
            ) : (
              <Empty title="Nothing matches">Change or clear the filters.</Empty>
            )
          ) : (
            <Split panel={open.key === "" ? undefined : <Guest key={open.key} of={open.key} onClose={open.close} changed={list.reload} />}>
              <div>
                <Table
                  caption="Guests"
                  rows={rows}
                  keyOf={({ key }) => key}
                  open={open.key}
                  onOpen={({ key }) => open.toggle(key)}
                  columns={columns(open, open.key !== "")}
                />
                <Pager pages={pages} count={rows.length} next={next} size={SIZE} />
              </div>
            </Split>
          )
        }
      </Loaded>
    </>
  );
}

async function collect(): Promise<void> {
  const yes = await confirm({
    title: "Drop unused contents?",
    text: "Manifests, components and states that no label, no manifest and no live guest names are deleted. Events that name them stay, but such calls can no longer be run again.",
    action: "Drop them",
    danger: true,
  });
  if (yes === undefined) return;
  try {
    const { dropped, bytes: size } = await post<Collected>("/guests/collect");
    toast(`Dropped ${counted(dropped, "content")}, ${bytes(size)}.`);
  } catch (error) {
    toast(asApiError(error).message, "failed");
  }
}

function columns(open: OpenRow, narrow: boolean): readonly Column<GuestRow>[] {
  const guest: Column<GuestRow> = {
    head: "Guest",
    cell: ({ key }) => (
      <OpenButton of={key} open={open}>
        {key}
      </OpenButton>
    ),
  };
  const status: Column<GuestRow> = {
    head: "Status",
    cell: (row) => (
      <span title={row.why}>
        <Badge word={guestStatus(row)} />
      </span>
    ),
  };
  const manifest: Column<GuestRow> = { head: "Manifest", fill: true, cell: ({ name, origin }) => <span title={origin}>{name}</span> };
  if (narrow) return [guest, status, manifest];
  return [
    guest,
    status,
    manifest,
    { head: "Calls", align: "right", cell: ({ calls }) => calls.toLocaleString() },
    {
      head: "Failed",
      align: "right",
      wide: true,
      cell: ({ measured }) =>
        measured === undefined ? (
          <None why="No call has ended since the server started." />
        ) : measured.failed === 0 ? (
          <span class="dim">0</span>
        ) : (
          <span class="bad-text">{measured.failed.toLocaleString()}</span>
        ),
    },
    { head: "Slowest", align: "right", wide: true, cell: ({ measured }) => (measured === undefined ? "" : duration(measured.maxMs)) },
    {
      head: "Memory",
      align: "right",
      wide: true,
      cell: ({ measured }) => (measured?.memoryBytes === undefined ? "" : bytes(measured.memoryBytes)),
    },
    {
      head: "Supervisor",
      wide: true,
      cell: ({ parent }) => (parent === undefined ? <None /> : <ActorLink id={parent} />),
    },
    { head: "Last call", align: "right", wide: true, cell: ({ lastAt }) => <Until at={lastAt} /> },
  ];
}
