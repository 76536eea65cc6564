// Owns: the live list of requests, and its filters. Does not own: one request (traffic/detail.tsx).
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { TrafficPage, TrafficRow } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { get } from "../api.ts";
import { download } from "../download.ts";
import { liveRows } from "../live-rows.ts";
import { useParameter } from "../page-state.ts";
import { sessionLabel } from "../session-label.ts";
import { useResource } from "../resource.ts";
import { useStream } from "../stream.ts";
import { Badge } from "../ui/badge.tsx";
import { LiveList } from "../ui/live-list.tsx";
import { LiveState } from "../ui/live-state.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Choice } from "../ui/choice.tsx";
import { Empty, ErrorNote, Loading, Unavailable } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { bytes, ClockTime, duration } from "../ui/time.tsx";
import { Detail } from "./traffic/detail.tsx";
import { matches, PACKETS, transportLabel } from "./traffic/filter.ts";
import "./traffic/traffic.css";

/** Rows of one request. */
const PAGE = 500;
const STATUSES = ["running", "ok", "error", "tool-error", "cancelled", "notification"];

export function Traffic() {
  return can("traffic") ? (
    <LiveTraffic />
  ) : (
    <>
      <PageHead title="Traffic" />
      <Unavailable ability="traffic" />
    </>
  );
}

function LiveTraffic() {
  const live = useMemo(() => liveRows<TrafficRow>(2_000), []);
  const [method, setMethod] = useParameter("method");
  const [transport, setTransport] = useParameter("transport");
  const [session, setSession] = useParameter("session");
  const [status, setStatus] = useParameter("status");
  const [era, setEra] = useParameter("era");
  const [search, setSearch] = useParameter("search");
  const [open, setOpen] = useParameter("open");
  const stopped = useSignal(false);

  const older = useSignal<string | undefined>(undefined);
  const skipped = useSignal(0);
  const load = async (after?: string, signal?: AbortSignal): Promise<TrafficPage> => {
    const page = await get<TrafficPage>("/traffic", { limit: PAGE, after }, signal);
    live.add(page.items);
    older.value = page.next;
    skipped.value = page.skipped;
    return page;
  };
  const first = useResource("traffic", (signal) => load(undefined, signal));
  useStream(
    "traffic",
    ({ items, more }) => {
      live.add(items);
      skipped.value += more;
    },
    { missed: first.reload },
  );
  // What messages say is searched by the server, which has them.
  const inText = useResource(`traffic ${search}`, async (signal) => {
    if (search === "") return new Set<number>();
    await wait(300, signal);
    const { items } = await get<TrafficPage>("/traffic", { limit: PAGE, search }, signal);
    live.add(items);
    return new Set(items.map(({ n }) => n));
  });

  const filter = { method, transport, session, status, era, search };
  const found = live.rows.value.filter((row) => matches(row, filter, inText.data.value));
  const values = (of: (row: TrafficRow) => string | undefined): readonly string[] =>
    [...new Set(live.rows.value.flatMap((row) => of(row) ?? []))].toSorted();
  const transports = values((row) => row.transport);
  const filtered = Object.values(filter).some((value) => value !== "");

  return (
    <>
      <PageHead title="Traffic" what="what clients request, and what they receive">
        <LiveState stopped={stopped} />
        <button type="button" class="small" disabled={found.length === 0} onClick={() => download("traffic.json", found)}>
          Save list
        </button>
      </PageHead>
      <div class="filters">
        <label class="grow">
          <span>Text</span>
          <input
            type="search"
            value={search}
            placeholder="Method, tool, client, error …"
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        <Choice label="Method" value={method} values={values((row) => row.method)} onChange={setMethod} />
        <Choice
          label="Transport"
          value={transport}
          values={transports.some((one) => one.startsWith(PACKETS)) ? [...transports, PACKETS] : transports}
          labelOf={transportLabel}
          onChange={setTransport}
        />
        <Choice label="Session" value={session} values={values((row) => row.session)} labelOf={sessionLabel} onChange={setSession} />
        <Choice label="Status" value={status} values={STATUSES} onChange={setStatus} />
        <Choice label="Era" value={era} values={["legacy", "modern"]} onChange={setEra} />
      </div>
      {first.error.value === undefined ? null : <ErrorNote error={first.error.value} retry={first.reload} />}
      <div class={open === "" ? "split live" : "split live two"}>
        <div>
          <LiveList
            live={live}
            found={found}
            stopped={stopped}
            open={open !== ""}
            note={`${found.length.toLocaleString()} of the newest 2,000`}
            older={older.value === undefined ? undefined : () => void load(older.value).catch(first.reload)}
            empty={
              first.data.value === undefined && first.error.value === undefined ? (
                <Loading what="traffic" />
              ) : filtered ? (
                <Empty title="Nothing matches">Change or clear the filters.</Empty>
              ) : (
                <Empty title="No traffic yet">Requests appear here as clients send them.</Empty>
              )
            }
          >
            {(rows) => <Rows rows={rows} open={open} onOpen={(n) => setOpen(n === open ? "" : n)} onSession={setSession} />}
          </LiveList>
          {skipped.value === 0 ? null : <p class="dim">{skipped.value.toLocaleString()} more came too fast to be listed.</p>}
        </div>
        {open === "" ? null : <Detail n={open} row={live.rows.value.find(({ n }) => String(n) === open)} onClose={() => setOpen("")} />}
      </div>
    </>
  );
}

