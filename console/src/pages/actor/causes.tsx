// Owns: the tab with what led to an actor's latest events, and what followed from them. Does not own: what is shown of one
// (causes/explorer.tsx).
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import type { EventRow, PageOf } from "../../../../src/bridges/console/shapes.ts";
import { actorPath, get } from "../../api.ts";
import { useParameter } from "../../page-state.ts";
import { useResource } from "../../resource.ts";
import { Empty, ErrorNote, Loading } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { argumentsLine } from "../../ui/value-line.ts";
import { Who } from "../../ui/who.tsx";
import { Explorer, useCauses } from "../causes/explorer.tsx";
import { NewEvents } from "./new-events.tsx";
import type { ActorTabProps } from "./tabs.ts";

const LATEST = 8;

export function CausesTab({ actor: { id, seq } }: ActorTabProps) {
  const [newest, setNewest] = useState(seq);
  const [chosen, setChosen] = useParameter("of");
  const events = useResource<PageOf<EventRow>>(`latest ${id} ${newest}`, (signal) =>
    get(`${actorPath(id)}/events`, { order: "desc", limit: LATEST, before: newest + 1 }, signal),
  );
  if (seq === 0) return <Empty title="No events yet">Events appear when the actor has handled its first message.</Empty>;
  const rows = events.data.value?.items;
  if (rows === undefined)
    return events.error.value === undefined ? <Loading what="events" /> : <ErrorNote error={events.error.value} retry={events.reload} />;
  const of = chosen === "" ? rows[0]?.id : chosen;
  return (
    <div class="causes">
      <div class="row">
        <h2>Latest events</h2>
        <NewEvents
          count={seq - newest}
          load={() => {
            setNewest(seq);
            setChosen("");
          }}
        />
        <span class="grow" />
        <Link href={`${actorPath(id)}?tab=history`}>All events</Link>
      </div>
      <Table
        caption="Latest events"
        rows={rows}
        keyOf={(row) => row.id}
        open={of}
        onOpen={(row) => setChosen(row.id)}
        columns={[
          { head: "#", align: "right", cell: (row) => row.seq.toLocaleString() },
          {
            head: "Event",
            fill: true,
            cell: ({ id: event, type, args }) => (
              <>
                <button type="button" class="link" aria-pressed={event === of} onClick={() => setChosen(event)}>
                  {type}
                </button>{" "}
                <code class="dim">{argumentsLine(args, 80)}</code>
              </>
            ),
          },
          { head: "Who", wide: true, cell: (row) => <Who row={row} /> },
          { head: "When", cell: ({ at }) => <Time at={at} /> },
        ]}
      />
      {of === undefined ? null : <One key={of} id={of} />}
    </div>
  );
}

function One({ id }: { readonly id: string }) {
  const { causes, instead } = useCauses(id);
  if (causes === undefined) return instead;
  return (
    <section aria-label={`Causes of ${causes.of.title}`}>
      <h2>Causes of {causes.of.title}, and what followed</h2>
      <Explorer causes={causes} />
    </section>
  );
}
