// Owns: what a text was found in: states of actors, and events. Does not own: the query that finds it (search/query.ts).
import { Link } from "wouter-preact";
import type { SqlRows } from "../../../src/bridges/console/shapes.ts";
import type { Json } from "../../../src/core/contract/index.ts";
import { actorPath, post } from "../api.ts";
import { useParameter } from "../page-state.ts";
import { useResource } from "../resource.ts";
import { ActorLink } from "../ui/actor-link.tsx";
import { Filters, TextFilter } from "../ui/filters.tsx";
import { None } from "../ui/none.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { ClockTime } from "../ui/time.tsx";
import { COLUMNS, MOST_FOUND, textQuery } from "./search/query.ts";
import "./search/search.css";

const WHAT = "a text in states and events";

export function Search() {
  return (
    <RequireAbility ability="sql" title="Search" what={WHAT}>
      <Results />
    </RequireAbility>
  );
}

interface Found {
  readonly actor: string;
  readonly seq: number;
  /** Of the event. Absent: it is in the state. */
  readonly type?: string;
  readonly at: number;
  readonly who: string;
  readonly text: string;
}

function Results() {
  const [text, setText] = useParameter("text");
  const found = useResource(`search ${text}`, async (signal): Promise<readonly Found[]> => {
    if (text.trim() === "") return [];
    const { rows } = await post<SqlRows>("/sql", { sql: textQuery(text) }, signal);
    return rows.map(foundOf);
  });
  return (
    <>
      <PageHead title="Search" what={WHAT}>
        {text.trim() === "" ? null : (
          <Link class="button small" href={`/query?sql=${encodeURIComponent(textQuery(text))}`}>
            Show query
          </Link>
        )}
      </PageHead>
      <Filters>
        <TextFilter value={text} placeholder="Any text" onChange={setText} delayed />
      </Filters>
      <Loaded resource={found} what="what was found">
        {(rows) =>
          rows.length > 0 ? (
            <>
              <Table
                caption="What was found"
                rows={rows}
                keyOf={({ actor, seq, type }) => `${actor} ${seq} ${type ?? ""}`}
                columns={columnsFor(text)}
              />
              {rows.length < MOST_FOUND ? null : (
                <p class="dim">These are the newest {MOST_FOUND}. Search for a longer text to find fewer.</p>
              )}
            </>
          ) : text.trim() === "" ? (
            <Empty title="Search for a text">It is looked for in the states of all actors, and in what their events recorded.</Empty>
          ) : (
            <Empty title="Nothing was found">No state and no event has this text.</Empty>
          )
        }
      </Loaded>
    </>
  );
}

const columnsFor = (text: string) => [
  {
    head: "Where",
    cell: ({ actor, seq, type }: Found) => (
      <span class="one-line">
        {type === undefined ? (
          <>
            <Link href={actorPath(actor)}>State</Link> of{" "}
          </>
        ) : (
          <>
            <Link href={`${actorPath(actor)}?tab=history&at=${seq}`}>Event {seq.toLocaleString()}</Link> of{" "}
          </>
        )}
        <ActorLink id={actor} />
      </span>
    ),
  },
  { head: "Event", wide: true as const, cell: ({ type }: Found) => type ?? <span class="dim">as it is now</span> },
  { head: "Who", wide: true as const, cell: ({ who }: Found) => (who === "" ? <None /> : who) },
  { head: "When", wide: true as const, cell: ({ at }: Found) => <ClockTime at={at} /> },
  { head: "Text", wide: true as const, fill: true as const, cell: (found: Found) => <Excerpt of={found.text} text={text} /> },
];

/** Characters before and after what was found. */
const AROUND = 200;

/** In one line, cut on both sides of what was found. */
function Excerpt({ of, text }: { readonly of: string; readonly text: string }) {
  const at = of.toLowerCase().indexOf(text.toLowerCase());
  const end = at + text.length;
  if (at === -1) return <span class="mono dim">{of.slice(0, AROUND)}</span>;
  const [before, after] = [of.slice(Math.max(0, at - AROUND), at), of.slice(end, end + AROUND)];
  return (
    <span class="found-text mono dim" title={`${before}${of.slice(at, end)}${after}`}>
      <span class="before">
        {/* The mark at the end keeps a space there: at the end of a line it would move to the other side. */}
        <bdi>{before}&lrm;</bdi>
      </span>
      <mark>{of.slice(at, end)}</mark>
      <span class="after">{after}</span>
    </span>
  );
}

function foundOf(row: readonly Json[]): Found {
  const valueOf = (name: (typeof COLUMNS)[number]): string => {
    const value = row[COLUMNS.indexOf(name)] ?? "";
    return typeof value === "string" ? value : JSON.stringify(value);
  };
  const type = valueOf("type");
  return {
    actor: valueOf("actor"),
    seq: Number(valueOf("seq")),
    at: Number(valueOf("at")),
    who: valueOf("principal"),
    text: valueOf("text"),
    ...(type === "" ? {} : { type }),
  };
}
