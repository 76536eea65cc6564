// Owns: the events of an actor as a list: filters and pages, newest first. Does not own: one event (moment.tsx, event.tsx).
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Link } from "wouter-preact";
import type { ActorDetail, EventRow, PageOf } from "../../../../../src/bridges/console/shapes.ts";
import { actorPath, get } from "../../../api.ts";
import { byOperator, reasonOf, shortArguments } from "../../../operator-events.ts";
import { useParameter } from "../../../page-state.ts";
import { useResource } from "../../../resource.ts";
import { readablePath } from "../../../ui/diff.tsx";
import { SavedViews } from "../../../ui/saved-views.tsx";
import { Empty, ErrorNote, Loading } from "../../../ui/states.tsx";
import { ClockTime, duration } from "../../../ui/time.tsx";
import { argumentsLine } from "../../../ui/value-line.ts";
import { Who } from "../../../ui/who.tsx";
import { NewEvents } from "../new-events.tsx";

const SIZE = 50;
const NONE: readonly string[] = [];

export function EventList({
  actor: { id, seq },
  written,
  at,
  settled,
  open,
}: {
  readonly actor: ActorDetail;
  /** The number of the last event that was written from this page. */
  readonly written: number;
  readonly at: number;
  readonly settled: number;
  readonly open: (at: number) => void;
}) {
  const [type, setType] = useParameter("type");
  const [who, setWho] = useParameter("who");
  const [text, setText] = useParameter("text");
  const [known, setNewest] = useState(seq);
  const newest = Math.max(known, written);
  const [before, setBefore] = useState<number | undefined>(() => pageOf(settled, seq));
  const [earlier, setEarlier] = useState<readonly (number | undefined)[]>([]);
  const filtered = type !== "" || who !== "" || text !== "";
  const query = { order: "desc", limit: SIZE, type, principal: who, search: text, before: before ?? newest + 1 };
  const events = useResource<PageOf<EventRow>>(`events ${id} ${JSON.stringify(query)}`, (signal) =>
    get(`${actorPath(id)}/events`, query, signal),
  );
  const page = events.data.value;
  const rows = page?.items ?? [];

  // The list follows the slider, unless it shows only some events.
  const range = useRef<readonly [last: number, first: number, newest: number]>([0, 0, 0]);
  range.current = [rows.at(-1)?.seq ?? 0, rows[0]?.seq ?? 0, newest];
  useEffect(() => {
    const [last, first, top] = range.current;
    if (filtered || first === 0 || (settled >= last && settled <= first)) return;
    setEarlier([]);
    setBefore(pageOf(settled, top));
  }, [settled, filtered]);

  const filter = (set: (value: string) => void) => (value: string) => {
    setEarlier([]);
    setBefore(undefined);
    set(value);
  };
  const older = page?.next === undefined ? undefined : Number(page.next);
  return (
    <section class="events" aria-label="Events">
      <div class="row filters">
        <Filter
          label="Type of event"
          value={type}
          set={filter(setType)}
          placeholder="event type"
          suggestions={[...new Set(rows.map((row) => row.type))]}
        />
        <Filter label="Who" value={who} set={filter(setWho)} placeholder="principal" />
        <Filter label="Text" value={text} set={filter(setText)} placeholder="in arguments, replies, changes" wide />
        {filtered ? (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              setType("");
              setWho("");
              setText("");
              setBefore(undefined);
            }}
          >
            Clear
          </button>
        ) : null}
        <SavedViews page="History" />
        <span class="grow" />
        <NewEvents
          count={seq - newest}
          load={() => {
            setNewest(seq);
            setEarlier([]);
            setBefore(undefined);
          }}
        />
      </div>
      {events.error.value === undefined ? null : <ErrorNote error={events.error.value} retry={events.reload} />}
      {page === undefined ? (
        events.error.value === undefined ? (
          <Loading what="events" />
        ) : null
      ) : rows.length === 0 ? (
        <Empty title={filtered ? "No such event" : "No events"}>
          {page.next === undefined ? "No event of this actor fits the filters." : "None of the events that were looked at so far fits."}
        </Empty>
      ) : (
        <Rows id={id} rows={rows} at={at} open={open} />
      )}
      {page === undefined || (before === undefined && older === undefined) ? null : (
        <nav class="row pages" aria-label="Pages of events">
          <button
            type="button"
            disabled={before === undefined}
            onClick={() => {
              setBefore(earlier.at(-1));
              setEarlier(earlier.slice(0, -1));
            }}
          >
            {earlier.length === 0 && before !== undefined ? "Newest" : "Newer"}
          </button>
          <button
            type="button"
            disabled={older === undefined}
            onClick={() => {
              setEarlier([...earlier, before]);
              setBefore(older);
            }}
          >
            {rows.length === 0 ? "Look further back" : "Older"}
          </button>
          <span class="dim" aria-live="polite">
            {rows.length === 0 ? "" : `Events ${rows.at(-1)?.seq.toLocaleString() ?? ""}–${rows[0]?.seq.toLocaleString() ?? ""}`}
          </span>
        </nav>
      )}
    </section>
  );
}

