// Owns: the request of a client that an event, or what caused it, began with. Does not own: the event's cause in a chain.
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import type { CausingRequest, EventDetail, EventRow } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { get } from "../api.ts";
import { byOperator } from "../operator-events.ts";
import { useResource } from "../resource.ts";

/** `whole`: the row has its request if there is one; otherwise the server searches for it. */
export function Origin({ row, whole = false }: { readonly row: EventRow; readonly whole?: boolean }) {
  const { id, request, principal } = row;
  const isKnown = whole || request !== undefined || byOperator(row);
  const found = useResource<EventDetail | undefined>(`origin ${id} ${isKnown}`, async (signal) =>
    isKnown ? undefined : await get<EventDetail>(`/events/${id}`, undefined, signal),
  );
  const known = request ?? found.data.value?.request;
  if (known !== undefined) return <RequestLink request={known} />;
  if (byOperator(row)) return <>an operator</>;
  return (
    <span class="dim">
      {principal === undefined ? "a request" : `a request by ${principal}`} that {notRecorded()}
    </span>
  );
}

const notRecorded = (): string => (can("traffic") ? "was not recorded, or was recorded long ago" : "is not recorded here");

const RequestLink = ({ request }: { readonly request: CausingRequest }) => (
  <>
    <RecordedRequest n={request.n}>
      {request.method} {request.name === undefined ? null : <span class="mono">{request.name}</span>}
    </RecordedRequest>{" "}
    by <strong>{senderOf(request)}</strong>
  </>
);

/** A request's name, which leads to it while it is recorded. */
export const RecordedRequest = ({ n, children }: { readonly n: number | undefined; readonly children: ComponentChildren }) =>
  n === undefined ? (
    <span title={`The request ${notRecorded()}`}>{children}</span>
  ) : (
    <Link href={`/traffic?open=${n}`} title="The request">
      {children}
    </Link>
  );

/** Who sent a request: "ann, with pager 1.0.0". */
export function senderOf({ principal, client }: CausingRequest): string {
  if (principal === undefined) return client ?? "a client that gave no name";
  return client === undefined ? principal : `${principal}, with ${client}`;
}
