// Owns: how many actors of each kind are in which status.
import { useSignal } from "@preact/signals";
import { Link } from "wouter-preact";
import type { Overview } from "../../../../src/bridges/console/shapes.ts";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";

const count = (value: number) => (value === 0 ? <span class="dim">0</span> : value.toLocaleString());

export function Kinds({ figures }: { readonly figures: Overview }) {
  const all = useSignal(false);
  const rows = Object.entries(figures.byKind)
    .map(([kind, statuses]) => ({ kind, ...statuses }))
    .filter(({ live, failed, stopped }) => all.value || live + failed + stopped > 0)
    .toSorted((one, other) => other.failed - one.failed || other.live - one.live || one.kind.localeCompare(other.kind));
  const without = Object.keys(figures.byKind).length - rows.length;
  return (
    <section>
      <h2>Actors by kind</h2>
      {rows.length === 0 && !all.value ? (
        <Empty title="No actors yet">An actor appears when a client first calls one.</Empty>
      ) : (
        <Table
          caption="Actors by kind"
          rows={rows}
          keyOf={({ kind }) => kind}
          columns={[
            { head: "Kind", cell: ({ kind }) => <Link href={`/actors?kind=${encodeURIComponent(kind)}`}>{kind}</Link> },
            { head: "Live", align: "right", cell: ({ live }) => count(live) },
            {
              head: "Failed",
              align: "right",
              cell: ({ kind, failed }) =>
                failed === 0 ? (
                  count(0)
                ) : (
                  <Link href={`/actors?kind=${encodeURIComponent(kind)}&status=failed`} class="bad-text">
                    {failed.toLocaleString()}
                  </Link>
                ),
            },
            { head: "Stopped", align: "right", cell: ({ stopped }) => count(stopped) },
          ]}
        />
      )}
      {without === 0 && !all.value ? null : (
        <p>
          <button type="button" class="small quiet" onClick={() => (all.value = !all.value)}>
            {all.value ? "Hide kinds without actors" : `Show ${without === 1 ? "1 kind" : `${without} kinds`} without actors`}
          </button>
        </p>
      )}
    </section>
  );
}
