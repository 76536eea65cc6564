// Owns: the request of a client that an event, or what caused it, began with. Does not own: the event's cause in a chain.
import { Link } from "wouter-preact";
import type { CausingRequest, EventDetail, EventRow } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { get } from "../api.ts";
import { byOperator } from "../operator-events.ts";
import { useResource } from "../resource.ts";

/** `whole`: the row has its request if there is one; otherwise the server searches for it. */
export function Origin({ row, whole = false }: { readonly row: EventRow; readonly whole?: boolean }) {
  const { id, request } = row;
  const isKnown = whole || request !== undefined || byOperator(row);
  const found = useResource<EventDetail | undefined>(`origin ${id} ${isKnown}`, async (signal) =>
    isKnown ? undefined : await get<EventDetail>(`/events/${id}`, undefined, signal),
  );
  const known = request ?? found.data.value?.request;
  if (known !== undefined) return <RequestLink request={known} />;
  if (byOperator(row)) return <>an operator</>;
  return (
    <span class="dim">
      {can("traffic") ? "not among the recorded messages: it was called from the console, or is older" : "not recorded here"}
    </span>
  );
}

const RequestLink = ({ request: { n, method, name, client } }: { readonly request: CausingRequest }) => (
  <>
    <Link href={`/traffic?open=${n}`}>
      {method} {name === undefined ? null : <span class="mono">{name}</span>}
    </Link>{" "}
    by <strong>{client ?? "a client that gave no name"}</strong>
  </>
);
