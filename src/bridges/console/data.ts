// Owns: where the console's data comes from: interfaces that a server, or a folder that is only read, fills in. Does not own: what is
// made of it (the routes).

import type { ActorId, Behaviour, Engine, Entropy, Index, Json, Source, Sql } from "../../core/contract/index.ts";
import type { ActorReader, Operate } from "../operate/index.ts";
import type { Capability } from "../packet/index.ts";
import type { EarlierFailure } from "./earlier-failures.ts";
import type { LiveRecorder } from "./live.ts";
import type { About, GuestFacts, GuestManifest, Overview, PlanShape, SearchHit, ViewerShape, ViewerToken } from "./shapes.ts";

/** What runs. In development it is replaced when a module changes, so it is read each time. */
export interface RunningServer {
  readonly engine: Engine;
  readonly kinds: readonly Behaviour[];
  readonly indexes: readonly Index[];
  /** What MCP clients are served. */
  readonly source: Source;
}

/** What the console shows, and what it may change. `consoleData` makes it for a server of your own. */
export interface ConsoleData {
  readonly about: Pick<About, "name" | "version" | "engine" | "development" | "docs"> & Partial<Pick<About, "place" | "mcp">>;
  readonly reader: ActorReader;
  /** Undefined: nothing runs. */
  readonly running?: () => RunningServer;
  /** `stop`, `restart`, `call`, `fork`, `revert`, `checkpoint`, `edit`, `letter` …: as the command line requests them. Absent: nothing may be changed. */
  readonly operate?: Operate;
  /** Absent: traffic, sessions and tasks are not known. */
  readonly live?: LiveRecorder;
  /** Queries in SQL: `sqliteSql` for a store on SQLite. Absent: there are none. */
  readonly sql?: Sql;
  /** How the server was started, for the doctor. Absent: the doctor does not check that. */
  readonly settings?: ServerSettings;
  /** Kinds that have actors in the data directory, and no served module. */
  readonly unserved?: () => readonly { readonly kind: string; readonly actors: number }[];
  /** Capabilities behind packets. Absent: there are none. */
  readonly packets?: PacketsData;
  /** Absent: no guests run here. */
  readonly guests?: GuestsData;
  /** Actors that had failed when an earlier process ended, and where those of this one are stored. Absent: only this process's are known. */
  readonly failures?: { readonly earlier: readonly EarlierFailure[]; readonly save?: (text: string) => void };
  /** What the data directory takes. Measured at most every few seconds. */
  readonly disk?: () => Promise<NonNullable<Overview["disk"]>>;
  /** The documentation's page of error codes, as Markdown: the doctor explains codes by it. */
  readonly errorPage?: () => Promise<string>;
  /** States may be edited outside development too. */
  readonly edit?: boolean;
  /** In development: makes a token with which MCP takes its caller for this viewer. Absent: clients are who their own tokens say. */
  readonly viewerToken?: (viewer: ViewerShape) => ViewerToken;
  /** Receives what the console failed with; clients learn only that it did. Default: ignored. */
  readonly onFault?: (error: unknown) => void;
  readonly now: () => number;
  /** Default: that of the system. */
  readonly entropy?: Entropy;
}

/** Capabilities behind packets. In development they are others after a reload, so they are read each time. */
export interface PacketsData {
  readonly capabilities: () => readonly Capability[];
  /** Which of them lead from fields to others. Undefined: they do not. */
  readonly plan: (from: readonly string[], to: readonly string[]) => PlanShape["steps"];
  /** Undefined: none declares searchable fields. Throws `PacketError`. */
  readonly search: (
    query: string,
    options: { readonly actor?: ActorId; readonly limit: number },
  ) => Promise<readonly SearchHit[] | undefined>;
}

/** WebAssembly guests, beyond what all actors have. The operations `guest-restart`, `reexecute` and `collect` go with it. */
export interface GuestsData {
  /** The kind of actors that all guests are. */
  readonly kind: string;
  /** Undefined: this is no guest's state. */
  readonly read: (id: ActorId, state: Json) => { readonly facts: GuestFacts; readonly paused: boolean } | undefined;
  /** Undefined: its text is not in the content store. */
  readonly manifest?: (state: Json) => Promise<GuestManifest | undefined>;
}

/** What is unwise in production, where it is so. */
export interface ServerSettings {
  /** `--insecure`: it listens beyond loopback without authentication. */
  readonly insecure: boolean;
  /** Callers need a key or a token. */
  readonly authenticated: boolean;
  /** Something listens beyond loopback. */
  readonly exposed: boolean;
  /** False: there is no rate limit. */
  readonly rateLimited: boolean;
  /** Actors and sessions outlive the process. */
  readonly durable: boolean;
}
