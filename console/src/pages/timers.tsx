// Owns: which timers are set, soonest first. Does not own: setting them (actors do).
import { Link } from "wouter-preact";
import type { EventRow, PageOf, TimerRow } from "../../../src/bridges/console/shapes.ts";
import { about } from "../about.ts";
import { get } from "../api.ts";
import { useParameter } from "../page-state.ts";
import { useResource } from "../resource.ts";
import { ActorLink, EventLink } from "../ui/actor-link.tsx";
import { Choice, Filters } from "../ui/filters.tsx";
import { None } from "../ui/none.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Pager, usePages } from "../ui/pager.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { duration, Time, Until } from "../ui/time.tsx";
import { whoText } from "../ui/who.tsx";
import { RefreshButton, usePolling } from "./lists/polling.tsx";

const SIZE = 100;
const WHAT = "what actors will do by themselves, soonest first";

export function Timers() {
  return (
    <RequireAbility ability="timers" title="Timers" what={WHAT}>
      <TimerList />
    </RequireAbility>
  );
}

function TimerList() {
  const pages = usePages();
  const [kind, setKind] = useParameter("kind");
  const list = useResource(`timers ${kind} ${pages.after}`, (signal) =>
    get<PageOf<TimerRow>>("/timers", { kind, after: pages.after, limit: SIZE }, signal),
  );
  usePolling(list.reload);
  return (
    <>
      <PageHead title="Timers" what={WHAT}>
        <RefreshButton reload={list.reload} />
      </PageHead>
      <Filters>
        <Choice
          label="Kind"
          value={kind}
          values={about.value?.kinds.map((one) => one.kind) ?? []}
          onChange={(value) => {
            pages.reset();
            setKind(value);
          }}
        />
      </Filters>
      <Loaded resource={list} what="timers">
        {({ items: rows, next }) =>
          rows.length === 0 ? (
            <Empty title={kind === "" ? "No timers are set" : `No timers of ${kind} are set`}>
              An actor sets one with a reminder, a schedule or an expiry.
            </Empty>
          ) : (
            <>
              <Table
                caption="Timers"
                rows={rows}
                keyOf={({ actor, name }) => `${actor} ${name}`}
                columns={[
                  { head: "Due", cell: ({ at }) => <Due at={at} /> },
                  { head: "At", wide: true, cell: ({ at }) => <Time at={at} /> },
                  { head: "Actor", cell: ({ actor }) => <ActorLink id={actor} /> },
                  { head: "Timer", cell: ({ name }) => (name === "" ? <span class="dim">expiry</span> : name) },
                  { head: "Does", wide: true, cell: ({ name, action }) => (name === "" ? "stops the actor" : (action ?? "")) },
                  { head: "Repeats", wide: true, cell: repeats },
                  {
                    head: "Set by",
                    wide: true,
                    cell: ({ cause, setBy }) => (cause === undefined ? <None /> : <SetBy cause={cause} event={setBy} />),
                  },
                ]}
              />
              <Pager pages={pages} count={rows.length} next={next} size={SIZE} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

/** `event`: undefined if it is not among the latest of its actor. */
const SetBy = ({ cause, event }: { readonly cause: string; readonly event: EventRow | undefined }) =>
  event === undefined ? (
    <EventLink id={cause} />
  ) : (
    <>
      <Link href={`/events/${cause}`} class="mono" title="The event">
        {event.type}
      </Link>{" "}
      {event.principal === undefined && event.from === undefined ? null : <span class="dim">by {whoText(event)}</span>}
    </>
  );

const Due = ({ at }: { readonly at: number }) => (at <= Date.now() ? <span class="badge warning">due</span> : <Until at={at} />);

function repeats({ everyMs, cron, timeZone }: TimerRow) {
  if (everyMs !== undefined) return `every ${duration(everyMs)}`;
  if (cron === undefined) return <span class="dim">no</span>;
  return (
    <>
      <code>{cron}</code> {timeZone}
    </>
  );
}
