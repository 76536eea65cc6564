// Owns: the newest packets in short. Does not own: one packet, which the traffic shows.
import { Link } from "wouter-preact";
import type { TrafficPage } from "../../../../src/bridges/console/shapes.ts";
import { can } from "../../about.ts";
import { get } from "../../api.ts";
import { useResource } from "../../resource.ts";
import { Badge } from "../../ui/badge.tsx";
import { None } from "../../ui/none.tsx";
import { Empty, ErrorNote, Loading, Unavailable } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { ClockTime, duration } from "../../ui/time.tsx";
import { usePolling } from "../lists/polling.tsx";
import { transportLabel } from "../traffic/filter.ts";

const MOST = 50;

export const Recent = () => (can("traffic") ? <RecentList /> : <Unavailable ability="traffic" />);

function RecentList() {
  const list = useResource("packets", (signal) => get<TrafficPage>("/traffic", { transport: "packets", limit: MOST }, signal));
  usePolling(list.reload, 2_000);
  const rows = list.data.value?.items;
  if (list.error.value !== undefined) return <ErrorNote error={list.error.value} retry={list.reload} />;
  if (rows === undefined) return <Loading what="packets" />;
  if (rows.length === 0)
    return (
      <Empty title="No packets yet">
        <span>
          Start the server with <code>--packets</code>. Clients then send packets to <code>/packets</code> over HTTP or a WebSocket, or over
          TCP. What MCP clients request of capabilities is in <Link href="/traffic">the traffic</Link>.
        </span>
      </Empty>
    );
  return (
    <>
      <Table
        caption="Recent packets"
        rows={rows}
        keyOf={({ n }) => String(n)}
        columns={[
          { head: "Time", cell: ({ at }) => <ClockTime at={at} /> },
          {
            head: "Packet",
            fill: true,
            cell: ({ n, method, name }) => (
              <Link href={`/traffic?transport=packets&open=${n}`}>
                {method} {name === undefined ? null : <strong class="mono">{name}</strong>}
              </Link>
            ),
          },
          { head: "Status", cell: ({ status, code }) => <span title={code}>{<Badge word={status} />}</span> },
          { head: "Principal", wide: true, cell: ({ principal }) => principal ?? <None /> },
          { head: "Over", wide: true, cell: ({ transport }) => <span class="dim">{transportLabel(transport)}</span> },
          { head: "Took", align: "right", cell: ({ ms }) => (ms === undefined ? "" : duration(ms)) },
        ]}
      />
      <p>
        <Link href="/traffic?transport=packets">All packets, live</Link>
      </p>
    </>
  );
}