/** The page with the event near its middle. Undefined: the newest. */
const pageOf = (at: number, newest: number): number | undefined => (at > newest - SIZE ? undefined : at + SIZE / 2);

function Filter({
  label,
  value,
  set,
  placeholder,
  wide = false,
  suggestions = NONE,
}: {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
  readonly placeholder: string;
  readonly wide?: boolean;
  readonly suggestions?: readonly string[];
}) {
  const id = useId();
  return (
    <label class={wide ? "filter long" : "filter"}>
      <span class="visually-hidden">{label}</span>
      <input
        type="search"
        value={value}
        placeholder={placeholder}
        onInput={(event) => set(event.currentTarget.value)}
        {...(suggestions.length > 0 ? { list: id } : {})}
      />
      {suggestions.length === 0 ? null : (
        <datalist id={id}>
          {suggestions.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </datalist>
      )}
    </label>
  );
}

function Rows({
  id,
  rows,
  at,
  open,
}: {
  readonly id: string;
  readonly rows: readonly EventRow[];
  readonly at: number;
  readonly open: (at: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const timed = rows.some(({ ms }) => ms !== undefined);
  // Only the list scrolls: the page must not jump.
  useEffect(() => {
    const list = box.current;
    const row = list?.querySelector("tr.here");
    if (list === null || !(row instanceof HTMLElement)) return;
    const [top, bottom] = [row.offsetTop - HEAD_PX, row.offsetTop + row.offsetHeight];
    const isVisible = top >= list.scrollTop && bottom <= list.scrollTop + list.clientHeight;
    if (!isVisible) list.scrollTop = (top + bottom - list.clientHeight) / 2;
  }, [at, rows]);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div class="table" tabIndex={0} role="region" aria-label="Events, the newest first" ref={box}>
      <table>
        <thead>
          <tr>
            <th scope="col" class="right">
              #
            </th>
            <th scope="col">Event</th>
            <th scope="col" class="wide">
              Who
            </th>
            <th scope="col" class="wide">
              When
            </th>
            {timed ? (
              <th scope="col" class="right wide">
                Took
              </th>
            ) : null}
            <th scope="col">
              <span class="visually-hidden">Causes</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the button in its first cell does the same
            <tr key={row.seq} class={row.seq === at ? "here" : ""} aria-current={row.seq === at} onClick={() => open(row.seq)}>
              <td class="right">
                <button type="button" class="quiet seq" aria-label={`Go to event ${row.seq}`}>
                  {row.seq.toLocaleString()}
                </button>
              </td>
              <td class="what">
                <strong>{row.type}</strong> <code class="dim">{argumentsLine(shortArguments(row), 120)}</code>
                <small class="dim narrow">
                  <Who row={row} /> · <ClockTime at={row.at} />
                </small>
                <small class="dim">{summaryOf(row)}</small>
              </td>
              <td class="wide">
                <Who row={row} />
              </td>
              <td class="when wide">
                <ClockTime at={row.at} />
              </td>
              {timed ? <td class="right wide">{row.ms === undefined ? "" : duration(row.ms)}</td> : null}
              <td class="right">
                <Link
                  href={`${actorPath(id)}?tab=causes&of=${row.id}`}
                  aria-label={`Causes of event ${row.seq}`}
                  onClick={(event: Event) => event.stopPropagation()}
                >
                  Causes
                </Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The headings stay at the top of the list. */
const HEAD_PX = 36;
const FEW = 4;

function summaryOf(row: EventRow): string {
  const { changed, sent, erased } = row;
  const parts: string[] = [];
  const reason = byOperator(row) ? reasonOf(row) : undefined;
  if (reason !== undefined) parts.push(`“${reason}”`);
  if (erased === true) parts.push("body erased");
  const paths = [...new Set(changed.map(readablePath))].filter((path) => path !== "");
  if (paths.length > 0)
    parts.push(`changed ${paths.slice(0, FEW).join(", ")}${paths.length > FEW ? ` and ${paths.length - FEW} more` : ""}`);
  if (row.request?.client !== undefined) parts.push(`by ${row.request.client}`);
  if (sent > 0) parts.push(sent === 1 ? "sent 1 message" : `sent ${sent} messages`);
  return parts.join(" · ");
}
