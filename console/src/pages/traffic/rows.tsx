// Owns: messages between clients and the server as a table. Does not own: which of them it has.
import { useMemo } from "preact/hooks";
import type { TrafficRow } from "../../../../src/bridges/console/shapes.ts";
import { isTight } from "../../narrow.ts";
import { clientLabels } from "../../session-label.ts";
import { ActorLink } from "../../ui/actor-link.tsx";
import { Badge } from "../../ui/badge.tsx";
import { None } from "../../ui/none.tsx";
import { OpenButton, type OpenRow } from "../../ui/open-row.tsx";
import { SLOW_MS } from "../../ui/slow-bar.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { bytes, ClockTime, duration } from "../../ui/time.tsx";
import { eraLabel, isLasting } from "./filter.ts";

// Left out next to the details, which say the same.
const ACTOR: readonly Column<TrafficRow>[] = [
  { head: "Actor", wide: "opened", cell: ({ actor }) => (actor === undefined ? null : <ActorLink id={actor} />) },
];
const SIZES: readonly Column<TrafficRow>[] = [
  { head: "Principal", wide: "opened", cell: ({ principal }) => principal ?? <None /> },
  { head: "In", align: "right", wide: "opened", cell: ({ requestBytes }) => bytes(requestBytes) },
  { head: "Out", align: "right", wide: "opened", cell: ({ responseBytes }) => (responseBytes === undefined ? "" : bytes(responseBytes)) },
  { head: "Revision", wide: "opened", cell: ({ era }) => <span class="dim">{era === undefined ? "" : eraLabel(era)}</span> },
];

const tookColumn = (short: boolean): Column<TrafficRow> => ({
  head: "Took",
  align: "right",
  wide: "opened",
  cell: (row) => <Took row={row} short={short} />,
});

export function Rows({
  rows,
  all,
  open,
  onSession,
}: {
  readonly rows: readonly TrafficRow[];
  /** Also those that the filters leave out. */
  readonly all: readonly TrafficRow[];
  readonly open: OpenRow;
  readonly onSession: (session: string) => void;
}) {
  const labelOf = useMemo(() => clientLabels(all), [all]);
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
          head: "Client",
          wide: "opened",
          cell: ({ session, client }) =>
            session === undefined ? (
              (client ?? <None />)
            ) : (
              <button type="button" class="link traffic-client" title="Only its messages" onClick={() => onSession(session)}>
                {labelOf(session)}
              </button>
            ),
        },
        {
          head: "Method",
          fill: true,
          main: true,
          cell: (row) => (
            <>
              <OpenButton of={String(row.n)} open={open}>
                <span class="dim" title={row.direction === "in" ? "From the client" : "From the server"}>
                  {row.direction === "in" ? "→" : "←"}
                </span>{" "}
                {row.method} {row.name === undefined ? null : <strong class="mono">{row.name}</strong>}
              </OpenButton>
              <small class="narrow dim">{row.client ?? (row.session === undefined ? "" : labelOf(row.session))}</small>
            </>
          ),
        },
        ...(open.key === "" ? ACTOR : []),
        ...(open.key !== "" && isTight.value ? [] : [tookColumn(open.key !== "")]),
        {
          head: "Status",
          cell: (row) => (
            <>
              <span title={row.error?.message}>
                <Badge word={row.status} />
              </span>
              <small class="narrow">
                <Took row={row} short />
              </small>
            </>
          ),
        },
        ...(open.key === "" ? SIZES : []),
      ]}
    />
  );
}

function Took({ row, short = false }: { readonly row: TrafficRow; readonly short?: boolean }) {
  if (row.ms === undefined) return null;
  if (isLasting(row))
    return (
      <span class="dim" title="A stream, which is meant to stay open.">
        open {duration(row.ms)}
      </span>
    );
  const { ms, waitedMs, ranMs = ms } = row;
  const title = waitedMs === undefined ? undefined : `Waited ${duration(waitedMs)} for its actor, and ran ${duration(ranMs)} in it`;
  return (
    <span title={title}>
      {short || waitedMs === undefined || waitedMs < SLOW_MS ? null : <span class="dim">waited {duration(waitedMs)} of </span>}
      <span class={ranMs >= SLOW_MS ? "bad-text" : ""}>{duration(ms)}</span>
    </span>
  );
}
