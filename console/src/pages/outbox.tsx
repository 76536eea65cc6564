// Owns: messages that are committed and not yet delivered. Does not own: those that never will be (letters.tsx).
import type { LetterRow, OutboxRow, PageOf } from "../../../src/bridges/console/shapes.ts";
import { Link } from "wouter-preact";
import { can } from "../about.ts";
import { get } from "../api.ts";
import { useResource } from "../resource.ts";
import { ActorLink } from "../ui/actor-link.tsx";
import { None } from "../ui/none.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Pager, usePages } from "../ui/pager.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { Until } from "../ui/time.tsx";
import { RefreshButton, usePolling } from "./lists/polling.tsx";

const SIZE = 100;
const WHAT = "messages between actors that are on their way";

export function Outbox() {
  return (
    <RequireAbility ability="outbox" title="Outbox" what={WHAT}>
      <OutboxList />
    </RequireAbility>
  );
}

function OutboxList() {
  const pages = usePages();
  const list = useResource(`outbox ${pages.after}`, (signal) =>
    get<PageOf<OutboxRow>>("/outbox", { after: pages.after, limit: SIZE }, signal),
  );
  usePolling(list.reload);
  return (
    <>
      <PageHead title="Outbox" what={WHAT}>
        <RefreshButton reload={list.reload} />
      </PageHead>
      <Loaded resource={list} what="the outbox">
        {({ items: rows, next }) =>
          rows.length === 0 && pages.after === "" ? (
            <Nothing />
          ) : (
            <>
              <Table
                caption="Outbox"
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  { head: "Sent", cell: ({ at }) => <Until at={at} /> },
                  {
                    head: "From",
                    wide: true,
                    cell: ({ from }) => (from === undefined ? <None /> : <ActorLink id={from} />),
                  },
                  { head: "To", cell: ({ to }) => <ActorLink id={to} /> },
                  { head: "Message", cell: ({ action }) => action },
                  {
                    head: "Failed",
                    align: "right",
                    cell: ({ failures }) =>
                      failures === 0 ? (
                        <span class="dim">0</span>
                      ) : (
                        <span class="badge warning">{failures === 1 ? "once" : `${failures} times`}</span>
                      ),
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

/** What failed too often does not wait any more, and was not delivered. */
function Nothing() {
  const letters = useResource("letters of the outbox", (signal) =>
    can("letters") ? get<PageOf<LetterRow>>("/letters", { limit: 1 }, signal) : Promise.resolve({ items: [] }),
  );
  const some = (letters.data.value?.items.length ?? 0) > 0;
  return (
    <Empty title="Nothing is waiting">
      <span>Messages that wait for a busy actor, or are tried again, are listed here.</span>
      {some ? (
        <span>
          Some could not be delivered: see the <Link href="/letters">dead letters</Link>.
        </span>
      ) : null}
    </Empty>
  );
}
