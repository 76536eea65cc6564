export { apply } from "./apply.ts";
export { diff } from "./diff.ts";
export { bodyText, headerText, readBody, readHeader, seal, sha256 } from "./event.ts";
export { freezeNew } from "./freeze.ts";
export { check, MAX_DEPTH } from "./json-check.ts";
export { stateFrom, type Told } from "./state.ts";
export { callHash } from "./call-hash.ts";
export { compareIds, keyOf, kindOf } from "./address.ts";
export { entryOf, eventOf, messagesOf, statusOf } from "./entry.ts";
export { extraOf, kindFrom, type Extra, type Kind } from "./kind.ts";
export { NOTHING_SINCE, sinceAfter, type SinceFull, wantsFull } from "./since-full.ts";
export { atMostBytes } from "./size.ts";
export { stamp, stampFrom } from "./stamp.ts";
export {
  answerTo,
  begin,
  hasParent,
  OK_NULL,
  planTurn,
  received,
  keptFor,
  type Base,
  type CallKey,
  type Incoming,
  type Plan,
} from "./turn.ts";
export { ownId } from "./own-id.ts";
export { wakeId } from "./wake-id.ts";
export { understand, type Understood } from "./understand.ts";
export * as faults from "./faults.ts";
export { causeTree, rootCause, type Cause, type CauseLookup } from "./causes.ts";
export { checkpointEntry, checkSignature, signingKey, type Stamped } from "./checkpoint.ts";
export { exportLine, importLine } from "./export.ts";
export { forkEntry, type ForkOptions } from "./fork.ts";
export { diffStates, stateAt, type Difference } from "./history.ts";
export { isRedacted, secretsIn, withoutSecrets } from "./redact.ts";
export { reexecute, type Mismatch, type Reexecution } from "./reexecute.ts";
export { type Flaw, type FlawCode, Verifier, verify, verifyStream, type Verdict, type VerifyOptions } from "./verify.ts";
