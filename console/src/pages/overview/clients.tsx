// Owns: which clients there are, and which of them is slow, at a glance.
import { Link } from "wouter-preact";
import type { ClientShape } from "../../../../src/bridges/console/shapes.ts";
import { ConsoleBadge, RequestCount, WAITING } from "../../ui/client.tsx";
import { ranMs, SlowBar, Waited } from "../../ui/slow-bar.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { counted } from "../../ui/time.tsx";

export function Clients({ clients }: { readonly clients: readonly ClientShape[] }) {
  const most = Math.max(0, ...clients.map(ranMs));
  const rows = clients.toSorted((one, other) => ranMs(other) - ranMs(one));
  return (
    <section>
      <h2>Clients, slowest first</h2>
      {rows.length === 0 ? (
        <Empty title="No clients">
          <span>
            Connect one to this server, or open the <Link href="/playground">playground</Link>.
          </span>
        </Empty>
      ) : (
        <Table
          caption="Clients by revision"
          rows={rows}
          keyOf={({ client, revision }) => `${client} ${revision}`}
          columns={[
            {
              head: "Client",
              cell: ({ client }) => (
                <>
                  <Link href={`/sessions?search=${encodeURIComponent(client)}`}>{client === "" ? "unnamed" : client}</Link>{" "}
                  <ConsoleBadge client={client} />
                </>
              ),
            },
            { head: "Revision", wide: true, cell: ({ revision }) => <span class="mono">{revision}</span> },
            {
              head: "Ran, slowest 1 %",
              align: "right",
              cell: (row) => <SlowBar ms={ranMs(row)} most={most} none={row.p99Ms === 0} />,
            },
            { head: "Waited", align: "right", wide: true, cell: (row) => <Waited {...row} /> },
            {
              head: "Requests/min",
              align: "right",
              wide: true,
              cell: ({ requests, errors }) => <RequestCount requests={requests} errors={errors} />,
            },
            { head: "Open", align: "right", wide: true, cell: openText },
          ]}
        />
      )}
      {rows.length < 2 ? null : <p class="dim">{WAITING}</p>}
    </section>
  );
}

const STATELESS = "2026-07-28";

const openText = ({ revision, sessions, streams }: ClientShape): string =>
  [revision >= STATELESS ? "no session" : counted(sessions, "session"), streams === 0 ? [] : counted(streams, "stream")].flat().join(", ");
