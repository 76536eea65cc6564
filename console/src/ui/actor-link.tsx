// Owns: links to the pages of actors and events.
import { Link } from "wouter-preact";

export const ActorLink = ({ id, tab }: { readonly id: string; readonly tab?: string }) => (
  <Link href={`/actors/${id}${tab === undefined ? "" : `?tab=${tab}`}`} class="id" title={readable(id)}>
    {readable(id)}
  </Link>
);

export const EventLink = ({ id }: { readonly id: string }) => (
  <Link href={`/events/${id}`} class="id">
    {id.slice(0, 12)}
  </Link>
);

/** An id with its key decoded, for people. */
export function readable(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
