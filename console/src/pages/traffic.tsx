// Owns: the live list of requests, its filters, and standing still while it is read. Does not own: one request (traffic/detail.tsx).
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TrafficPage, TrafficRow } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { get } from "../api.ts";
import { download } from "../download.ts";
import { useParameter } from "../page-state.ts";
import { sessionLabel } from "../session-label.ts";
import { useResource } from "../resource.ts";
import { useStream } from "../stream.ts";
import { Badge } from "../ui/badge.tsx";
import { LiveState } from "../ui/live-state.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Choice } from "../ui/choice.tsx";
import { Empty, ErrorNote, Loading, Unavailable } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { bytes, duration } from "../ui/time.tsx";
import { Detail } from "./traffic/detail.tsx";
import { matches, trafficLog } from "./traffic/log.ts";
import "./traffic/traffic.css";

const STEP = 200;
/** The least height of a row. */
const ROW_PX = 26;
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
  const log = useMemo(trafficLog, []);
  const [method, setMethod] = useParameter("method");
  const [session, setSession] = useParameter("session");
  const [status, setStatus] = useParameter("status");
  const [era, setEra] = useParameter("era");
  const [search, setSearch] = useParameter("search");
  const [open, setOpen] = useParameter("open");
  const stopped = useSignal(false);
  const reading = useSignal(false);
  const scrolled = useSignal(false);
  const shown = useSignal(STEP);
  const list = useRef<HTMLDivElement>(null);

  const older = useSignal<string | undefined>(undefined);
  const skipped = useSignal(0);
  const load = async (after?: string, signal?: AbortSignal): Promise<TrafficPage> => {
    const page = await get<TrafficPage>("/traffic", { limit: PAGE, after }, signal);
    log.add(page.items);
    older.value = page.next;
    skipped.value = page.skipped;
    return page;
  };
  const first = useResource("traffic", (signal) => load(undefined, signal));
  useStream(
    "traffic",
    ({ items, more }) => {
      log.add(items);
      skipped.value += more;
    },
    { missed: first.reload },
  );
  // What messages say is searched by the server, which has them.
  const inText = useResource(`traffic ${search}`, async (signal) => {
    if (search === "") return new Set<number>();
    await wait(300, signal);
    const { items } = await get<TrafficPage>("/traffic", { limit: PAGE, search }, signal);
    log.add(items);
    return new Set(items.map(({ n }) => n));
  });

  const held = stopped.value || reading.value || scrolled.value || shown.value > STEP || open !== "";
  useEffect(() => log.hold(held), [log, held]);

  const filter = { method, session, status, era, search };
  const found = log.rows.value.filter((row) => matches(row, filter, inText.data.value));
  const { value: heldAt } = log.heldAt;
  const visible = heldAt === undefined ? found : found.filter(({ n }) => n <= heldAt);
  const more = found.length - visible.length;
  const catchUp = (): void => {
    shown.value = STEP;
    list.current?.querySelector(".table")?.scrollTo(0, 0);
    log.catchUp();
  };
  // At its top the list may change four times a second, so it has only the rows that fit there.
  const fits = Math.ceil(innerHeight / ROW_PX) + 5;
  const most = scrolled.value || shown.value > STEP ? shown.value : Math.min(STEP, fits);
  const showOlder = (): void => {
    shown.value += STEP;
    if (shown.value > visible.length && older.value !== undefined) void load(older.value).catch(first.reload);
  };
  const values = (of: (row: TrafficRow) => string | undefined): readonly string[] =>
    [...new Set(log.rows.value.flatMap((row) => of(row) ?? []))].toSorted();
  const filtered = Object.values(filter).some((value) => value !== "");

  return (
    <>
      <PageHead title="Traffic" what="what clients ask, and what they are answered">
        <LiveState stopped={stopped} />
        <button type="button" class="small" disabled={visible.length === 0} onClick={() => download("traffic.json", visible)}>
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
        <Choice label="Session" value={session} values={values((row) => row.session)} labelOf={sessionLabel} onChange={setSession} />
        <Choice label="Status" value={status} values={STATUSES} onChange={setStatus} />
        <Choice label="Era" value={era} values={["legacy", "modern"]} onChange={setEra} />
      </div>
      {first.error.value === undefined ? null : <ErrorNote error={first.error.value} retry={first.reload} />}
      <div class={open === "" ? "split traffic" : "split traffic two"}>
        <div
          ref={list}
          class="traffic-list"
          onScrollCapture={(event) => (scrolled.value = event.target instanceof Element && event.target.scrollTop > 4)}
          onPointerEnter={(event) => (reading.value = event.pointerType === "mouse")}
          onPointerLeave={() => (reading.value = false)}
        >
          <p class="new-rows" role="status">
            {more === 0 ? (
              <span class="dim">{held ? "Stands still while you read." : `${found.length.toLocaleString()} of the newest 2,000`}</span>
            ) : (
              <button type="button" class="small" onClick={catchUp}>
                {more.toLocaleString()} new
              </button>
            )}
          </p>
          {visible.length > 0 ? (
            <Rows rows={visible.slice(0, most)} open={open} onOpen={(n) => setOpen(n === open ? "" : n)} onSession={setSession} />
          ) : first.data.value === undefined && first.error.value === undefined ? (
            <Loading what="traffic" />
          ) : filtered ? (
            <Empty title="Nothing matches">Change or clear the filters.</Empty>
          ) : (
            <Empty title="No traffic yet">Requests appear here as clients send them.</Empty>
          )}
          {visible.length > most || older.value !== undefined ? (
            <button type="button" class="small" onClick={showOlder}>
              Show older
            </button>
          ) : null}
          {skipped.value === 0 ? null : <p class="dim">{skipped.value.toLocaleString()} more came too fast to be listed.</p>}
        </div>
        {open === "" ? null : <Detail n={open} row={log.rows.value.find(({ n }) => String(n) === open)} onClose={() => setOpen("")} />}
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

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hour12: false,
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
          cell: ({ at }) => (
            <time class="mono dim" dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
              {CLOCK.format(at)}
            </time>
          ),
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
