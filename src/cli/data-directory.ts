import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { CommandError, EXIT } from "./exit-code.ts";

/** What a running server leaves for the commands beside it. */
export interface ServerNote {
  readonly pid: number;
  readonly modules: readonly string[];
  /** What these modules define: actors of other kinds are not served. */
  readonly kinds?: readonly string[];
}

const texts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((text) => typeof text === "string") : undefined;

/** The folder in which a server keeps everything: actors, sessions, its key, its socket. */
export class DataDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  create(): void {
    try {
      mkdirSync(this.path, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new CommandError(
        EXIT.unavailable,
        "DATA_DIRECTORY",
        `The data directory ${this.path} can't be made: ${error instanceof Error ? error.message : String(error)}. Name another with --data.`,
      );
    }
  }

  get actors(): string {
    return join(this.path, "troupe.db");
  }

  get sessions(): string {
    return join(this.path, "sessions.db");
  }

  get control(): string {
    return join(this.path, "control.sock");
  }

  /**
   * 32 bytes that outlive a restart, so that what a client holds stays valid. Readable by the owner only. `onReplaced`
   * is told how many bytes there were where they were not 32: another key stands in for them.
   */
  key(onReplaced?: (bytes: number) => void): Buffer {
    const path = join(this.path, "key");
    if (existsSync(path)) {
      const key = readFileSync(path);
      if (key.length === 32) return key;
      onReplaced?.(key.length);
    }
    const key = randomBytes(32);
    // Whole or not at all: half a key would be replaced at the next start.
    writeFileSync(`${path}.new`, key, { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
    return key;
  }

  writeNote(note: ServerNote): void {
    writeFileSync(join(this.path, "server.json"), JSON.stringify(note), { mode: 0o600 });
  }

  /** Stays after the server's end: it names the modules whose actors lie here. */
  readNote(): ServerNote | undefined {
    try {
      const note: unknown = JSON.parse(readFileSync(join(this.path, "server.json"), "utf8"));
      if (typeof note !== "object" || note === null) return undefined;
      const pid = "pid" in note && typeof note.pid === "number" ? note.pid : 0;
      const modules = "modules" in note ? (texts(note.modules) ?? []) : [];
      const kinds = "kinds" in note ? texts(note.kinds) : undefined;
      return { pid, modules, ...(kinds === undefined ? {} : { kinds }) };
    } catch {
      return undefined;
    }
  }

  removeSocket(): void {
    rmSync(this.control, { force: true });
  }
}
