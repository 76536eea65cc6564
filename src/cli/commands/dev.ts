// Owns: `troupe dev`: watching folders, loading code anew, and reporting each fault once. Does not own: the server (serve.ts).
import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Command } from "commander";
import { systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { describeFailure } from "../command-error.ts";
import { PACKAGE } from "../installed-packages.ts";
import { isModuleFile, load, type Loaded } from "../load-modules.ts";
import type { ServerLog } from "../log.ts";
import { addConfigurableServeOptions, type ServeOptions } from "../serve-options.ts";
import { begin, serviceSettings, type Serving } from "./serve.ts";

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
  let looksSoon = false;
  let savedEarly = false;

  using folders = new WatchedFolders({
    changed() {
      cancel?.();
      // An editor writes a file in several steps.
      cancel = systemClock.after(100, () => {
        if (serving === undefined) savedEarly = true;
        else void reload(serving);
      });
    },
    moved() {
      if (!looksSoon) systemClock.after(100, look);
      looksSoon = true;
    },
    failed: (folder, error) => log?.("warn", "not-watched", { folder, why: describeFailure(error).message }),
  });
  const look = (): void => {
    looksSoon = false;
    folders.look(roots, rounds.folders());
  };

  let newest = 0;
  let swapping: Promise<void> = Promise.resolve();
  // The last good modules go on being served.
  const failed = (error: unknown): void => log?.("error", "reload-failed", { why: describeFailure(error).message });
  const swap = async ({ server }: Serving, changed: Loaded): Promise<void> => {
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
      // A module may never finish loading, so one that changes meanwhile does not wait for it.
      if (round === newest) swapping = swapping.then(() => swap(of, changed));
    } catch (error) {
      failed(error);
    }
    look();
  };

  serving = await begin(modules, options, version, {
    kind: twice,
    log: reportOnce,
    loaded(loaded, its) {
      log = its;
      roots = loaded.files.map((file) => dirname(file));
      look();
    },
  });
  if (savedEarly) void reload(serving);
  await serving.stopped;
};

const FAULTS = new Set(["fault", "surface-fault", "service-fault"]);
/** Messages may differ each time, as with a time or an id in them; then the oldest reports are forgotten. */
const MAX_REPORTED = 1_000;

/**
 * A log for development: each fault of an author's code is reported once between two reloads, however often it happens or is retried. The
 * report of an impure turn leaves out where the error was thrown, which is in Troupe's own check and not in the author's code.
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
      // "kind: the turn of tools/act is not pure: …"; the values that differ are others each time.
      const [turn = why] = why.split(" is not pure");
      if (isNew(turn)) log(level, "impure", omitUndefined({ actor, why }));
      return;
    }
    const kind = typeof actor === "string" ? actor.split("/")[0] : undefined;
    if (!FAULTS.has(event) || isNew(JSON.stringify([event, kind, action, error, code, place, why]))) log(level, event, fields);
  };
};

interface Rounds {
  /** From now on modules are imported anew. */
  next(): number;
  /** Of every file of the author's that was imported so far, also of one that could not be parsed. */
  folders(): ReadonlySet<string>;
}

/**
 * Modules are cached by their URL: a round in it imports a module, and whatever
 * files of the author it imports in turn, anew.
 */
const reloadRounds = (): Rounds => {
  let round = 0;
  const folders = new Set<string>();
  const own = pathToFileURL(`${PACKAGE}/`).href;
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      if (!resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/")) return resolved;
      // The sources of this installation stay as they are; its examples are an author's files.
      if (resolved.url.startsWith(`${own}src/`) || resolved.url.startsWith(`${own}dist/`)) return resolved;
      folders.add(dirname(fileURLToPath(resolved.url)));
      return round === 0 || resolved.url.includes("?") ? resolved : { ...resolved, url: `${resolved.url}?round=${round}` };
    },
  });
  return { next: () => (round += 1), folders: () => folders };
};

/** A folder of sources has fewer; who serves a file of their home folder has not all of it watched. */
const MOST_FOLDERS = 1_000;

interface FolderEars {
  /** A file that may be part of what is served was saved, made or removed. */
  changed(): void;
  /** Something else came or went, which may be a folder: ask for `look`. */
  moved(): void;
  /** This folder cannot be watched, and is not asked again. */
  failed(folder: string, error: unknown): void;
}

interface Watched {
  /** Tells a folder from another one that took its place. */
  readonly inode: bigint;
  readonly watcher: FSWatcher;
}

/**
 * Each folder by a watcher of its own: Node's recursive one on Linux follows the file it saw first, and an editor that saves
 * under another name and renames that puts a new file there each time.
 */
class WatchedFolders implements Disposable {
  readonly #ears: FolderEars;
  readonly #watched = new Map<string, Watched>();
  readonly #failed = new Set<string>();
  #closed = false;

  constructor(ears: FolderEars) {
    this.#ears = ears;
  }

  /** Watches these folders, with all below the `roots`, and nothing else; those of before that are still the same stay watched. */
  look(roots: Iterable<string>, alone: Iterable<string>): void {
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
        if (file === null || isModuleFile(file)) this.#ears.changed();
        else if (event === "rename") this.#ears.moved();
      });
      watcher.on("error", (error) => this.#gaveUp(folder, error));
      this.#watched.set(folder, { inode, watcher });
    } catch (error) {
      this.#gaveUp(folder, error);
    }
  }

  #gaveUp(folder: string, error: unknown): void {
    this.#watched.get(folder)?.watcher.close();
    this.#watched.delete(folder);
    // One that was removed is watched again when it is back.
    if (inodeOf(folder) === undefined) return;
    this.#failed.add(folder);
    this.#ears.failed(folder, error);
  }
}

const inodeOf = (folder: string): bigint | undefined => {
  const stats = statSync(folder, { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() === true ? stats.ino : undefined;
};

/** The nearest first. Those of packages and hidden ones hold no module of the author's. */
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
    // It went meanwhile, or is not ours to read.
    return [];
  }
};
