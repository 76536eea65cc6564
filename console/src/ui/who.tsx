// Owns: who an event is by: a principal, another actor, or anonymous. Does not own: links (actor-link.tsx).
import type { EventRow } from "../../../src/bridges/console/shapes.ts";
import { ActorLink, readable } from "./actor-link.tsx";

/** The principal that it was done for, and the actor that sent the message. */
export function Who({ row: { principal, from } }: { readonly row: Pick<EventRow, "principal" | "from"> }) {
  if (principal === undefined && from === undefined) return <span class="dim">—</span>;
  return (
    <>
      {principal === undefined ? null : <span class="principal">{principal}</span>}
      {from === undefined ? null : (
        <span class="from dim">
          {principal === undefined ? "" : " "}by <ActorLink id={from} />
        </span>
      )}
    </>
  );
}

/** The same as a text. */
export const whoText = ({ principal, from }: Pick<EventRow, "principal" | "from">): string =>
  principal ?? (from === undefined ? "anonymous" : readable(from));
