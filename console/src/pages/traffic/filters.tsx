// Owns: the fields that choose which messages are listed, in the address. Does not own: what they mean (filter.ts).
import type { TrafficRow } from "../../../../src/bridges/console/shapes.ts";
import { useParameter } from "../../page-state.ts";
import { sessionLabel } from "../../session-label.ts";
import { Choice } from "../../ui/choice.tsx";
import { PACKETS, transportLabel } from "./filter.ts";

const STATUSES = ["running", "ok", "error", "tool-error", "cancelled", "notification"];

export function useTrafficFilter() {
  const [method, setMethod] = useParameter("method");
  const [transport, setTransport] = useParameter("transport");
  const [session, setSession] = useParameter("session");
  const [status, setStatus] = useParameter("status");
  const [era, setEra] = useParameter("era");
  const [search, setSearch] = useParameter("search");
  const filter = { method, transport, session, status, era, search };
  const isFiltered = Object.values(filter).some((value) => value !== "");
  return { filter, isFiltered, setMethod, setTransport, setSession, setStatus, setEra, setSearch };
}

export function TrafficFilters({
  filters,
  rows,
}: {
  readonly filters: ReturnType<typeof useTrafficFilter>;
  /** All that there are: what they have can be chosen. */
  readonly rows: readonly TrafficRow[];
}) {
  const { method, transport, session, status, era, search } = filters.filter;
  const values = (of: (row: TrafficRow) => string | undefined): readonly string[] =>
    [...new Set(rows.flatMap((row) => of(row) ?? []))].toSorted();
  const transports = values((row) => row.transport);
  return (
    <div class="filters">
      <label class="grow">
        <span>Text</span>
        <input
          type="search"
          value={search}
          placeholder="Method, tool, client, error …"
          onInput={(event) => filters.setSearch(event.currentTarget.value)}
        />
      </label>
      <Choice label="Method" value={method} values={values((row) => row.method)} onChange={filters.setMethod} />
      <Choice
        label="Transport"
        value={transport}
        values={transports.some((one) => one.startsWith(PACKETS)) ? [...transports, PACKETS] : transports}
        labelOf={transportLabel}
        onChange={filters.setTransport}
      />
      <Choice label="Session" value={session} values={values((row) => row.session)} labelOf={sessionLabel} onChange={filters.setSession} />
      <Choice label="Status" value={status} values={STATUSES} onChange={filters.setStatus} />
      <Choice label="Era" value={era} values={["legacy", "modern"]} onChange={filters.setEra} />
    </div>
  );
}
