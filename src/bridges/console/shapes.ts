// Owns: the JSON of the console's API, which the page, `curl` and the command line's --json share. Does not own: making it (the other
// files of this folder).
//
// Times are milliseconds since 1970. A page of a list ends with `next`, the value of `after` for the following page; absent: no more.

import type {
  ActorId,
  IndexValue,
  Json,
  JsonObject,
  ListName,
  OfferRef,
  Policy,
  SqlQuery,
  SqlResult,
  SqlView,
  StateMisfit,
  Status,
} from "../../core/contract/index.ts";

export type * from "./bridge-shapes.ts";

/** A page of a list. `next` is the value of `after` for the following page; absent: there are no more. */
export interface PageOf<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

/** What is not there for every engine or server; a page about the rest says why it is missing. */
export type Ability =
  /** Actors run here: they can be called, stopped and restarted, and their surfaces are known. */
  | "run"
  /** `fork`, `revert`, `checkpoint`. */
  | "rewrite"
  /** `edit`. */
  | "edit"
  | "timers"
  | "outbox"
  | "letters"
  | "indexes"
  /** Queries in SQL. */
  | "sql"
  | "traffic"
  /** What the server logged. */
  | "log"
  | "sessions"
  | "tasks"
  | "packets"
  | "guests"
  /** Calls as any principal, with any scopes. */
  | "act-as"
  /** MCP clients that connect as any principal, with any scopes. */
  | "connect-as";

/** `GET /` */
export interface About {
  readonly name: string;
  readonly version: string;
  readonly engine: "memory" | "sqlite" | "restate";
  /** `offline`: a data directory or an exported history is read, and nothing runs. */
  readonly mode: "live" | "offline";
  /** Of `troupe dev`. */
  readonly development: boolean;
  /** A data directory, or a server's address. */
  readonly place?: string;
  readonly can: readonly Ability[];
  /** What is missing, and why. */
  readonly cannot: Readonly<Partial<Record<Ability, string>>>;
  readonly kinds: readonly KindShape[];
  /** Where MCP is served, for the playground and for `curl`: a path of this host. */
  readonly mcp?: string;
  /** MCP clients need a key or a token. Absent: unknown. */
  readonly authenticated?: boolean;
  readonly docs: string;
}

/** A kind of actors, and how many of them there are. */
export interface KindShape {
  readonly kind: string;
  readonly description?: string;
  /** Of its code; 0 where no module defines it. */
  readonly version: number;
  readonly per?: "shared" | "user" | "handle" | "link";
  readonly persistence: Policy["persistence"];
  /** Actors that have not stopped. */
  readonly actors: number;
  /** False: there are such actors, but no served module defines the kind. */
  readonly served: boolean;
  readonly indexes: readonly IndexShape[];
}

/** An index of a kind, as the page's filters need it. */
export interface IndexShape {
  readonly name: string;
  readonly fields: readonly string[];
  readonly order?: string;
  readonly text: boolean;
}

/** One row of `GET /overview/history`: what was measured in one second. */
export interface Pace {
  readonly at: number;
  /** Committed turns in the last second. */
  readonly turnsPerSecond: number;
  readonly requestsPerSecond: number;
  /** Of requests answered in the last minute, in milliseconds. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number; readonly max: number; readonly count: number };
  readonly memory: { readonly heapBytes: number; readonly rssBytes: number };
  /** The longest time that the server's event loop was blocked in the last minute. */
  readonly loopMs: number;
}

/** `GET /overview`, and the event `figures` of `GET /stream`, once a second. */
export interface Overview extends Pace {
  readonly uptimeMs: number;
  readonly actors: { readonly total: number; readonly live: number; readonly failed: number; readonly inMemory: number };
  readonly byKind: Readonly<Record<string, { readonly live: number; readonly failed: number; readonly stopped: number }>>;
  readonly outbox?: number;
  readonly letters?: number;
  readonly timers?: { readonly due: number; readonly next?: number };
  readonly sessions?: number;
  readonly streams?: number;
  readonly connections?: number;
  readonly running?: number;
  /** Sessions and streams, by client and revision. */
  readonly clients: readonly ClientShape[];
  readonly faults: number;
  readonly slowTurns: number;
  readonly disk?: { readonly bytes: number; readonly backlogPages?: number };
  /** What needs attention, worst first: what is so now, and what happened within the last hour. */
  readonly attention: readonly Finding[];
}

