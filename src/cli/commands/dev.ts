// Owns: `troupe dev`: watching folders, loading code anew, and reporting each fault once. Does not own: the server (serve.ts).
import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import type { Command } from "commander";
import { systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { describeFailure } from "../command-error.ts";
import { PACKAGE } from "../installed-packages.ts";
import { isModuleFile, load, type LoadedModules } from "../load-modules.ts";
import type { ServerLog } from "../log.ts";
import { addConfigurableServeOptions, type ServeOptions } from "../serve-options.ts";
import type { DevWatch } from "./dev-watcher.ts";
import { startServing, serviceSettings, type Serving } from "./serve.ts";

export const register = (program: Command, version: string): void => {
  addConfigurableServeOptions(
    program.command("dev").description("Serve, load anew when files change, and check that turns are pure."),
  ).action(async (given: string[], _: ServeOptions, command: Command) => {
    const { applySettings, modulesToServe } = await import("../settings.ts");
    const modules = modulesToServe(await applySettings(command, given));
    await dev(modules, command.opts<ServeOptions>(), version);
  });
};

const dev = async (modules: readonly string[], options: ServeOptions, version: string): Promise<void> => {
  const { twice } = await import("../../testing/index.ts");
  const rounds = reloadRounds();
  let serving: Serving | undefined;
  let log: ServerLog | undefined;
  let roots: readonly string[] = [];
  let cancel: (() => void) | undefined;
  let updatePending = false;
  let savedBeforeReady = false;
  let isStopping = false;

  using folders = new WatchedFolders({
    isPart: (file) => isModuleFile(file) || rounds.files().has(file),
    changed() {
      cancel?.();
      // Editors write a file in several steps.
      cancel = systemClock.after(100, () => {
        if (serving === undefined) savedBeforeReady = true;
        else if (!isStopping) void reload(serving);
      });
    },
    moved() {
      if (!updatePending) systemClock.after(100, updateWatches);
      updatePending = true;
    },
    failed: (folder, error) => log?.("warn", "not-watched", { folder, why: describeFailure(error).message }),
  });
  const updateWatches = (): void => {
    updatePending = false;
    folders.update(roots, new Set(Array.from(rounds.files(), dirname)));
  };

  let newest = 0;
  let swapping: Promise<void> = Promise.resolve();
  // The last modules that loaded are still served.
  const failed = (error: unknown): void => log?.("error", "reload-failed", { why: describeFailure(error).message });
  const swap = async ({ server }: Serving, changed: LoadedModules): Promise<void> => {
    try {
      await server.reload(changed);
      log?.("info", "reloaded", { modules });
    } catch (error) {
      failed(error);
    }
  };
  const reload = async (of: Serving): Promise<void> => {
    const round = rounds.next();
    newest = round;
    of.log("info", "reloading", { modules });
    try {
      const changed = await load(modules, round, serviceSettings(options, of.log, true));
      // Only the newest round counts: a module may never finish loading, and must not block later changes.
      // Once the server stops, running calls have their grace, which a swap would end.
      if (round === newest && !isStopping) swapping = swapping.then(() => swap(of, changed));
    } catch (error) {
      failed(error);
    }
    updateWatches();
  };

  serving = await startServing(modules, options, version, {
    kind: twice,
    log: reportOnce,
    loaded(loaded, serverLog) {
      log = serverLog;
      roots = loaded.files.map((file) => dirname(file));
      updateWatches();
    },
    stopping() {
      isStopping = true;
    },
  });
  // Code that stands at a breakpoint has not ended either, and a pause would stop it once more.
  if (process.features.inspector && (await import("node:inspector")).url() === undefined) watchForEndlessCode(options.json === true);
  if (savedBeforeReady) void reload(serving);
  await serving.stopped;
};

const WATCHER = new URL(import.meta.url.endsWith(".ts") ? "./dev-watcher.ts" : "./dev-watcher.js", import.meta.url);
const ALIVE_MS = 250;

/** Has another thread say where this one is if it does nothing else any more. */
const watchForEndlessCode = (json: boolean): void => {
  const alive = new Int32Array(new SharedArrayBuffer(4));
  const beat = (): void => {
    Atomics.add(alive, 0, 1);
    systemClock.after(ALIVE_MS, beat);
  };
  beat();
  const workerData: DevWatch = { alive, json };
  const watcher = new Worker(WATCHER, { workerData, env: {}, execArgv: [] });
  watcher.on("error", () => undefined);
  watcher.unref();
};

const FAULTS = new Set(["fault", "surface-fault", "service-fault"]);
/** Messages with a time or an id in them are different each time, so the oldest reports are dropped. */
const MAX_REPORTED = 1_000;

/**
 * A log for development: reports each fault of author code once between two reloads. The report of an impure turn has no place in the
 * code, since the error is thrown by Troupe's own check.
 */
export const reportOnce = (log: ServerLog): ServerLog => {
  const reported = new Set<string>();
  const isNew = (fault: string): boolean => {
    if (reported.has(fault)) return false;
    for (const oldest of reported) {
      if (reported.size < MAX_REPORTED) break;
      reported.delete(oldest);
    }
    reported.add(fault);
    return true;
  };
  return (level, event, fields = {}) => {
    if (event === "reloaded") reported.clear();
    const { actor, action, error, code, place, why } = fields;
    if (code === "IMPURE" && typeof why === "string") {
      // "kind: the turn of tools/act is not pure: …": the values that follow differ each time.
      const [turn = why] = why.split(" is not pure");
      if (isNew(turn)) log(level, "impure", omitUndefined({ actor, why }));
      return;
    }
    const kind = typeof actor === "string" ? actor.split("/")[0] : undefined;
    if (!FAULTS.has(event) || isNew(JSON.stringify([event, kind, action, error, code, place, why]))) log(level, event, fields);
  };
};

interface ReloadRounds {
  /** Starts a round: modules are imported again from now on. */
  next(): number;
  /** All author files that were imported so far, JSON and files that could not be parsed included. */
  files(): ReadonlySet<string>;
}

/**
 * Node caches modules by their URL. A round number in the URL makes it import a module, and the author's files that it imports, again.
 * CommonJS has a cache of its own, by paths.
 */
const reloadRounds = (): ReloadRounds => {
  let round = 0;
  const files = new Set<string>();
  const { cache } = createRequire(import.meta.url);
  const own = pathToFileURL(`${PACKAGE}/`).href;
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      if (!resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/")) return resolved;
      // The sources of this installation do not change; its examples count as author files.
      if (resolved.url.startsWith(`${own}src/`) || resolved.url.startsWith(`${own}dist/`)) return resolved;
      files.add(fileURLToPath(resolved.url));
      return round === 0 || resolved.url.includes("?") ? resolved : { ...resolved, url: `${resolved.url}?round=${round}` };
    },
  });
  return {
    next() {
      for (const file of files) delete cache[file];
      return (round += 1);
    },
    files: () => files,
  };
};

