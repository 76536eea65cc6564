// Owns: the JSON of what the server is, has and needs: `/`, `/overview`, `/doctor`.

import type { Policy } from "../../../core/contract/index.ts";

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

/** What not every engine or server has. `About.cannot` has the reason where it is missing. */
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

/** How long the requests of a client take. */
export interface ClientLatency {
  /** Of its requests of the last minute; if there were none, of all. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How long its calls waited for actors, and ran in them. Absent: none was measured. */
  readonly waitedP99Ms?: number;
  readonly ranP99Ms?: number;
}

/** The clients of one name and revision, together. */
export interface ClientShape extends ClientLatency {
  /** Name and version, as the client sent them. */
  readonly client: string;
  readonly revision: string;
  readonly sessions: number;
  readonly streams: number;
  /** Its requests of the last minute. */
  readonly requests: number;
  readonly errors: number;
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
