// Owns: who is connected, and which client is slow. Does not own: their requests (traffic.tsx).
import { Link } from "wouter-preact";
import type { KindShape, PageOf, SeenCaller, SessionRow } from "../../../src/bridges/console/shapes.ts";
import { about } from "../about.ts";
import { get } from "../api.ts";
import { useParameter } from "../page-state.ts";
import { isSession, sessionLabel } from "../session-label.ts";
import { useResource } from "../resource.ts";
import { readable } from "../ui/actor-link.tsx";
import { ConsoleBadge, RequestCount, WAITING } from "../ui/client.tsx";
import { Choice, Filters, TextFilter } from "../ui/filters.tsx";
import { None } from "../ui/none.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { ranMs, SlowBar, Waited } from "../ui/slow-bar.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { SortedTable } from "../ui/table.tsx";
import { duration, Until } from "../ui/time.tsx";
import { callerOf, callerParameters, REVISIONS } from "../viewer.ts";
import { RefreshButton, usePolling } from "./lists/polling.tsx";

const WHAT = "who is connected, and how long each waits";

export function Sessions() {
  return (
    <RequireAbility ability="sessions" title="Sessions" what={WHAT}>
      <SessionList />
    </RequireAbility>
  );
}

function SessionList() {
  const [search, setSearch] = useParameter("search");
  const [revision, setRevision] = useParameter("revision");
  const list = useResource("sessions", (signal) => get<PageOf<SessionRow>>("/sessions", { limit: 500 }, signal));
  const callers = useResource("callers", (signal) => get<PageOf<SeenCaller>>("/callers", undefined, signal));
  usePolling(list.reload);
  const all = list.data.value?.items ?? [];
  const rows = all.filter(
    (row) =>
      (revision === "" || row.revision === revision) &&
      [row.name, row.client, row.principal, row.peer].join("\n").toLowerCase().includes(search.toLowerCase()),
  );
  const most = Math.max(0, ...rows.map(ranMs));
  return (
    <>
      <PageHead title="Sessions" what={WHAT}>
        <RefreshButton reload={list.reload} />
      </PageHead>
      <Filters>
        <TextFilter value={search} placeholder="Client, principal, session …" onChange={setSearch} />
        <Choice
          label="Protocol revision"
          value={revision}
          values={[...new Set(all.map((row) => row.revision))].toSorted()}
          onChange={setRevision}
        />
      </Filters>
      <Loaded resource={list} what="sessions">
        {() =>
          all.length === 0 ? (
            <Empty title="No clients are connected">
              <span>
                Connect a client to this server, or open the <Link href="/playground">playground</Link>.
              </span>
            </Empty>
          ) : rows.length === 0 ? (
            <Empty title="Nothing matches">Change or clear the filters.</Empty>
          ) : (
            <SortedTable
              caption="Sessions"
              otherwise="-slowest-1-"
              rows={rows}
              keyOf={({ name }) => name}
              columns={[
                {
                  head: "Client",
                  cell: (row) => (
                    <>
                      <Link class="one-line" href={`/traffic?session=${encodeURIComponent(row.name)}`} title="Its requests">
                        {row.client ?? "unnamed"}
                      </Link>{" "}
                      {all.some((other) => other !== row && other.client === row.client) && isSession(row.name) ? (
                        <span class="mono dim">{sessionLabel(row.name)}</span>
                      ) : null}
                      <ConsoleBadge client={row.client} />
                    </>
                  ),
                  sort: ({ client }) => client,
                },
                {
                  head: "Revision",
                  wide: true,
                  cell: ({ revision: of }) => <span class="mono">{of}</span>,
                  sort: ({ revision: of }) => of,
                },
                {
                  head: "Principal",
                  wide: true,
                  cell: ({ principal }) => principal ?? <None />,
                  sort: ({ principal }) => principal,
                },
                {
                  head: "Ran, slowest 1 %",
                  align: "right",
                  cell: (row) => <SlowBar ms={ranMs(row)} most={most} none={row.requests === 0} />,
                  sort: ranMs,
                },
                {
                  head: "Waited",
                  align: "right",
                  wide: true,
                  cell: (row) => <Waited {...row} />,
                  sort: ({ waitedP99Ms }) => waitedP99Ms,
                },
                {
                  head: "Requests",
                  align: "right",
                  wide: true,
                  cell: ({ requests, errors }) => <RequestCount requests={requests} errors={errors} />,
                  sort: ({ requests }) => requests,
                },
                {
                  head: "Median answer",
                  align: "right",
                  wide: true,
                  cell: ({ p50Ms, requests }) => (requests === 0 ? "–" : duration(p50Ms)),
                  sort: ({ p50Ms }) => p50Ms,
                },
                { head: "Streams", align: "right", wide: true, cell: ({ streams }) => streams, sort: ({ streams }) => streams },
                {
                  head: "Subscribed",
                  align: "right",
                  wide: true,
                  cell: ({ subscriptions }) => <span title={subscriptions.join("\n")}>{subscriptions.length}</span>,
                  sort: ({ subscriptions }) => subscriptions.length,
                },
                {
                  head: "Tools",
                  wide: true,
                  cell: (row) => <Seen row={row} callers={callers.data.value?.items} />,
                },
                {
                  head: "Last seen",
                  align: "right",
                  wide: true,
                  cell: ({ lastAt }) => <Until at={lastAt} />,
                  sort: ({ lastAt }) => lastAt,
                },
              ]}
            />
          )
        }
      </Loaded>
      {rows.length < 2 ? null : <p class="dim">{WAITING}</p>}
    </>
  );
}

function Seen({ row, callers }: { readonly row: SessionRow; readonly callers: readonly SeenCaller[] | undefined }) {
  const actor = seenActor(row);
  return actor === undefined ? (
    <None />
  ) : (
    <Link
      class="one-line"
      href={offersPath(actor, row, callers ?? [])}
      title={`What ${readable(actor)} offers this client, and why not the rest`}
    >
      what it sees
    </Link>
  );
}

/** The actor that the client changed last, or the first that it can reach. Undefined: it is unknown which one. */
const seenActor = ({ actor, principal }: SessionRow): string | undefined =>
  actor ?? (about.value?.kinds ?? []).map((kind) => reachedBy(principal, kind)).find((id) => id !== undefined);

/** The tab Tools and access of an actor, as that client. */
function offersPath(actor: string, { principal, revision }: SessionRow, callers: readonly SeenCaller[]): string {
  const caller = callers.find((one) => one.principal === principal);
  const viewer = caller === undefined ? { principal: principal ?? "", scopes: "", claims: "" } : callerOf(caller);
  const search = new URLSearchParams([["tab", "offers"], ...callerParameters(viewer).map(([name, value]) => [name, value])]);
  if (REVISIONS.some((one) => one.revision === revision)) search.set("revision", revision);
  return `/actors/${actor}?${search}`;
}

function reachedBy(principal: string | undefined, { kind, per }: KindShape): string | undefined {
  if (per === "shared") return `${kind}/main`;
  return per === "user" && principal !== undefined ? `${kind}/${encodeURIComponent(principal)}` : undefined;
}
