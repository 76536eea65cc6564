import type { ActorId, Message } from "../contract/index.ts";

/** What an actor hears of a child that failed. */
export const FAILED = "failed";

/** Where the message that failed it for good was the `crash`. As little is kept of this as of the failure itself. */
export const failedMessage = (parent: ActorId, child: ActorId, why: string, crash: Message, at: number): Message => ({
  id: `${crash.id}.failed`,
  to: parent,
  action: FAILED,
  args: { child, why },
  at,
  seed: crash.seed,
  from: child,
});