// Left out beside the details, which say the same.
const SIZES: readonly Column<TrafficRow>[] = [
  { head: "In", align: "right", wide: true, cell: ({ requestBytes }) => bytes(requestBytes) },
  { head: "Out", align: "right", wide: true, cell: ({ responseBytes }) => (responseBytes === undefined ? "" : bytes(responseBytes)) },
  { head: "Client", wide: true, cell: ({ client }) => <span class="dim">{client ?? ""}</span> },
  { head: "Era", wide: true, cell: ({ era }) => <span class="dim">{era}</span> },
];

const wait = async (ms: number, ended: AbortSignal): Promise<void> =>
  await new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    ended.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("A newer search began."));
    });
  });

function Rows({
  rows,
  open,
  onOpen,
  onSession,
}: {
  readonly rows: readonly TrafficRow[];
  readonly open: string;
  readonly onOpen: (n: string) => void;
  readonly onSession: (session: string) => void;
}) {
  return (
    <Table
      caption="Requests"
      rows={rows}
      keyOf={({ n }) => String(n)}
      open={open}
      onOpen={({ n }) => onOpen(String(n))}
      columns={[
        {
          head: "Time",
          cell: ({ at }) => <ClockTime at={at} />,
        },
        {
          head: "Session",
          wide: true,
          cell: ({ session, client }) =>
            session === undefined ? (
              <span class="dim">–</span>
            ) : (
              <button type="button" class="link" title={client} onClick={() => onSession(session)}>
                {sessionLabel(session)}
              </button>
            ),
        },
        {
          head: "Method",
          fill: true,
          cell: ({ n, method, name, direction }) => (
            <button type="button" class="link plain" aria-expanded={String(n) === open} onClick={() => onOpen(String(n))}>
              <span class="dim" title={direction === "in" ? "From the client" : "From the server"}>
                {direction === "in" ? "→" : "←"}
              </span>{" "}
              {method} {name === undefined ? null : <strong class="mono">{name}</strong>}
            </button>
          ),
        },
        {
          head: "Status",
          cell: ({ status, error }) => (
            <span title={error?.message}>
              <Badge word={status} />
            </span>
          ),
        },
        {
          head: "Took",
          align: "right",
          cell: ({ ms }) => (ms === undefined ? "" : <span class={ms >= 200 ? "bad-text" : ""}>{duration(ms)}</span>),
        },
        ...(open === "" ? SIZES : []),
      ]}
    />
  );
}
