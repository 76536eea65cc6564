import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const START_WITHIN_MS = 30_000;

interface Ports {
  readonly ingress: number;
  readonly admin: number;
}

/** A Restate server on loopback, with its data in a temporary directory that ends with it. */
export class RestateServer implements AsyncDisposable {
  readonly #executable: string;
  readonly #directory: string;
  #process: ChildProcess;
  #ports: Ports;

  private constructor(executable: string, directory: string, started: { process: ChildProcess; ports: Ports }) {
    this.#executable = executable;
    this.#directory = directory;
    this.#process = started.process;
    this.#ports = started.ports;
  }

  /** On free ports, which it keeps over `restart`. */
  static async start(executable: string): Promise<RestateServer> {
    const directory = await mkdtemp(join(tmpdir(), "troupe-restate-"));
    try {
      return new RestateServer(executable, directory, await launch(executable, directory));
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  get ingress(): string {
    return `http://127.0.0.1:${this.#ports.ingress}`;
  }

  get admin(): string {
    return `http://127.0.0.1:${this.#ports.admin}`;
  }

  /** Makes the handlers served at `url` known. */
  async register(url: string): Promise<void> {
    const response = await fetch(`${this.admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri: url }),
    });
    if (!response.ok) throw new Error(`The server did not take the deployment: ${response.status} ${await response.text()}`);
  }

  /** As a power cut would: nothing is flushed, nothing is said. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  async restart(): Promise<void> {
    const started = await launch(this.#executable, this.#directory, this.#ports);
    this.#process = started.process;
    this.#ports = started.ports;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

async function launch(executable: string, directory: string, ports?: Ports): Promise<{ process: ChildProcess; ports: Ports }> {
  const child = spawn(executable, ["--no-logo", "--base-dir", directory, "--node-name", "one", "--bind-ip", "127.0.0.1"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      DO_NOT_TRACK: "1",
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_USE_RANDOM_PORTS: "true",
      ...(ports && {
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ports.ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${ports.admin}`,
      }),
      RESTATE_DEFAULT_NUM_PARTITIONS: "2",
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "128MiB",
      RESTATE_LOG_FORMAT: "json",
    },
  });
  child.once("exit", notAlone(child));
  try {
    return { process: child, ports: await listening(child) };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/** The server ends with this process, however that ends short of SIGKILL. Returns its undo. */
function notAlone(child: ChildProcess): () => void {
  const goodbye = (): void => void child.kill("SIGKILL");
  const signalled = (signal: NodeJS.Signals): void => {
    goodbye();
    undo();
    process.kill(process.pid, signal);
  };
  const undo = (): void => {
    process.removeListener("exit", goodbye);
    for (const signal of SIGNALS) process.removeListener(signal, signalled);
  };
  process.once("exit", goodbye);
  for (const signal of SIGNALS) process.once(signal, signalled);
  return undo;
}

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Reads the ports from the server's log, since it chose them, and goes on emptying the pipe. */
function listening(child: ChildProcess): Promise<Ports> {
  const { stdout } = child;
  if (stdout === null) throw new Error("The server was started without a pipe.");
  return new Promise((resolve, reject) => {
    const last: string[] = [];
    const give = (why: string) => reject(new Error(`Restate's server ${why}. Its log ends:\n${last.join("\n")}`));
    const timer = setTimeout(() => give(`did not start within ${START_WITHIN_MS} ms`), START_WITHIN_MS);
    child.once("error", reject);
    child.once("exit", (code) => give(`ended with ${code}`));
    let ingress: number | undefined;
    let admin: number | undefined;
    createInterface(stdout).on("line", (line) => {
      last.push(line);
      if (last.length > 20) last.shift();
      if (ingress !== undefined && admin !== undefined) return;
      ingress ??= portIn(line, "http-ingress-server");
      admin ??= portIn(line, "admin-api-server");
      if (ingress === undefined || admin === undefined) return;
      clearTimeout(timer);
      resolve({ ingress, admin });
    });
  });
}

function portIn(line: string, server: string): number | undefined {
  if (!line.includes(server)) return undefined;
  const port = /"server\.port":\s*"?(\d+)/.exec(line)?.[1];
  return port === undefined ? undefined : Number(port);
}
