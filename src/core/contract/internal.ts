/** Helpers that other folders share. Not public: no subpath leads here. */
export {
  BEGIN_ACTION,
  compareIds,
  constantly,
  isActorId,
  isAddress,
  isConstant,
  isRefusal,
  keyIn,
  kindOf,
  REFUSAL,
  replayed,
} from "./actor.ts";
export { memoize, MultiMap, remembering } from "./collections.ts";
export { missingActorRefusal } from "./engine.ts";
export { classOf, nameOf, outOfOrder, shapeOf } from "./errors.ts";
export {
  canonical,
  DEEPEST,
  omitUndefined,
  freezeDeep,
  growthBy,
  hasOwn,
  isTexts,
  jsonIn,
  getOwn,
  setOwn,
  SHORT_BYTES,
  textBytes,
  tooManyValues,
  VALUE_LIMITS,
  wellFormed,
  withoutBom,
} from "./json.ts";
export { HeldMessages, isHeavy, isLocal, peerOf, RepeatedLines, withoutRepeats } from "./limits.ts";
export { Listeners, tellOf, told } from "./listeners.ts";
export {
  capabilityNeeded,
  checkMirrored,
  checkScopes,
  EXTENSION,
  isBlob,
  isContent,
  isExtensionMethod,
  isScope,
  lacking,
  mirroredIn,
  needsScopes,
  scopesOf,
  withScopes,
} from "./mcp.ts";
export { type CommitEnds, type HandOver, handOverTo, promising } from "./store.ts";
export { LATE, type MayBeLate, settledNow, watchClock, whenLate } from "./time.ts";
export { MAX_URI, type Template, templatesOf, templateVariables } from "./uri.ts";
export {
  ANNOTATIONS,
  ARGUMENT,
  blamed,
  checkNeeded,
  checkTask,
  HINTS,
  ICONS,
  KINDS,
  misfit,
  closestMatch,
  OBJECT,
  SIZE,
  TASK,
  TEXT,
  unsendable,
  wrongInBlock,
} from "./validate.ts";
export { vouch, vouchedFor, type Written } from "./vouch.ts";
