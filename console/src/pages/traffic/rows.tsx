// Owns: messages between clients and the server as a table. Does not own: which of them it has.
import type { TrafficRow } from "../../../../src/bridges/console/shapes.ts";
import { sessionLabel } from "../../session-label.ts";
import { Badge } from "../../ui/badge.tsx";
import { OpenButton, type OpenRow } from "../../ui/open-row.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { bytes, ClockTime, duration } from "../../ui/time.tsx";
import { isLasting } from "./filter.ts";

// Left out next to the details, which say the same.
const SIZES: readonly Column<TrafficRow>[] = [
  { head: "Principal", wide: true, cell: ({ principal }) => principal ?? <span class="dim">–</span> },
  { head: "In", align: "right", wide: true, cell: ({ requestBytes }) => bytes(requestBytes) },
  { head: "Out", align: "right", wide: true, cell: ({ responseBytes }) => (responseBytes === undefined ? "" : bytes(responseBytes)) },
  { head: "Client", wide: true, cell: ({ client }) => <span class="dim">{client ?? ""}</span> },
  { head: "Era", wide: true, cell: ({ era }) => <span class="dim">{era}</span> },
];

export function Rows({
  rows,
  open,
  onSession,
}: {
  readonly rows: readonly TrafficRow[];
  readonly open: OpenRow;
  readonly onSession: (session: string) => void;
}) {
  return (
    <Table
      caption="Requests"
      rows={rows}
      keyOf={({ n }) => String(n)}
      open={open.key}
      onOpen={({ n }) => open.toggle(String(n))}
      columns={[
        {
          head: "Time",
          cell: ({ at }) => <ClockTime at={at} />,
        },
        {
          head: "Client or session",
          wide: true,
          cell: ({ session, client }) =>
            session === undefined ? (
              <span class="dim">–</span>
            ) : (
              <button type="button" class="link" title={client} onClick={() => onSession(session)}>
                {sessionLabel(session)}
              </button>
            ),
        },
        {
          head: "Method",
          fill: true,
          cell: ({ n, method, name, direction }) => (
            <OpenButton of={String(n)} open={open}>
              <span class="dim" title={direction === "in" ? "From the client" : "From the server"}>
                {direction === "in" ? "→" : "←"}
              </span>{" "}
              {method} {name === undefined ? null : <strong class="mono">{name}</strong>}
            </OpenButton>
          ),
        },
        {
          head: "Took",
          align: "right",
          cell: (row) =>
            row.ms === undefined ? (
              ""
            ) : isLasting(row) ? (
              <span class="dim" title="A stream, which is meant to stay open.">
                open {duration(row.ms)}
              </span>
            ) : (
              <span class={row.ms >= 200 ? "bad-text" : ""}>{duration(row.ms)}</span>
            ),
        },
        {
          head: "Status",
          cell: ({ status, error }) => (
            <span title={error?.message}>
              <Badge word={status} />
            </span>
          ),
        },
        ...(open.key === "" ? SIZES : []),
      ]}
    />
  );
}
