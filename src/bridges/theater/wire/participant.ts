import type { Printable } from "./print-json.ts";
import { WireError } from "./wire-error.ts";
import type { WireValue } from "./wire-json.ts";
import { caseOf } from "./fields.ts";

/** One end of a channel: an actor, or a client of the server. */
export type Participant = { readonly actor: string } | "external";

/** `{"Actor": id}` or `"External"`. One client library sends `{"Client": …}` for the latter. */
export function readParticipant(value: WireValue | undefined, subject: string): Participant {
  const [name, content] = caseOf(value, subject);
  if (name === "Actor" && typeof content === "string" && content !== "") return { actor: content };
  if (name === "External" || name === "Client") return "external";
  throw new WireError(`${subject} must be {"Actor": "<id>"} or "External".`);
}

export const printParticipant = (participant: Participant): Printable =>
  participant === "external" ? "External" : { Actor: participant.actor };
