import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import { isModuleFile } from "../load-modules.ts";

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
export class WatchedFolders implements Disposable {
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
