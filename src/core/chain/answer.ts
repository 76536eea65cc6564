import type { ActorId, EngineError, Message, Outgoing, Reply } from "../contract/index.ts";
import { missingActorRefusal } from "../contract/internal.ts";
import { sha256 } from "./event.ts";

/** Who asked for an answer as a message. */
export const askerOf = ({ from, replyAs }: Message): ActorId | undefined => (replyAs === undefined ? undefined : from);

/**
 * The reply on behalf of a missing actor, to a sender that asked for one with `replyAs`: no retry would make the actor exist, and the
 * sender can act on a refusal. Undefined for any other fault, and where nobody asked: that message may become a dead letter.
 */
export const missingActorReply = (message: Message, fault: EngineError): Reply | undefined =>
  askerOf(message) === undefined ? undefined : missingActorRefusal(fault);

/** The message that carries a reply to whoever asked with `replyAs`. */
export const answerTo = (asker: ActorId, replyAs: string, self: ActorId, of: string, reply: Reply): Outgoing => ({
  to: asker,
  action: replyAs,
  args: { of, to: self, reply },
});

/** The answer to a message that left no event, which would have sent it. Undefined: nobody asked for one. */
export function answerMessage(message: Message, reply: Reply, at: number): Message | undefined {
  const to = askerOf(message);
  if (to === undefined || message.replyAs === undefined) return undefined;
  // C5: whoever asked is told again by each replay, each time by a message of its own.
  const name = message.replays === undefined ? "r" : `r${message.replays}`;
  return {
    ...answerTo(to, message.replyAs, message.to, message.id, reply),
    id: `${message.id}.${name}`,
    at,
    seed: sha256(`${message.seed}:${name}`).slice(0, 32),
    from: message.to,
    ...(message.cause === undefined ? {} : { cause: message.cause }),
    ...(message.trace === undefined ? {} : { trace: message.trace }),
  };
}
