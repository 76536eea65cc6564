// Owns: the first page. Does not own: the figures (GET /overview).
import { about } from "../about.ts";
import { Table } from "../ui/table.tsx";

export function Overview() {
  const kinds = about.value?.kinds ?? [];
  return (
    <>
      <h1>Overview</h1>
      <Table
        caption="Kinds of actors"
        rows={kinds}
        keyOf={({ kind }) => kind}
        columns={[
          { head: "Kind", cell: ({ kind }) => kind },
          { head: "Actors", cell: ({ actors }) => actors, align: "right" },
        ]}
      />
    </>
  );
}
