// Owns: finding actors. Does not own: one actor's page.
import type { ActorPage } from "../../../src/bridges/console/shapes.ts";
import { get } from "../api.ts";
import { useParameter } from "../page-state.ts";
import { useResource } from "../resource.ts";
import { ActorLink } from "../ui/actor-link.tsx";
import { Badge } from "../ui/badge.tsx";
import { Empty, ErrorNote, Loading } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";

export function Actors() {
  const [search, setSearch] = useParameter("search");
  const page = useResource<ActorPage>(`actors ${search}`, (signal) => get("/actors", { search, limit: 100 }, signal));
  const rows = page.data.value?.items;
  return (
    <>
      <h1>Actors</h1>
      <label class="search">
        <span>Search ids</span>
        <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </label>
      {page.error.value === undefined ? null : <ErrorNote error={page.error.value} retry={page.reload} />}
      {rows === undefined ? (
        <Loading what="actors" />
      ) : rows.length === 0 ? (
        <Empty title="No actors">Actors appear when a client first calls one.</Empty>
      ) : (
        <Table
          caption="Actors"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            { head: "Actor", cell: ({ id }) => <ActorLink id={id} /> },
            { head: "Status", cell: ({ status }) => <Badge word={status} /> },
            { head: "Events", cell: ({ seq }) => seq, align: "right" },
          ]}
        />
      )}
    </>
  );
}
