// Owns: the process of a Restate server on loopback: its executable, settings, log and end. Does not own: calling it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Clock, isJsonObject, type JsonObject, systemClock } from "../../core/contract/index.ts";
import { messageOf, omitUndefined, tryParseJson } from "../../core/contract/internal.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { endChild, endWithProcess, hasEnded, killChild, TemporaryFolder } from "./child-process.ts";

const START_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 20;

export interface RestateServerOptions extends Partial<Omit<RestateSettings, "temporary">> {
  readonly executable: string;
  /** Created if it is missing. Default: a temporary one, which is removed with the server. */
  readonly directory?: string;
  /** Called with each line of its log. */
  readonly onLine?: (level: string, message: string) => void;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** A Restate server on loopback, which ends with this process. */
export class RestateServer implements AsyncDisposable {
  readonly #options: RestateServerOptions;
  /** The server's temporary files, which it leaves behind; without a directory also its data. */
  readonly #folder: TemporaryFolder;
  readonly #clock: Clock;
  #running: { readonly child: ChildProcess; readonly ports: RestatePorts } | undefined;

  private constructor(options: RestateServerOptions, folder: TemporaryFolder) {
    this.#options = options;
    this.#folder = folder;
    this.#clock = options.clock ?? systemClock;
  }

  /** Settles when it accepts calls. Throws `RESTATE_FAILED` with the end of its log. */
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

  /** Like a power failure: nothing is flushed. */
  async kill(): Promise<void> {
    if (this.#running !== undefined) await killChild(this.#running.child);
  }

  /** Sends SIGTERM, and SIGKILL after `graceMs`. */
  async stop(graceMs = 10_000): Promise<void> {
    if (this.#running !== undefined) await endChild(this.#running.child, graceMs, this.#clock);
  }

  /** Restarts it at the same ports, over the same data. */
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
      // In its own process group: Ctrl-C in a terminal reaches the parent only, which then ends this process in order.
      detached: true,
    });
    endWithProcess(child);
    const log = new RestateLog(child, onLine);
    try {
      const found = await this.#ready(log);
      this.#running = { child, ports: found };
    } catch (error) {
      await killChild(child);
      const why = messageOf(error);
      throw new CommandError(EXIT.failed, "RESTATE_FAILED", `The Restate server did not start: ${why}. Its log ends:\n${log.end}`);
    }
  }

