// Owns: how a caller is named, and who an event is by: a principal, another actor, or an anonymous user. Does not own: links (actor-link.tsx).
import type { EventRow } from "../../../src/bridges/console/shapes.ts";
import { ActorLink, readable } from "./actor-link.tsx";
import { None } from "./none.tsx";

/** The principal that it was done for, and the actor that sent the message. */
export function Who({ row: { principal, from } }: { readonly row: Pick<EventRow, "principal" | "from"> }) {
  if (principal === undefined && from === undefined) return <None />;
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
  principal === undefined && from !== undefined ? readable(from) : principalName(principal);

/** Empty or undefined: the caller is not signed in. */
export const principalName = (principal: string | undefined): string =>
  principal === undefined || principal === "" ? "an anonymous user" : principal;