/** Folders of sources have fewer. A limit, since a served file may be in a home folder. */
const MOST_FOLDERS = 1_000;

interface FolderListener {
  /** Whether the file may be part of what is served. */
  isPart(file: string): boolean;
  /** A file that may be part of what is served was saved, created or removed. */
  changed(): void;
  /** Something else was created or removed, perhaps a folder: call `update`. */
  moved(): void;
  /** This folder cannot be watched, and is not tried again. */
  failed(folder: string, error: unknown): void;
}

interface Watched {
  /** Distinguishes a folder from another one that took its place. */
  readonly inode: bigint;
  readonly watcher: FSWatcher;
}

/**
 * Watches each folder by its own watcher. Node's recursive watcher on Linux follows the inode that it saw first, and editors that save by
 * renaming create a new one each time.
 */
class WatchedFolders implements Disposable {
  readonly #listener: FolderListener;
  readonly #watched = new Map<string, Watched>();
  readonly #failed = new Set<string>();
  #closed = false;

  constructor(ears: FolderListener) {
    this.#listener = ears;
  }

  /** Watches exactly the folders below the `roots` and those in `alone`. Keeps the watchers of unchanged folders. */
  update(roots: Iterable<string>, alone: Iterable<string>): void {
    if (this.#closed) return;
    const wanted = new Set([...below(roots), ...alone]);
    for (const [folder, { inode, watcher }] of this.#watched) {
      if (wanted.has(folder) && inodeOf(folder) === inode) continue;
      watcher.close();
      this.#watched.delete(folder);
    }
    for (const folder of wanted) if (!this.#watched.has(folder) && !this.#failed.has(folder)) this.#watch(folder);
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  #watch(folder: string): void {
    const inode = inodeOf(folder);
    if (inode === undefined) return;
    try {
      const watcher = watch(folder, (event, file) => {
        if (file === null || this.#listener.isPart(join(folder, file))) this.#listener.changed();
        else if (event === "rename") this.#listener.moved();
      });
      watcher.on("error", (error) => this.#giveUp(folder, error));
      this.#watched.set(folder, { inode, watcher });
    } catch (error) {
      this.#giveUp(folder, error);
    }
  }

  #giveUp(folder: string, error: unknown): void {
    this.#watched.get(folder)?.watcher.close();
    this.#watched.delete(folder);
    // A folder that was removed is watched again once it exists.
    if (inodeOf(folder) === undefined) return;
    this.#failed.add(folder);
    this.#listener.failed(folder, error);
  }
}

const inodeOf = (folder: string): bigint | undefined => {
  const stats = statSync(folder, { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() === true ? stats.ino : undefined;
};

/** The folders below, nearest first, without packages and hidden folders. */
const below = (roots: Iterable<string>): readonly string[] => {
  const found = [...new Set(roots)];
  for (const folder of found) {
    for (const name of foldersIn(folder)) {
      if (found.length >= MOST_FOLDERS) return found;
      found.push(join(folder, name));
    }
  }
  return found;
};

const foldersIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
      .map(({ name }) => name);
  } catch {
    // It was removed meanwhile, or is not readable.
    return [];
  }
};
