// Owns: the envelope of what a turn sends, as its author wrote it. Does not own: when it is sent (turn-context.ts), its stamp (core/chain).
import type { ActorId, Json, Message, Outgoing } from "../contract/index.ts";
import { BEGIN_ACTION, omitUndefined } from "../contract/internal.ts";
import { checkSendOptions } from "./address.ts";
import { badTurn } from "./author-errors.ts";
import type { CreateOptions, SendOptions } from "./context.ts";
import { keyOf } from "./names.ts";
import { toJson } from "./to-json.ts";

/** The message that starts an actor. */
export function creating(to: ActorId, args: unknown, { policy, viewer }: CreateOptions = {}): Outgoing & { readonly start: Json } {
  const start = args === undefined ? null : toJson(args, "the arguments of create()");
  return { to, action: BEGIN_ACTION, args: null, start, ...omitUndefined({ policy, viewer }) };
}

/** The envelope of a message as its author wrote it. It keeps the trace of its cause. */
export function outgoing(
  to: ActorId | Outgoing,
  given: string | SendOptions | undefined,
  args: unknown,
  options: SendOptions | undefined,
  cause: Message,
): Outgoing {
  if (typeof to === "object") {
    const extra = typeof given === "object" ? given : undefined;
    checkSendOptions(extra);
    return traced({ ...to, ...extra, args: toJson(to.args, "the arguments of a message") }, cause);
  }
  // Throws BAD_ID here, where the author sees it, not in the outbox.
  keyOf(to);
  if (typeof given !== "string") throw badTurn("send(to, action, args): `action` is the name of a message.");
  checkSendOptions(options);
  return traced({ ...options, to, action: given, args: toJson(args, "the arguments of a message") }, cause);
}

export function traced(message: Outgoing, cause: Message): Outgoing {
  return cause.trace === undefined || message.trace !== undefined ? message : { ...message, trace: cause.trace };
}
