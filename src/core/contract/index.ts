/** What every other folder builds on: types, errors, the clock, and the interfaces of stores, sources and transports. */
export {
  type ActorId,
  type ActorViewer,
  type Asks,
  type Behaviour,
  type Context,
  DEFAULT_POLICY,
  type Log,
  type LogLevel,
  type Message,
  type Outgoing,
  type Past,
  type PastTurn,
  type Per,
  type Policy,
  type StateMisfit,
  type Progress,
  type Reply,
  type ReplyWith,
  type RolesByKind,
  type Step,
  type Turn,
  type Viewer,
  type Wake,
  type Work,
} from "./actor.ts";
export { type Body, type ChainEvent, type Header, REDACTED } from "./chain.ts";
export type { Closable } from "./closable.ts";
export { Queues } from "./collections.ts";
export type {
  Answer,
  Caller,
  Channel,
  Connection,
  MountRequest,
  Exchange,
  Gateway,
  GatewayReport,
  HttpMount,
  SessionReport,
  SocketMount,
  TaskReport,
} from "./channel.ts";
export type { Change, Engine, DeadLetter, ListQuery, Member, Members, PeerListener, Peers, Snapshot, Status, Trait } from "./engine.ts";
export {
  type ListenCode,
  type EngineCode,
  EngineError,
  type ErrorCode,
  type SqlCode,
  type StoreCode,
  StoreError,
  type SurfaceCode,
  TroupeError,
} from "./errors.ts";
export type {
  FoundRows,
  Index,
  IndexChange,
  IndexColumn,
  IndexedActors,
  IndexedRow,
  IndexEvent,
  IndexFilter,
  IndexFlaw,
  IndexItem,
  IndexOperations,
  IndexPage,
  IndexProgress,
  IndexQuery,
  IndexShape,
  IndexState,
  IndexStore,
  IndexValue,
  IndexVerdict,
  IndexVisibility,
  RowOf,
  RowQuery,
  StoredIndex,
} from "./indexes.ts";
export { type JsonObject, type Frozen, isJsonObject, isList, type Json } from "./json.ts";
export { defaultRate, type Rate, TokenBuckets } from "./client-limits.ts";
export { Watchers } from "./listeners.ts";
export { BARE_RESULT, BLOB, type Content, CONTENT, isBareResult } from "./mcp.ts";
export type { Figure, Figures, Observation, ObservedFailure, ObservedRequest, Observer } from "./observer.ts";
export {
  type Ask,
  changedSession,
  eventId,
  isSessionRow,
  readEventId,
  type SessionChange,
  type SessionRow,
  type SessionStore,
  sessionTtlIn,
  STREAM_BOUNDS,
  type StreamBounds,
  type StreamStore,
  type TaskRow,
  type TaskStore,
  untilClosed,
} from "./session.ts";
export type { CallOptions, ContentOf, Dirty, Receipt, SurfaceNow, Source } from "./source.ts";
export { type Sql, type SqlColumn, SqlError, type SqlQuery, type SqlResult, type SqlView } from "./sql.ts";
export type {
  ActorImport,
  Collected,
  ContentStore,
  Damaged,
  Digest,
  Due,
  DuePlace,
  Ended,
  EndedPage,
  EndedQuery,
  Entry,
  Exporter,
  Importer,
  KeyedCall,
  LeavingActor,
  Remembered,
  Row,
  OutboxAck,
  SetWake,
  Store,
  Stored,
  ExportedActor,
  Undelivered,
} from "./store.ts";
export type { Catalogue, ListName, Offer, OfferRef, Surface, TaskSupport } from "./surface.ts";
export {
  abortSignalOf,
  Cancellation,
  type CancelSignal,
  type Clock,
  type Entropy,
  systemClock,
  systemEntropy,
  untilAborted,
} from "./time.ts";
export { ABOVE_ZERO, boundsOf, checkOptions, FUNCTION, oneOf, type OptionRule, type OptionTable, RATE, TEXTS } from "./validate.ts";
