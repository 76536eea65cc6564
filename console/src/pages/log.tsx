// Owns: the server's log, live, with its filters and the fields of one entry. Does not own: what is logged.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Link } from "wouter-preact";
import type { LogRow, PageOf } from "../../../src/bridges/console/shapes.ts";
import { get } from "../api.ts";
import { download } from "../download.ts";
import { liveRows } from "../live-rows.ts";
import { useParameter } from "../page-state.ts";
import { useResource } from "../resource.ts";
import { useStream } from "../stream.ts";
import { ActorLink, readable } from "../ui/actor-link.tsx";
import { Badge } from "../ui/badge.tsx";
import { Choice, Filters, TextFilter } from "../ui/filters.tsx";
import { Fact, Facts } from "../ui/facts.tsx";
import { JsonTree } from "../ui/json-tree.tsx";
import { LiveList } from "../ui/live-list.tsx";
import { LiveState } from "../ui/live-state.tsx";
import { OpenButton, type OpenRow, useOpenRow } from "../ui/open-row.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Panel, Split } from "../ui/panel.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, ErrorNote, Loading } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { ClockTime, Time } from "../ui/time.tsx";

/** As many as the server stores. */
const MOST = 1_500;
const PAGE = 500;
const WHAT = "what the server logged since it started";
const LEVELS = ["debug", "info", "warn", "error"] as const;
const LABELS: Readonly<Record<string, string>> = { info: "info and worse", warn: "warnings and errors", error: "errors" };

export function Log() {
  return (
    <RequireAbility ability="log" title="Log" what={WHAT}>
      <LiveLog />
    </RequireAbility>
  );
}

function LiveLog() {
  const live = useMemo(() => liveRows<LogRow>(MOST), []);
  const [level, setLevel] = useParameter("level");
  const [actor, setActor] = useParameter("actor");
  const [search, setSearch] = useParameter("search");
  const open = useOpenRow();
  const stopped = useSignal(false);
  const older = useSignal<string | undefined>(undefined);
  const load = async (after?: string, signal?: AbortSignal): Promise<PageOf<LogRow>> => {
    const page = await get<PageOf<LogRow>>("/log", { limit: PAGE, after }, signal);
    live.add(page.items);
    older.value = page.next;
    return page;
  };
  const first = useResource("log", (signal) => load(undefined, signal));
  useStream("log", ({ items, more }) => (live.add(items), more > 0 && first.reload()), { missed: first.reload });

  const least = Math.max(
    0,
    LEVELS.findIndex((one) => one === level),
  );
  const text = search.toLowerCase();
  const found = live.rows.value.filter(
    (row) =>
      LEVELS.indexOf(row.level) >= least &&
      (actor === "" || row.actor === actor) &&
      (text === "" || `${row.event} ${row.actor ?? ""} ${fieldsText(row)}`.toLowerCase().includes(text)),
  );
  const actors = [...new Set(live.rows.value.flatMap((row) => row.actor ?? []))].toSorted();
  const opened = live.rows.value.find(({ n }) => String(n) === open.key);
  return (
    <>
      <PageHead title="Log" what={WHAT}>
        <LiveState stopped={stopped} held={live.heldAt} />
        <button type="button" class="small" disabled={found.length === 0} onClick={() => download("log.json", found)}>
          Save list
        </button>
      </PageHead>
      <Filters>
        <TextFilter value={search} placeholder="Event, code, session, principal …" onChange={setSearch} />
        <Choice label="Level" value={level} values={["info", "warn", "error"]} labelOf={(one) => LABELS[one] ?? one} onChange={setLevel} />
        <Choice label="Actor" value={actor} values={actors} labelOf={readable} onChange={setActor} />
      </Filters>
      {first.error.value === undefined ? null : <ErrorNote error={first.error.value} retry={first.reload} />}
      <Split live panel={opened === undefined ? undefined : <Entry entry={opened} onClose={open.close} />}>
        <LiveList
          live={live}
          found={found}
          stopped={stopped}
          open={opened === undefined ? "" : open.key}
          note={(count) => `${count.toLocaleString()} ${count === 1 ? "entry" : "entries"}`}
          older={older.value === undefined ? undefined : () => void load(older.value).catch(first.reload)}
          empty={
            first.data.value === undefined && first.error.value === undefined ? (
              <Loading what="the log" />
            ) : level !== "" || actor !== "" || search !== "" ? (
              <Empty title="Nothing matches">Change or clear the filters.</Empty>
            ) : (
              <Empty title="Nothing was logged yet">
                <span>
                  Faults, refused connections and slow turns appear here. What actors log to their clients is in{" "}
                  <Link href="/traffic?method=notifications%2Fmessage">the traffic</Link>.
                </span>
              </Empty>
            )
          }
        >
          {(rows) => (
            <Table
              caption="Log"
              rows={rows}
              keyOf={({ n }) => String(n)}
              open={open.key}
              onOpen={({ n }) => open.toggle(String(n))}
              columns={columns(open, opened !== undefined)}
            />
          )}
        </LiveList>
      </Split>
    </>
  );
}

function columns(open: OpenRow, narrow: boolean): readonly Column<LogRow>[] {
  const fields: Column<LogRow> = {
    head: "Fields",
    fill: true,
    wide: "opened",
    cell: (row) => <span class="dim mono">{fieldsText(row)}</span>,
  };
  return [
    { head: "Time", cell: ({ at }) => <ClockTime at={at} /> },
    { head: "Level", cell: ({ level }) => <Badge word={level} /> },
    {
      head: "Event",
      main: true,
      cell: (row) => (
        <>
          <OpenButton of={String(row.n)} open={open}>
            {row.event}
          </OpenButton>
          {row.actor === undefined ? null : (
            <small class="narrow">
              <ActorLink id={row.actor} />
            </small>
          )}
          <small class="narrow dim">{fieldsText(row)}</small>
        </>
      ),
    },
    { head: "Actor", wide: "opened", cell: ({ actor }) => (actor === undefined ? null : <ActorLink id={actor} />) },
    ...(narrow ? [] : [fields]),
  ];
}

function Entry({ entry, onClose }: { readonly entry: LogRow; readonly onClose: () => void }) {
  const { at, level, event, actor, code, principal, session, fields } = entry;
  return (
    <Panel title={event} label="Log entry" onClose={onClose}>
      <Facts>
        <Fact name="Level">
          <Badge word={level} />
        </Fact>
        <Fact name="When">
          <Time at={at} />
        </Fact>
        <Fact name="Actor">{actor === undefined ? undefined : <ActorLink id={actor} />}</Fact>
        <Fact name="Code">
          {code === undefined ? undefined : (
            <>
              <code>{code}</code> <Link href="/doctor">See what to do</Link>
            </>
          )}
        </Fact>
        <Fact name="Principal">{principal}</Fact>
        <Fact name="Session">
          {session === undefined ? undefined : <Link href={`/traffic?session=${encodeURIComponent(session)}`}>{session}</Link>}
        </Fact>
      </Facts>
      <h3>Fields</h3>
      <JsonTree value={fields} label="Fields" />
    </Panel>
  );
}

/** What went wrong comes first. */
const FIRST = ["why", "code", "error"];
const placeOf = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);

/** In one line. */
const fieldsText = ({ actor, fields }: LogRow): string =>
  Object.entries(fields)
    .filter(([name, value]) => name !== "actor" || value !== actor)
    .toSorted(([one], [other]) => placeOf(one) - placeOf(other))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
