// Owns: the live list of messages between clients and the server. Does not own: its filters, one message, files of messages (traffic/).
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TrafficPage, TrafficRow } from "../../../src/bridges/console/shapes.ts";
import { can, whyNot } from "../about.ts";
import { get } from "../api.ts";
import { liveRows } from "../live-rows.ts";
import { useResource } from "../resource.ts";
import { useStream } from "../stream.ts";
import { LiveList } from "../ui/live-list.tsx";
import { LiveState } from "../ui/live-state.tsx";
import { useOpenRow } from "../ui/open-row.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Split } from "../ui/panel.tsx";
import { Prose } from "../ui/prose.tsx";
import { SavedViews } from "../ui/saved-views.tsx";
import { Empty, ErrorNote, Loading } from "../ui/states.tsx";
import { wait } from "../wait.ts";
import { LiveDetail } from "./traffic/detail.tsx";
import { matches } from "./traffic/filter.ts";
import { TrafficFilters, useTrafficFilter } from "./traffic/filters.tsx";
import { OpenRecording, RecordedTraffic, SaveRecording } from "./traffic/recorded.tsx";
import { openRecording } from "./traffic/recording.ts";
import { Rows } from "./traffic/rows.tsx";
import "./traffic/traffic.css";

/** Rows of one request. */
const PAGE = 500;

export function Traffic() {
  const { value: recording } = openRecording;
  if (recording !== undefined) return <RecordedTraffic recording={recording} />;
  if (can("traffic")) return <LiveTraffic />;
  return (
    <>
      <PageHead title="Traffic">
        <OpenRecording />
      </PageHead>
      <Empty title="Not available here">
        <span>
          <Prose text={whyNot("traffic")} />
        </span>
        <span>A file that the page Traffic of another console has saved can be opened here.</span>
      </Empty>
    </>
  );
}

function LiveTraffic() {
  const live = useMemo(() => liveRows<TrafficRow>(2_000), []);
  const filters = useTrafficFilter();
  const { filter, isFiltered } = filters;
  const { search, where, session, principal, slow } = filter;
  const open = useOpenRow();
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
  const loadOlder = useRef(() => {});
  loadOlder.current = () => void load(older.value).catch(first.reload);
  useStream(
    "traffic",
    ({ items, more }) => {
      live.add(items);
      skipped.value += more;
    },
    { missed: first.reload },
  );
  // A link may lead to a message before those that are listed.
  const oldest = live.rows.value.at(-1)?.n ?? 0;
  useEffect(() => {
    if (open.key !== "" && Number(open.key) < oldest && older.value !== undefined) loadOlder.current();
  }, [open.key, oldest, older]);
  // The server has all messages, and what they say.
  const query = { search, session, principal, slow };
  const inText = useResource(`traffic ${JSON.stringify(query)} ${where}`, async (signal) => {
    if (Object.values(query).every((value) => value === "")) return new Set<number>();
    await wait(300, signal);
    const page = await get<TrafficPage>("/traffic", { ...query, limit: PAGE, in: where === "" ? "requests" : "all" }, signal);
    live.add(page.items);
    return new Set(page.items.map(({ n }) => n));
  });

  const found = live.rows.value.filter((row) => matches(row, filter, inText.data.value));

  return (
    <>
      <PageHead title="Traffic" what="what clients request, and what they receive">
        <LiveState stopped={stopped} held={live.heldAt} />
        <SavedViews page="Traffic" />
        <SaveRecording rows={found} />
        <OpenRecording />
      </PageHead>
      <TrafficFilters filters={filters} rows={live.rows.value} parties={first.data.value} />
      {first.error.value === undefined ? null : <ErrorNote error={first.error.value} retry={first.reload} />}
      <Split
        live
        panel={
          open.key === "" ? undefined : (
            <LiveDetail n={open.key} row={live.rows.value.find(({ n }) => String(n) === open.key)} onClose={open.close} />
          )
        }
      >
        <div>
          <LiveList
            live={live}
            found={found}
            stopped={stopped}
            open={open.key}
            note={(count) => `${count.toLocaleString()} shown; the newest 2,000 are recorded`}
            older={older.value === undefined ? undefined : loadOlder.current}
            empty={
              first.data.value === undefined && first.error.value === undefined ? (
                <Loading what="traffic" />
              ) : isFiltered ? (
                <Empty title="Nothing matches">Change or clear the filters.</Empty>
              ) : (
                <Empty title="No traffic yet">Requests appear here as clients send them.</Empty>
              )
            }
          >
            {(rows) => <Rows rows={rows} all={live.rows.value} open={open} onSession={filters.setSession} />}
          </LiveList>
          {skipped.value === 0 ? null : <p class="dim">{skipped.value.toLocaleString()} more came too fast to be listed.</p>}
        </div>
      </Split>
    </>
  );
}