  async #ready(log: RestateLog): Promise<RestatePorts> {
    const timeout = Promise.withResolvers<never>();
    timeout.promise.catch(() => undefined);
    const undo = this.#clock.after(START_WITHIN_MS, () => timeout.reject(new Error(`it was not ready within ${START_WITHIN_MS} ms`)));
    const giveUp = (): void => timeout.reject(new Error("it was told to stop"));
    const { signal } = this.#options;
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      signal?.throwIfAborted();
      const ports = await Promise.race([log.ports, timeout.promise, log.ended]);
      const urls = [`http://127.0.0.1:${ports.ingress}/restate/health`, `http://127.0.0.1:${ports.admin}/health`];
      while (!(await Promise.race([allHealthy(urls), timeout.promise, log.ended])))
        await Promise.race([new Promise<void>((done) => void this.#clock.after(ASK_EVERY_MS, done)), timeout.promise, log.ended]);
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

const PACKAGE = "@restatedev/restate-server";

/**
 * The Restate server's executable itself, out of its npm package: that of the project in `directory`, else of Troupe's own
 * installation. Its launcher script is passed over, since a signal to it would leave the server running.
 */
export const restateExecutable = (directory = process.cwd()): string => {
  const binary = `${PACKAGE}-${process.platform}-${process.arch}/bin/restate-server`;
  for (const from of [join(directory, "package.json"), import.meta.url]) {
    const near = createRequire(from);
    const launcher = resolved(near, `${PACKAGE}/package.json`);
    const found = (launcher === undefined ? undefined : resolved(createRequire(launcher), binary)) ?? resolved(near, binary);
    if (found !== undefined) return found;
  }
  throw new CommandError(
    EXIT.failed,
    "RESTATE_MISSING",
    // Without scripts: its install script only reports the installation.
    `The Restate server is not installed for ${process.platform}-${process.arch}: run "npm install --save-dev --ignore-scripts ${PACKAGE}@1.7" here, or use one that runs elsewhere with --engine.`,
  );
};

const resolved = (require: NodeJS.Require, name: string): string | undefined => {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
};

interface RestatePorts {
  readonly ingress: number;
  readonly admin: number;
}

/** Reads a server's log for as long as it runs: a full pipe would stop the server. */
class RestateLog {
  readonly #last: string[] = [];
  readonly #ports = Promise.withResolvers<RestatePorts>();
  readonly #ended = Promise.withResolvers<never>();

  constructor(child: ChildProcess, onLine?: (level: string, message: string) => void) {
    let ingress: number | undefined;
    let admin: number | undefined;
    const keep = (text: string): void => {
      this.#last.push(text.slice(0, 2_000));
      if (this.#last.length > 20) this.#last.shift();
    };
    if (child.stderr !== null) createInterface(child.stderr).on("line", keep);
    if (child.stdout === null) throw new TypeError("The server was started without a pipe.");
    createInterface(child.stdout).on("line", (text) => {
      keep(text);
      const line = tryParseJson(text);
      if (!isJsonObject(line)) return;
      const { level, fields } = line;
      if (onLine !== undefined && typeof level === "string" && isJsonObject(fields)) onLine(level.toLowerCase(), restateMessage(fields));
      ingress ??= portIn(line, "http-ingress-server");
      admin ??= portIn(line, "admin-api-server");
      if (ingress !== undefined && admin !== undefined) this.#ports.resolve({ ingress, admin });
    });
    child.once("error", (error) => this.#ended.reject(error));
    // Not on exit: its last lines may still be in the pipes.
    child.once("close", (code, signal) => this.#ended.reject(new Error(`it ended with ${signal ?? code}`)));
    this.#ended.promise.catch(() => undefined);
  }

  /** The ports that it chose. */
  get ports(): Promise<RestatePorts> {
    return this.#ports.promise;
  }

  /** Rejects when the server ends. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  /** Its last lines. */
  get end(): string {
    return this.#last.join("\n");
  }
}

const restateMessage = ({ message, error }: JsonObject): string => [message, error].filter((part) => typeof part === "string").join(": ");

const portIn = ({ span }: JsonObject, server: string): number | undefined => {
  if (!isJsonObject(span) || span["server_name"] !== server) return undefined;
  const port = Number(span["server.port"]);
  return Number.isInteger(port) ? port : undefined;
};

/** A server among several that form one Restate cluster. */
interface ClusterMember {
  readonly cluster: string;
  /** Ports, on loopback, at which all members reach each other; this one's too. */
  readonly fabric: readonly number[];
  /** True for exactly one member, which provisions the cluster; the others join it. */
  readonly begins: boolean;
  /** How many members store each record. */
  readonly replication: number;
}

/** How one Restate server runs, on loopback. */
interface RestateSettings {
  /** Must stay the same over restarts with the same data. */
  readonly name: string;
  /** The folder for its temporary files. */
  readonly temporary: string;
  /** 0 lets the server choose. */
  readonly ports: { readonly ingress: number; readonly admin: number; readonly fabric: number };
  /** Used only when the data is created. Each partition opens one connection to a deployment. */
  readonly partitions: number;
  /** For RocksDB. */
  readonly memoryMiB: number;
  /** Beyond this many running turns a partition opens another connection to a deployment. Default: Restate's own, 128. */
  readonly turnsPerConnection?: number;
  readonly member?: ClusterMember;
}

const at = (port: number): string => `127.0.0.1:${port}`;

/** Inherits nothing: variables that are set for another server on this machine must not reach this one. */
const restateEnvironment = (settings: RestateSettings): Readonly<Record<string, string>> => {
  const { ports, member } = settings;
  return {
    TMPDIR: settings.temporary,
    DO_NOT_TRACK: "1",
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_USE_RANDOM_PORTS: "true",
    ...(ports.ingress > 0 && { RESTATE_INGRESS__BIND_ADDRESS: at(ports.ingress) }),
    ...(ports.admin > 0 && { RESTATE_ADMIN__BIND_ADDRESS: at(ports.admin) }),
    ...(ports.fabric > 0 && { RESTATE_BIND_ADDRESS: at(ports.fabric), RESTATE_ADVERTISED_ADDRESS: `http://${at(ports.fabric)}` }),
    RESTATE_DEFAULT_NUM_PARTITIONS: String(settings.partitions),
    // Without this, turns wait for a minute on the connections of a node that hangs.
    RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: "2s",
    RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: "2s",
    RESTATE_WORKER__INVOKER__CONNECT_TIMEOUT: "3s",
    // Also limits state and message of one turn together: beyond it (32 MiB by default) a turn waits forever.
    RESTATE_NETWORKING__MESSAGE_SIZE_LIMIT: "128MiB",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: `${settings.memoryMiB}MiB`,
    ...(settings.turnsPerConnection !== undefined && {
      RESTATE_WORKER__INVOKER__HTTP2_STREAMS_PER_CONNECTION_LIMIT: String(settings.turnsPerConnection),
    }),
    ...(member !== undefined && {
      RESTATE_CLUSTER_NAME: member.cluster,
      RESTATE_AUTO_PROVISION: String(member.begins),
      RESTATE_DEFAULT_REPLICATION: String(member.replication),
      RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(member.fabric.map((port) => `http://${at(port)}`)),
    }),
    RESTATE_LOG_FORMAT: "json",
    // At its start it looks for a newer release, whatever is configured; a failure of that (octocrab) is not an error.
    RESTATE_LOG_FILTER: "warn,restate=info,octocrab=off",
  };
};