/** The clients of one name and revision, together. */
export interface ClientShape {
  /** Name and version, as the client says. */
  readonly client: string;
  readonly revision: string;
  readonly sessions: number;
  readonly streams: number;
  /** Its requests of the last minute. */
  readonly requests: number;
  readonly errors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** `GET /doctor`, and `Overview.attention`. */
export interface Finding {
  readonly level: "error" | "warning" | "note";
  /** Stable: of an error, or of a check. */
  readonly code: string;
  readonly title: string;
  /** What to do about it. */
  readonly advice: string;
  /** A page of the documentation. */
  readonly docs?: string;
  /** A page of the console: `/actors/counter/main`. */
  readonly page?: string;
  readonly count?: number;
  readonly lastAt?: number;
}

/** One row of `GET /actors`: `kind`, `status`, `search` (in ids), `index` with `where` (JSON), `text`, `order`, `after`, `limit`. */
export interface ActorRow {
  readonly id: ActorId;
  readonly kind: string;
  /** Decoded. */
  readonly key: string;
  readonly status: Status;
  readonly seq: number;
  readonly lastAt?: number;
  /** Of the index in the request. */
  readonly fields?: Readonly<Record<string, Json>>;
}

/** Conditions on fields of an index, all of which must hold: a value, one of several, a range, or the beginning of a text. */
export type IndexWhere = Readonly<
  Record<
    string,
    | IndexValue
    | { readonly in: readonly IndexValue[] }
    | { readonly gte?: IndexValue; readonly lte?: IndexValue }
    | { readonly prefix: string }
  >
>;

/** A page of actors, in the order of kinds and keys or of an index. */
export interface ActorPage extends PageOf<ActorRow> {
  /** Counted only where that is cheap. */
  readonly total?: number;
  /** The key came from an id search that ended early: it looked at so many actors. */
  readonly examined?: number;
}

/** `GET /actors/:kind/:key` */
export interface ActorDetail extends ActorRow {
  readonly uid: string;
  readonly head: string;
  /** Of the state. */
  readonly version: number;
  readonly createdAt: number;
  readonly lastMessageAt: number;
  /** Of its last event, which need not be a message. Absent: events of an actor in memory may not be stored. */
  readonly lastEventAt?: number;
  readonly messageCount: number;
  readonly persistence: Policy["persistence"];
  readonly owner?: string;
  readonly parent?: ActorId;
  readonly children: readonly ActorId[];
  /** A fork: what it sends is recorded, never delivered. */
  readonly muted?: true;
  readonly state: Json;
  /** It has more than 4 MiB, so it is left out: `state` is null. */
  readonly stateTooLarge?: true;
  readonly stateBytes: number;
  /** Messages that wait in its mailbox. Absent: unknown. */
  readonly queued?: number;
  readonly timers: readonly TimerRow[];
  /** Replies it owes. */
  readonly pending: number;
  /** Why it failed. */
  readonly failure?: { readonly code: string; readonly message: string; readonly at?: number; readonly seq?: number };
  /** The last fault of its code or its store that the server logged since it started, also if it has recovered. */
  readonly lastFault?: { readonly at: number; readonly why: string; readonly count: number; readonly action?: string };
  /** Prefix → the actor that a surface of `viewer` links to. */
  readonly links: Readonly<Record<string, ActorId>>;
  /** The MCP Apps among its own resources: each is a tab of its page. */
  readonly apps: readonly AppResource[];
}

/** A resource that is an MCP App. */
export interface AppResource {
  /** Of the offer: `resources/board` is named `board`. */
  readonly name: string;
  readonly uri: string;
  readonly title?: string;
}

/** `POST /apps`: the document of an MCP App. */
export interface AppInput {
  readonly html: string;
  /** `_meta.ui.csp` of its resource. Absent: it reaches nothing. */
  readonly csp?: JsonObject;
}

/** Where a frame opens the document: at `/console/app/{id}`, for a while. */
export interface AppDocument {
  readonly id: string;
  /** Its content security policy. */
  readonly policy: string;
  /** What was declared and is no domain, so it was left out of the policy. */
  readonly ignored: readonly string[];
}

/** `GET /actors/:kind/:key/mailbox` */
export interface MailboxShape {
  /** Why the first message waits. `ready`: it does not, or a turn runs now. `awaiting-commits`: turns before it are not on disk yet. */
  readonly phase: "ready" | "loading" | "working" | "awaiting-commits" | "starting" | "stopping-children";
  /** How many wait. */
  readonly queued: number;
  /** The first 100 of them. */
  readonly waiting: readonly MailboxRow[];
  /** The message whose work runs. */
  readonly working?: MailboxRow;
}

/** A message that waits, or is worked on. */
export interface MailboxRow {
  readonly id: string;
  readonly action: string;
  /** Without what is secret. */
  readonly args: Json;
  /** When it was accepted. */
  readonly at: number;
  readonly from?: ActorId;
  readonly principal?: string;
  /** The event that sent it. */
  readonly cause?: string;
}

/** `GET /actors/:kind/:key/surface?principal=&scopes=a,b&claims={…}&lists=dynamic|static` */
export interface SurfaceShape {
  readonly viewer: ViewerShape;
  /** Those that the viewer has. Absent: the kind defines none. */
  readonly roles?: readonly string[];
  readonly lists: "dynamic" | "static";
  readonly seq: number;
  readonly offers: readonly OfferShape[];
  readonly links: readonly LinkShape[];
}

/** Whom a surface is shown to, or a call is made as. */
export interface ViewerShape {
  readonly principal?: string;
  readonly scopes: readonly string[];
  readonly claims?: JsonObject;
}

/** `POST /viewer-tokens`: a bearer token for MCP, whose caller is then the viewer in the body. It needs the ability `connect-as`. */
export interface ViewerToken {
  readonly token: string;
  readonly expiresAt: number;
}

/** A tool, resource or prompt as a viewer has it now: on, or off and why. */
export interface OfferShape {
  readonly ref: OfferRef;
  readonly list: ListName;
  readonly name: string;
  /** As MCP lists it. */
  readonly definition: JsonObject;
  readonly readOnly: boolean;
  readonly on: boolean;
  /** Why it is off. Absent, and `on` false: the author gave no reason, so clients see no such offer. */
  readonly reason?: string;
  /**
   * Which rule it is off by: the author's `enabled` or `allow`, a scope, a link that leads nowhere, or that the actor is out of order, has
   * stopped, or belongs to another principal.
   */
  readonly by?: "enabled" | "allow" | "scope" | "failed" | "link" | "stopped" | "owner";
  /** The scopes that it needs. */
  readonly scopes?: readonly string[];
  /** The roles that it is for (`allow`), one of which is enough. */
  readonly roles?: readonly string[];
  /** Whether this viewer's list shows it, in that list mode. */
  readonly listed: boolean;
  /** Argument → values allowed now. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  /** Through which link it comes. */
  readonly link?: string;
}

/** A link of an actor: where it leads for a viewer, or why nowhere. */
export interface LinkShape {
  readonly prefix: string;
  readonly to?: ActorId;
  /** Keys that may be addressed; true: of all such actors. */
  readonly keys?: readonly string[] | true;
  readonly reason?: string;
}

/** `POST /actors/:kind/:key/call`. As the viewer it needs the ability `act-as`; without `as`, as the operator who calls. */
export interface CallInput {
  readonly offer: OfferRef;
  readonly arguments?: JsonObject;
  readonly as?: ViewerShape;
  /** The actor may begin with this call. Without it, an actor that has not begun is not found. */
  readonly begin?: boolean;
  /** Idempotency (C4). */
  readonly key?: string;
  /** To the questions (`needs`) of an earlier reply. */
  readonly answers?: JsonObject;
  /** What the client supports: `elicitation`, `sampling`, `roots`. Tools that ask do so only of clients that do. */
  readonly can?: readonly string[];
  /** Also answer with what an MCP client would get. */
  readonly withResult?: boolean;
}

/** What a call ends with. */
export interface CallOutcome {
  /** `ok`, `refused` or `needs`, as the engine replied. */
  readonly reply: Json;
  readonly ms: number;
  /** What was committed. Absent: nothing. */
  readonly receipt?: { readonly actor: string; readonly seq: number; readonly head: string };
  /** With `withResult`: the result in the newest revision of MCP. Absent: clients get an error, or a question. */
  readonly result?: JsonObject;
}

/** One row of a chain. `GET /actors/:kind/:key/events?after=&before=&limit=&type=&principal=&search=&order=desc` */
export interface EventRow {
  readonly id: string;
  readonly actor: ActorId;
  readonly seq: number;
  readonly at: number;
  /** The action, or `start`, `stop`, `checkpoint`, `fork`, `revert`, `import`. */
  readonly type: string;
  readonly life: string;
  readonly cause?: string;
  /** The principal that it was done for. */
  readonly principal?: string;
  /** The actor that sent the message. */
  readonly from?: ActorId;
  readonly args?: Json;
  readonly reply?: Json;
  readonly sent: number;
  /** Paths of the state that it changed; at most 20. */
  readonly changed: readonly string[];
  /** From acceptance to commit, where it is known. */
  readonly ms?: number;
  /** The body was erased: what it held is unknown. */
  readonly erased?: true;
  /** Arguments or reply are too long for a list, and left out: `GET /events/:id` has them, up to 4 MiB. */
  readonly cut?: true;
  /** The request of a client that caused it. Absent: another actor, a timer or an operator did, or it is not recorded any more. */
  readonly request?: CausingRequest;
}

/** A request that is recorded, in short: `GET /traffic/:n` has all of it. */
export interface CausingRequest {
  readonly n: number;
  readonly at: number;
  readonly method: string;
  readonly name?: string;
  readonly client?: string;
  readonly session?: string;
  readonly principal?: string;
}

/** An event that a request caused. */
export interface CausedEvent {
  readonly actor: ActorId;
  readonly seq: number;
}

/** `GET /events/:id` */
export interface EventDetail extends EventRow {
  /** The text that was hashed, so that the page can check it. */
  readonly header: string;
  readonly body?: string;
  readonly sentIds: readonly string[];
  readonly record?: Json;
  readonly version?: number;
}

/** `GET /actors/:kind/:key/texts?after=&limit=`, oldest first: what is hashed, so that a client can verify a chain by itself. */
export interface EventTexts {
  readonly seq: number;
  /** The SHA-256 of `header`. */
  readonly id: string;
  /** It names the event before, and the SHA-256 of `body`. */
  readonly header: string;
  /** Absent: it was erased. */
  readonly body?: string;
}

/** `GET /actors/:kind/:key/state?at=` */
export interface StateAt {
  readonly actor: ActorId;
  readonly seq: number;
  readonly version: number;
  readonly state: Json;
}

/** `GET /actors/:kind/:key/diff?from=&to=` */
export interface StateDiff {
  readonly actor: ActorId;
  readonly from: number;
  readonly to: number;
  readonly differences: readonly { readonly path: string; readonly before?: Json; readonly after?: Json }[];
}

/** Events of `POST /actors/:kind/:key/verify` (server-sent: `progress`, then `done`). */
export interface Verified {
  readonly actor: ActorId;
  readonly events: number;
  readonly ok: boolean;
  readonly flaws: readonly { readonly seq: number; readonly code: string; readonly message: string }[];
  readonly erasedBodies: number;
  readonly head: string;
}

/** `POST /receipts/check`: whether the chain has what a receipt says. */
export interface ReceiptCheck {
  readonly ok: boolean;
  readonly what: string;
  readonly event?: EventRow;
}

/** Events of `POST /actors/:kind/:key/replay` (server-sent: `progress`, then `done`): re-run with the code that is served now. */
export interface Replayed {
  readonly actor: ActorId;
  readonly seq: number;
  readonly run: number;
  readonly differ: number;
  readonly taken: JsonObject;
  readonly mismatches: readonly { readonly seq: number; readonly what: string; readonly recorded: Json; readonly now: Json }[];
}

/** `GET /events/:id/causes`: the whole tree that the event is part of. */
export interface CauseGraph {
  /** The event in the request. */
  readonly of: string;
  readonly root: string;
  readonly nodes: readonly CauseNode[];
  /** From an event to one it caused. `message`: what was sent. */
  readonly edges: readonly { readonly from: string; readonly to: string; readonly message?: string; readonly waitedMs: number }[];
  /** There are more than are listed. */
  readonly cut: boolean;
}

export interface CauseNode extends EventRow {
  readonly depth: number;
  /** How often its message failed before, where that is known. */
  readonly attempts?: number;
  /** A dead letter: it has no event. Its id takes the place of an event's. */
  readonly letter?: { readonly why: string; readonly action: string; readonly to: ActorId };
}

/** `GET /letters` */
export interface LetterRow {
  readonly id: string;
  readonly to: ActorId;
  readonly action: string;
  readonly args: Json;
  readonly from?: ActorId;
  readonly principal?: string;
  /** The event that sent it. */
  readonly cause?: string;
  /** The request that started it all. */
  readonly root?: EventRow;
  readonly why: string;
  readonly at: number;
  readonly replays: number;
}

/** `GET /timers?kind=&after=&limit=`, soonest first. */
export interface TimerRow {
  readonly actor: ActorId;
  /** Empty: the actor's expiry. */
  readonly name: string;
  readonly at: number;
  readonly action?: string;
  readonly args?: Json;
  readonly everyMs?: number;
  readonly cron?: string;
  readonly timeZone?: string;
  /** The event that set it. */
  readonly cause?: string;
}

/** `GET /outbox` */
export interface OutboxRow {
  readonly id: string;
  readonly to: ActorId;
  readonly action: string;
  readonly from?: ActorId;
  readonly at: number;
  readonly failures: number;
}

/** `GET /sessions` */
export interface SessionRow {
  /** Not the session's id, which is a secret. */
  readonly name: string;
  readonly client?: string;
  readonly revision: string;
  readonly principal?: string;
  readonly peer?: string;
  /** The actor that it changed last. */
  readonly actor?: ActorId;
  readonly startedAt: number;
  readonly lastAt: number;
  readonly streams: number;
  readonly requests: number;
  readonly errors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly subscriptions: readonly string[];
}

/** `GET /tasks` */
export interface TaskRow {
  readonly id: string;
  readonly principal?: string;
  readonly tool?: string;
  /** As in MCP, or `lost`: it ran when its process ended, so whether it was applied is not known. */
  readonly status: string;
  /** Of a process before this one. */
  readonly earlier?: true;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly message?: string;
}

/** One request, notification or response: `GET /traffic?after=&method=&session=&search=`, and the event `traffic` of the stream. */
export interface TrafficRow {
  /** Grows; the newest 2,000 are stored. */
  readonly n: number;
  readonly at: number;
  readonly transport: "http" | "stdio" | "tcp" | "memory" | "packets-http" | "packets-websocket" | "packets-tcp";
  /** Absent: packets, which have no sessions. */
  readonly era?: "legacy" | "modern";
  readonly direction: "in" | "out";
  readonly session?: string;
  readonly client?: string;
  readonly principal?: string;
  readonly peer?: string;
  /** Of a packet: its type. */
  readonly method: string;
  /** The tool, prompt or URI; the capability. */
  readonly name?: string;
  /** Absent while it runs, and of notifications. */
  readonly ms?: number;
  readonly requestBytes: number;
  readonly responseBytes?: number;
  readonly status: "running" | "ok" | "error" | "tool-error" | "cancelled" | "notification";
  /** The number of a JSON-RPC error; a packet's error has none. */
  readonly error?: { readonly code?: number; readonly message: string };
  /** The stable code of a refusal or fault, such as `NOT_NOW`. */
  readonly code?: string;
  /** The events that it caused, at most 20. Those that followed from them are in their causes. */
  readonly events?: readonly CausedEvent[];
}

/** `GET /traffic`: newest first. */
export interface TrafficPage extends PageOf<TrafficRow> {
  /** Messages since the start that were not recorded: more than 1,000 a second came. */
  readonly skipped: number;
  /** The sessions and clients, and the principals, of all messages that are recorded. */
  readonly sessions: readonly string[];
  readonly principals: readonly string[];
}

/** The event `traffic` of the stream: rows that are new or have changed. A row that ends comes again, with the same `n`. */
export interface TrafficBatch {
  readonly items: readonly TrafficRow[];
  /** Others that are new or have changed. */
  readonly more: number;
}

/** `GET /traffic/:n` */
export interface TrafficDetail extends TrafficRow {
  /** Secrets are replaced by `[hidden]`. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly request: string;
  readonly requestCut?: true;
  readonly responseStatus?: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** Messages in the order in which they were sent; a long one is cut. */
  readonly responses: readonly { readonly at: number; readonly text: string; readonly cut?: true }[];
}

/** `GET /callers`: a principal that has called, with its scopes and claims as they were then. */
export interface SeenCaller extends ViewerShape {
  readonly principal: string;
  readonly lastAt: number;
}

/** One row of `GET /log`, newest first. */
export interface LogRow {
  /** Grows. */
  readonly n: number;
  readonly at: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly event: string;
  readonly fields: JsonObject;
  /** Whom it is about, where its fields say so. */
  readonly actor?: ActorId;
  /** The stable code of an error. */
  readonly code?: string;
  readonly principal?: string;
  readonly session?: string;
}

/** The event `log` of the stream: entries that are new, oldest first. */
export interface LogBatch {
  readonly items: readonly LogRow[];
  /** Older ones that are new, too: `GET /log` has them. */
  readonly more: number;
}

/** `POST /batch`, answered by server-sent events: `progress`, then `done`. */
export interface BatchInput {
  readonly operation: "stop" | "restart" | "replay-letter" | "drop-letter";
  /** Of actors, or of letters; at most 10,000. */
  readonly ids: readonly string[];
  /** Of `stop`. */
  readonly reason?: string;
}

/** What a batch ends with: how many were done, and those that failed with code and sentence. */
export interface BatchOutcome {
  readonly done: number;
  readonly failed: readonly { readonly id: string; readonly code: string; readonly message: string }[];
}

/** The event `progress` of every long operation. */
export interface ProgressShape {
  readonly done: number;
  readonly total?: number;
}

/** The event `change` of `GET /stream`: which actors changed since the last, each once, at most 500. */
export interface Changes {
  readonly items: readonly { readonly id: ActorId; readonly seq: number; readonly status: Status }[];
  /** Others that changed, too. */
  readonly more: number;
}

/** `POST …/stop`, `POST …/restart` */
export interface Done {
  readonly ok: true;
}

/** `POST …/fork`, `…/revert`, `…/checkpoint`, `…/edit`: the event that was written. */
export interface Written {
  readonly actor: ActorId;
  readonly seq: number;
  readonly head: string;
  /** Of a revert: how many later events sent messages. */
  readonly sent?: number;
  /** Of a checkpoint: how many bodies were erased. */
  readonly erased?: number;
  readonly signed?: boolean;
  /** Of an edit: its state was checked by the schema of its kind. False: it was forced, or no served module has that schema. */
  readonly checked?: boolean;
}

/** `GET /sql`: what queries may read. */
export interface SqlViews {
  readonly views: readonly SqlView[];
}

/** `POST /sql` */
export type SqlInput = SqlQuery;

/** What a query found. */
export type SqlRows = SqlResult;

/** Every answer that is not 2xx. */
export interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** Of `STATE_MISFIT`: what does not fit, by JSON Pointers. */
    readonly misfits?: readonly StateMisfit[];
    /** Of `SQL_WRONG`: where in the query, as an offset. */
    readonly at?: number;
  };
}
