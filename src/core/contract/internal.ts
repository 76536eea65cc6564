/** Helpers that other folders share. Not public: no subpath leads here. */
export {
  admitsReply,
  capabilityNeeded,
  checkHeaderParameters,
  checkScopes,
  EXTENSION,
  headerParameters,
  isBlob,
  isContent,
  isExtensionMethod,
  isScope,
  missingScopes,
  missingScopesMessage,
  readAccept,
  scopesOf,
  withScopes,
} from "./mcp.ts";
export {
  authorPlace,
  choicesMessage,
  classOf,
  counted,
  hasBegun,
  messageOf,
  nameOf,
  shapeOf,
  unavailableMessage,
  withoutId,
} from "./errors.ts";
export {
  BEGIN_ACTION,
  compareIds,
  contextViewer,
  markStatic,
  isActorId,
  isActorViewer,
  isAddress,
  isNoticeOfChild,
  isStatic,
  isRefusal,
  isReplyAction,
  encodedKeyOf,
  keyIn,
  kindOf,
  REFUSAL,
  REPLY_ACTION,
  REPLY_FAILED_ACTION,
  SETTLED_ACTION,
  asReplay,
  sameClaims,
} from "./actor.ts";
export { Lru, memoize, MultiMap, memoizeByString } from "./collections.ts";
export { normalizedPath } from "./channel.ts";
export { nextCronTime, tickOfSetBack } from "./cron.ts";
export { type Changes, DirtyPaths } from "./dirty-paths.ts";
export { argumentNames, hasOpenKeyword, namedArguments, namesMember } from "./surface.ts";
export { DELIVERY_ATTEMPTS, missingActorRefusal } from "./engine.ts";
export { charactersIn, EventPages, newestWithin, storedContext } from "./chain.ts";
export {
  comparePositions,
  INDEX_LIMITS,
  indexedColumns,
  indexedRow,
  indexPage,
  isSameMember,
  isVisibleTo,
  MemoryRows,
  mergedRows,
  principalColumn,
  rowQuery,
} from "./index-rows.ts";
export {
  canonical,
  DEEPEST,
  freezeDeep,
  getOwn,
  growthBy,
  hasOwn,
  isTexts,
  loggable,
  mayBeRounded,
  omitUndefined,
  pointerStep,
  pointerSteps,
  roundedInteger,
  roundingIssue,
  setOwn,
  SHORT_BYTES,
  stripBom,
  textBytes,
  tooManyValues,
  tryParseJson,
  VALUE_LIMITS,
  wellFormed,
} from "./json.ts";
export { InFlightMemoryBudget, isLarge, isLocal, peerKey, peerOf, RateLimitedLines, rateLimitedLog } from "./client-limits.ts";
export { Listeners, notify, safeCall } from "./listeners.ts";
export { observers } from "./observer.ts";
export {
  cleanText,
  containedIn,
  cutText,
  ftsQuery,
  type PlacedWord,
  placedWords,
  searchableText,
  type SearchTerm,
  searchTerms,
} from "./search-text.ts";
export { ReceiptRecorder } from "./source.ts";
export { type CommitCallbacks, type CommitWithCallback, commitWithCallback, commitFrom } from "./store.ts";
export { andThen, andThenElse, inWords, ON_TIMEOUT, type Timeoutable, settledNow, watchClock, onTimeout, withTimeout } from "./time.ts";
export { isResumeOnly, markResumeOnly } from "./channel.ts";
export { MAX_URI, type Template, templatesOf, templateVariables } from "./uri-template.ts";
export {
  ANNOTATIONS,
  ARGUMENT,
  invalidMessageReply,
  checkNeeded,
  checkWholeNumber,
  wholeLimit,
  checkTask,
  DURATION,
  HINTS,
  ICONS,
  INDEXES,
  KINDS,
  LIMIT,
  firstInvalidField,
  closestMatch,
  didYouMean,
  OBJECT,
  OFFERED,
  SIZE,
  TASK,
  TEXT,
  unserialisableError,
  invalidInBlock,
  isBase64,
} from "./validate.ts";
