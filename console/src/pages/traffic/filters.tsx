// Owns: the fields that choose which messages are listed, in the address. Does not own: what they mean (filter.ts).
import { useMemo } from "preact/hooks";
import type { TrafficPage, TrafficRow } from "../../../../src/bridges/console/shapes.ts";
import { useParameter } from "../../page-state.ts";
import { clientLabels } from "../../session-label.ts";
import { Choice, Filters, TextFilter } from "../../ui/filters.tsx";
import { duration } from "../../ui/time.tsx";
import { eraLabel, PACKETS, transportLabel } from "./filter.ts";

const STATUSES = ["running", "ok", "error", "tool-error", "cancelled", "notification"];

/** Milliseconds. */
const SLOW = ["50", "200", "1000", "5000"];

export function useTrafficFilter() {
  const [method, setMethod] = useParameter("method");
  const [transport, setTransport] = useParameter("transport");
  const [session, setSession] = useParameter("session");
  const [status, setStatus] = useParameter("status");
  const [era, setEra] = useParameter("era");
  const [search, setSearch] = useParameter("search");
  const [where, setWhere] = useParameter("in");
  const [principal, setPrincipal] = useParameter("principal");
  const [slow, setSlow] = useParameter("slow");
  const filter = { method, transport, session, status, era, principal, slow, search, where };
  const isFiltered = Object.values(filter).some((value) => value !== "");
  return { filter, isFiltered, setMethod, setTransport, setSession, setStatus, setEra, setPrincipal, setSlow, setSearch, setWhere };
}

export function TrafficFilters({
  filters,
  rows,
  parties,
}: {
  readonly filters: ReturnType<typeof useTrafficFilter>;
  /** All that there are: what they have can be chosen. */
  readonly rows: readonly TrafficRow[];
  /** Of the messages that are not loaded, too. */
  readonly parties?: Pick<TrafficPage, "sessions" | "principals"> | undefined;
}) {
  const { method, transport, session, status, era, principal, slow, search, where } = filters.filter;
  const values = (of: (row: TrafficRow) => string | undefined, others: readonly string[] = []): readonly string[] =>
    [...new Set([...others, ...rows.flatMap((row) => of(row) ?? [])])].toSorted();
  const labelOf = useMemo(() => clientLabels(rows), [rows]);
  const transports = values((row) => row.transport);
  return (
    <Filters>
      <TextFilter value={search} placeholder="Tool, client, error …" onChange={filters.setSearch} />
      <Choice
        label="Text in"
        value={where}
        values={["all"]}
        all="Requests"
        labelOf={() => "Requests and responses"}
        onChange={filters.setWhere}
      />
      <Choice label="Method" value={method} values={values((row) => row.method)} onChange={filters.setMethod} />
      <Choice
        label="Transport"
        value={transport}
        values={transports.some((one) => one.startsWith(PACKETS)) ? [...transports, PACKETS] : transports}
        labelOf={transportLabel}
        onChange={filters.setTransport}
      />
      <Choice
        label="Client"
        value={session}
        values={values((row) => row.session, parties?.sessions)}
        labelOf={labelOf}
        onChange={filters.setSession}
      />
      <Choice
        label="Principal"
        value={principal}
        values={values((row) => row.principal, parties?.principals)}
        onChange={filters.setPrincipal}
      />
      <Choice
        label="Took"
        value={slow}
        values={SLOW}
        all="Any time"
        labelOf={(ms) => `from ${duration(Number(ms))}`}
        onChange={filters.setSlow}
      />
      <Choice label="Status" value={status} values={STATUSES} onChange={filters.setStatus} />
      <Choice label="Protocol revision" value={era} values={["legacy", "modern"]} labelOf={eraLabel} onChange={filters.setEra} />
    </Filters>
  );
}
