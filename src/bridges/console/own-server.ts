// Owns: what the console of a program with an engine of its own shows. Does not own: the consoles of the command line (src/cli).

import { type Behaviour, type Engine, type Index, type Source, type Store, systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { sqliteSql } from "../sql/index.ts";
import { engineOperations, engineReader, type OperableEngine, type ReadableEngine } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";
import type { LiveRecorder } from "./live.ts";

/** A server of your own, as `serveActors` returns it. */
export interface OwnServer {
  /** A `LocalEngine`, as `serveActors` returns it. */
  readonly engine: Engine & ReadableEngine & OperableEngine;
  readonly kinds: readonly Behaviour[];
  readonly indexes?: readonly Index[];
  /** What MCP clients are served. */
  readonly server: { readonly source: Source };
  /** The one that the engine was started with. */
  readonly store?: Store;
  /** Where that store is. Absent: in memory. */
  readonly directory?: string;
  /** Absent: traffic, sessions and figures are not known. */
  readonly live?: LiveRecorder;
  /** Default `actors`. */
  readonly name?: string;
  /** Default `1.0.0`. */
  readonly version?: string;
  /** The path of the MCP endpoint, for the playground. Default `/mcp`. */
  readonly mcp?: string;
  /** Users may call tools as anybody, and edit states. Default false. */
  readonly development?: boolean;
}

/** For `consoleFor`: the actors of one's own server. */
export function consoleData(own: OwnServer): ConsoleData {
  const {
    engine,
    kinds,
    indexes = [],
    server,
    store,
    directory,
    live,
    name = "actors",
    version = "1.0.0",
    mcp = "/mcp",
    development = false,
  } = own;
  return {
    about: {
      name,
      version,
      engine: directory === undefined ? "memory" : "sqlite",
      ...omitUndefined({ place: directory }),
      development,
      mcp,
      docs: "docs/guide",
    },
    reader: engineReader(() => engine, store),
    running: () => ({ engine, kinds, indexes, source: server.source }),
    operate: engineOperations({ engine, kinds, ...omitUndefined({ store }) }),
    ...omitUndefined({ live }),
    ...(directory !== undefined && { sql: sqliteSql({ directory, kinds: () => kinds }) }),
    now: () => systemClock.now(),
  };
}
