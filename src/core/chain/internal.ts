/** The pure half of a turn, for engines only: message and state in, entry out. No public subpath leads here. */
export { answerMessage, askerOf, missingActorReply } from "./answer.ts";
export { callHash, innerKey, scopedKey } from "./call-hash.ts";
export { afterCrash } from "./crash.ts";
export { entryOf, eventOf, messagesOf, statusOf } from "./entry.ts";
export { sealText } from "./event.ts";
export * as faults from "./faults.ts";
export { freezeNew } from "./freeze.ts";
export { keyOf } from "./key-of.ts";
export { extraOf, kindFrom, policyWith, type Extra, type Kind } from "./kind.ts";
export { failedMessage, unhandledMessage } from "./unhandled-message.ts";
export { keptFor } from "./pending.ts";
export { NOTHING_SINCE, sinceAfter, type SinceFull, needsSnapshot } from "./snapshot-policy.ts";
export { atMostBytes, exactBytes } from "./size.ts";
export { stamp, stampFrom } from "./stamp.ts";
export { stateFrom } from "./state.ts";
export { begin, hasParent, OK_NULL, planTurn, received, type Base, type CallKey, type Plan } from "./turn.ts";
export { understand, type Understood } from "./understand.ts";
export { ownId, wakeId } from "./message-ids.ts";
