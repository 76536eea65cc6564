import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { type Clock, systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { endChild, hasEnded, killChild } from "./end-child.ts";
import { endWithProcess } from "./end-with-process.ts";
import { RestateLog, type RestatePorts } from "./restate-log.ts";
import { restateEnvironment, type RestateSettings } from "./restate-settings.ts";
import { TemporaryFolder } from "./temporary-folder.ts";

const START_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 20;

export interface RestateServerOptions extends Partial<Omit<RestateSettings, "temporary">> {
  readonly executable: string;
  /** Made where it is absent, and kept. Default: a temporary one, which ends with the server. */
  readonly directory?: string;
  /** Told of each line of its log. */
  readonly onLine?: (level: string, message: string) => void;
  /** Gives up the start. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** A Restate server on loopback, which ends with this process. */
export class RestateServer implements AsyncDisposable {
  readonly #options: RestateServerOptions;
  /** For what the server takes for temporary, and leaves behind; for its data too where no directory is named. */
  readonly #folder: TemporaryFolder;
  readonly #clock: Clock;
  #running: { readonly child: ChildProcess; readonly ports: RestatePorts } | undefined;

  private constructor(options: RestateServerOptions, folder: TemporaryFolder) {
    this.#options = options;
    this.#folder = folder;
    this.#clock = options.clock ?? systemClock;
  }

  /** Settles when it takes calls. Throws `RESTATE_FAILED` with the end of its log. */
  static async start(options: RestateServerOptions): Promise<RestateServer> {
    const { directory } = options;
    if (directory !== undefined) await mkdir(directory, { recursive: true, mode: 0o700 });
    const server = new RestateServer(options, await TemporaryFolder.make("troupe-restate-"));
    try {
      await server.#launch();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get ingress(): string {
    return `http://127.0.0.1:${this.#ports.ingress}`;
  }

  get admin(): string {
    return `http://127.0.0.1:${this.#ports.admin}`;
  }

  /** Undefined while it is down. */
  get pid(): number | undefined {
    return this.#running !== undefined && !hasEnded(this.#running.child) ? this.#running.child.pid : undefined;
  }

  /** Settles when the process that runs now has ended, with its code or signal. */
  get ended(): Promise<number | string> {
    const child = this.#running?.child;
    if (child === undefined || hasEnded(child)) return Promise.resolve(child?.signalCode ?? child?.exitCode ?? 0);
    return once(child, "exit").then(([code, signal]) => signal ?? code);
  }

  /** As a power cut would: nothing is flushed, nothing is said. */
  async kill(): Promise<void> {
    if (this.#running !== undefined) await killChild(this.#running.child);
  }

  /** SIGTERM, and SIGKILL where it takes longer. */
  async stop(graceMs = 10_000): Promise<void> {
    if (this.#running !== undefined) await endChild(this.#running.child, graceMs, this.#clock);
  }

  /** At the same ports, over the same data. */
  async restart(): Promise<void> {
    await this.stop();
    await this.#launch();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#options.directory === undefined) await this.kill();
    else await this.stop();
    await this.#folder[Symbol.asyncDispose]();
  }

  get #ports(): RestatePorts {
    if (this.#running === undefined) throw new TypeError("The server has not started.");
    return this.#running.ports;
  }

  async #launch(): Promise<void> {
    const { path: temporary } = this.#folder;
    const {
      executable,
      directory = temporary,
      name = "one",
      partitions = 2,
      memoryMiB = 128,
      ports,
      turnsPerConnection,
      member,
      onLine,
    } = this.#options;
    const env = restateEnvironment({
      name,
      temporary,
      partitions,
      memoryMiB,
      ports: { ingress: 0, admin: 0, fabric: 0, ...ports, ...this.#running?.ports },
      ...omitUndefined({ turnsPerConnection, member }),
    });
    const child = spawn(executable, ["--no-logo", "--base-dir", directory, "--node-name", name], {
      stdio: ["ignore", "pipe", "pipe"],
      env,
      // A group of its own: Ctrl-C in a terminal is for whoever started it, who then ends this in its turn.
      detached: true,
    });
    endWithProcess(child);
    const log = new RestateLog(child, onLine);
    try {
      const found = await this.#ready(log);
      this.#running = { child, ports: found };
    } catch (error) {
      await killChild(child);
      const why = error instanceof Error ? error.message : String(error);
      throw new CommandError(EXIT.failed, "RESTATE_FAILED", `The Restate server did not start: ${why}. Its log ends:\n${log.end}`);
    }
  }

  async #ready(log: RestateLog): Promise<RestatePorts> {
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => undefined);
    const undo = this.#clock.after(START_WITHIN_MS, () => late.reject(new Error(`it was not ready within ${START_WITHIN_MS} ms`)));
    const giveUp = (): void => late.reject(new Error("it was told to stop"));
    const { signal } = this.#options;
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      signal?.throwIfAborted();
      const ports = await Promise.race([log.ports, late.promise, log.ended]);
      const urls = [`http://127.0.0.1:${ports.ingress}/restate/health`, `http://127.0.0.1:${ports.admin}/health`];
      while (!(await Promise.race([allHealthy(urls), late.promise, log.ended])))
        await Promise.race([new Promise<void>((done) => void this.#clock.after(ASK_EVERY_MS, done)), late.promise, log.ended]);
      return ports;
    } finally {
      undo();
      signal?.removeEventListener("abort", giveUp);
    }
  }
}

const allHealthy = async (urls: readonly string[]): Promise<boolean> => {
  const answers = await Promise.all(
    urls.map((url) =>
      fetch(url).then(
        (response) => response.body?.cancel().then(() => response.ok),
        () => false,
      ),
    ),
  );
  return answers.every((ok) => ok === true);
};
