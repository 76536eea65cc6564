import { existsSync } from "node:fs";
import type { SessionStore, Store, StreamStore, TaskStore } from "../core/contract/index.ts";
// Each by its own file: the folder's index would load exports, imports and contents, too.
import { sessionHooks, storeHooks } from "../core/store/log-hooks.ts";
import { mendedSessionStores } from "../core/store/sqlite-sessions.ts";
import { sqliteStore } from "../core/store/sqlite.ts";
import { DataDirectory } from "./data-directory.ts";
import { forLog } from "./log.ts";
import type { GroundOptions } from "./ground.ts";
import { openWhenFree } from "./open-when-free.ts";

/** A data directory that is this process's. */
export interface DiskKeep {
  readonly directory: DataDirectory;
  readonly store: Store;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly taskStore: TaskStore;
}

export const openDisk = async ({ options, log }: Pick<GroundOptions, "options" | "log">): Promise<DiskKeep> => {
  const directory = new DataDirectory(options.data);
  directory.create();
  if (directory.isOpenToOthers)
    log("warn", "data-directory-shared", {
      path: directory.path,
      what: "Others may write to the data directory, and so change actors, keys and what is run: make it yours alone (chmod 700).",
    });
  directory.refuseLoss();
  const isNew = !existsSync(directory.actors);
  const store = await openWhenFree(() => sqliteStore({ directory: directory.path, ...storeHooks(forLog(log)) }), directory.control);
  if (!isNew && !directory.holdsSessions)
    log("warn", "sessions-missing", { path: directory.sessions, what: "Clients begin new sessions; actors are all there." });
  const stores = mendedSessionStores({
    path: directory.sessions,
    ...sessionHooks(forLog(log)),
  });
  return { directory, store, ...stores };
};
