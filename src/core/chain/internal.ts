/** The pure half of a turn, for engines only: message and state in, entry out. No public subpath leads here. */
export { entryOf, eventOf, messagesOf, needsSnapshot, NOTHING_SINCE, sinceAfter, type SinceFull, statusOf } from "./entry.ts";
export { sealText } from "./event.ts";
export { afterCrash, failedMessage, letterReason, thrownText, unhandledMessage } from "./failures.ts";
export * as faults from "./engine-errors.ts";
export { atMostBytes, exactBytes, freezeNew } from "./json-check.ts";
export { IndexChanges, indexShape } from "./index-changes.ts";
export { extraOf, type Extra, type Kind, kindFrom, policyWith } from "./kind.ts";
export {
  byOperator,
  callHash,
  innerKey,
  isAction,
  keyOf,
  ownId,
  rolesByKind,
  scopedKey,
  stamp,
  stampFrom,
  storedViewer,
  wakeId,
  wakeNameIn,
} from "./messages.ts";
export { pastOf } from "./own-past.ts";
export {
  answerMessage,
  askerOf,
  callerLeftRefusal,
  cancelledWith,
  deadLetterAnswer,
  finalRefusal,
  firstCall,
  isCancelledReply,
  pendingReply,
} from "./replies.ts";
export { stateFrom, type Upcast, upcast } from "./replay.ts";
export { type Base, begin, type CallKey, hasParent, mayStart, OK_NULL, type Plan, planTurn, received } from "./turn.ts";
