import type { ActorId, Message, Row } from "../contract/index.ts";
import { sha256 } from "./event.ts";

/** What an actor hears of a child that failed. */
export const FAILED = "failed";

/**
 * Where the message that failed it for good was the `crash`; undefined: nobody is told. As little is kept of this as of the failure
 * itself.
 */
export function failedMessage(
  { parent, muted }: Pick<Row, "parent" | "muted">,
  child: ActorId,
  why: string,
  crash: Message,
  at: number,
): Message | undefined {
  if (parent === undefined || muted === true) return undefined;
  // Restarted, it may be failed once more by the same message, which is delivered again: that is another message, of other ids.
  const of = `${crash.id}.failed.${at}`;
  return { id: of, to: parent, action: FAILED, args: { child, why }, at, seed: sha256(`${crash.seed}:${of}`).slice(0, 32), from: child };
}
