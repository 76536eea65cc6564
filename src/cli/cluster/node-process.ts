import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type JsonObject, type Clock, isJsonObject } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import type { HostPort } from "../address.ts";
import { endChild, hasEnded } from "./end-child.ts";
import { endWithProcess } from "./end-with-process.ts";

/** Where one node of a cluster runs. */
export interface NodePlace {
  readonly name: string;
  /** Where Restate and the other nodes reach it. */
  readonly node: HostPort;
  /** Its MCP address. */
  readonly http: HostPort;
}

/** The program of a node: it says `{"ready":true,…}` in one line on standard output, and drains on SIGTERM. */
export interface NodeProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** One run of a node, from its start to its end. */
export class NodeProcess {
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<JsonObject>();
  readonly #ended = Promise.withResolvers<string>();

  /** `onLine` is told of what it writes besides. */
  constructor({ file, args, env }: NodeProgram, onLine: (line: string) => void) {
    // A group of its own: Ctrl-C in a terminal is for whoever started it, who then ends this in its turn.
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], env, detached: true });
    endWithProcess(child);
    this.#child = child;
    createInterface(child.stdout).on("line", (line) => {
      const said = tryParseJson(line);
      if (isJsonObject(said) && said["ready"] === true) this.#ready.resolve(said);
      else onLine(line);
    });
    createInterface(child.stderr).on("line", onLine);
    child.once("error", (error) => this.#ended.resolve(error.message));
    // Not at its exit: its last words may still be in the pipes.
    child.once("close", (code, signal) => this.#ended.resolve(signal ?? `exit code ${code}`));
  }

  get pid(): number | undefined {
    return hasEnded(this.#child) ? undefined : this.#child.pid;
  }

  /** What it says when it is ready. Settles with undefined where it ends before. */
  get ready(): Promise<JsonObject | undefined> {
    return Promise.race([this.#ready.promise, this.#ended.promise.then(() => undefined)]);
  }

  /** Settles with its exit code or signal, in words. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  async stop(graceMs: number, clock: Clock): Promise<void> {
    await endChild(this.#child, graceMs, clock);
  }
}
