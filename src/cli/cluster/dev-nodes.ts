// Owns: the nodes of `troupe cluster dev`: their processes, restarts, ports, secret and log lines. Does not own: the Restate server and
// the balancers (dev.ts).
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Clock, type Entropy, isJsonObject, type JsonObject, systemClock, systemEntropy } from "../../core/contract/index.ts";
import { messageOf, omitUndefined, tryParseJson } from "../../core/contract/internal.ts";
import { replaceFile } from "../../core/store/secret-file.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { PROGRAM } from "../installed-packages.ts";
import { type ServerLog, serverLog, type ServerLogLevel } from "../log.ts";
import type { HostPort } from "../option-parsers.ts";
import { textOrElse, visible } from "../output.ts";
import { endChild, endWithProcess, hasEnded } from "./child-process.ts";
import { clusterSecret, clusterSecretIfAny } from "./cluster-options.ts";

/** The options of `troupe cluster dev`. */
export interface DevOptions {
  readonly nodes: number;
  readonly http: HostPort;
  readonly data?: string;
  readonly grace: number;
  readonly log: ServerLogLevel;
  readonly json?: boolean;
}

/** What tests replace. */
export interface DevOverrides {
  readonly program?: (place: NodeLocation, share: SharedNodeOptions) => NodeProgram;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

/** The options with their defaults applied, and what the cluster needs besides. */
export interface DevClusterOptions extends Omit<DevOptions, "data"> {
  readonly modules: readonly string[];
  readonly directory: string;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly program: NonNullable<DevOverrides["program"]>;
  readonly logTo: ServerLog;
  /** Aborts the start. */
  readonly signal: AbortSignal;
}

const HOST = "127.0.0.1";

/** The ports of each node. They stay the same over restarts of a node, since the balancers have them. */
export const nodeLocations = async (count: number): Promise<readonly NodeLocation[]> => {
  const ports = await freePorts(count * 2);
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    node: { host: HOST, port: ports[index * 2] ?? 0 },
    http: { host: HOST, port: ports[index * 2 + 1] ?? 0 },
  }));
};

/** The nodes of `cluster dev`, which share modules, engine and secret. */
export class DevNodes implements AsyncDisposable {
  readonly #options: DevClusterOptions;
  readonly #share: SharedNodeOptions;
  readonly #nodes: DevNode[] = [];
  #draining: Promise<unknown> | undefined;

  constructor(options: DevClusterOptions, engine: string) {
    const { modules, entropy, grace, log, directory } = options;
    this.#options = options;
    this.#share = {
      modules,
      engine,
      secret: storedSecret(directory, process.env, entropy),
      graceMs: grace,
      log,
      directory: ({ name }) => join(directory, name),
    };
  }

  get nodes(): readonly DevNode[] {
    return this.#nodes;
  }

  /** Starts all nodes together. Returns the name under which they serve. Throws `NODE_FAILED`. */
  async start(places: readonly NodeLocation[]): Promise<string> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    // A node that hangs at its start never becomes ready, so the signal must end it.
    signal.addEventListener("abort", () => void this[Symbol.asyncDispose](), { once: true });
    for (const place of places) this.#nodes.push(this.#start(place));
    const ready = await Promise.all(
      this.#nodes.map(async (node) => {
        try {
          return await node.start();
        } catch (error) {
          throw new CommandError(
            EXIT.failed,
            "NODE_FAILED",
            `${node.place.name} did not start (${messageOf(error)}): what it wrote says why.`,
          );
        }
      }),
    );
    return textOrElse(ready[0]?.["name"], "troupe");
  }

  /** Ends all nodes, once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#draining ??= Promise.all(this.#nodes.map((node) => node[Symbol.asyncDispose]())));
  }

  #start(place: NodeLocation): DevNode {
    const { clock, program, grace, log, logTo, json = false } = this.#options;
    const { name } = place;
    return new DevNode({
      place,
      program: program(place, this.#share),
      graceMs: grace,
      clock,
      onLine: nodeLogger(name, log, json),
      onEnd: (why, againInMs) => logTo("error", "node-ended", { node: name, why, againInMs }),
      onReady: (pid) => logTo("info", "node-ready", { node: name, ...omitUndefined({ pid }) }),
    });
  }
}

/** A node drains within its grace; this is for one that hangs. */
const PAST_GRACE_MS = 3_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** A node that ran this long has not failed at its start. */
const STABLE_MS = 30_000;

export interface DevNodeOptions {
  readonly place: NodeLocation;
  readonly program: NodeProgram;
  readonly graceMs: number;
  readonly clock: Clock;
  /** Called with each line that the node writes. */
  readonly onLine: (line: string) => void;
  readonly onEnd: (why: string, againInMs: number) => void;
  readonly onReady: (pid: number | undefined) => void;
}

/** A node that is restarted when it ends, with growing pauses. */
export class DevNode implements AsyncDisposable {
  readonly #options: DevNodeOptions;
  readonly #stop = Promise.withResolvers<"stop">();
  #process: NodeProcess;
  #stopping = false;

  constructor(options: DevNodeOptions) {
    this.#options = options;
    this.#process = new NodeProcess(options.program, options.onLine);
  }

  get place(): NodeLocation {
    return this.#options.place;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** The ready line of its first run. Rejects if that ends first: a restart would not help. */
  async start(): Promise<JsonObject> {
    const ready = await this.#process.ready;
    if (ready === undefined) throw new Error(await this.#process.ended);
    void this.#restartOnExit();
    return ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    this.#stop.resolve("stop");
    await this.#process.stop(this.#options.graceMs + PAST_GRACE_MS, this.#options.clock);
  }

  async #restartOnExit(): Promise<void> {
    const { program, clock, onLine, onEnd } = this.#options;
    let pauseMs = FIRST_PAUSE_MS;
    let since = clock.now();
    for (;;) {
      const why = await this.#process.ended;
      if (this.#stopping) return;
      if (clock.now() - since >= STABLE_MS) pauseMs = FIRST_PAUSE_MS;
      onEnd(why, pauseMs);
      const pause = Promise.withResolvers<"again">();
      const undo = clock.after(pauseMs, () => pause.resolve("again"));
      if ((await Promise.race([pause.promise, this.#stop.promise])) === "stop") return undo();
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      since = clock.now();
      this.#process = new NodeProcess(program, onLine);
      void this.#reportReady(this.#process);
    }
  }

  async #reportReady(run: NodeProcess): Promise<void> {
    if ((await run.ready) !== undefined) this.#options.onReady(run.pid);
  }
}

/** Where one node of a cluster runs. */
export interface NodeLocation {
  readonly name: string;
  /** Where Restate and the other nodes reach it. */
  readonly node: HostPort;
  /** Its MCP address. */
  readonly http: HostPort;
}

/** The program of a node: it writes `{"ready":true,…}` as one line to standard output, and drains on SIGTERM. */
interface NodeProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** One run of a node, from its start to its end. */
class NodeProcess {
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<JsonObject>();
  readonly #ended = Promise.withResolvers<string>();

  /** `onLine` is called with every other line that it writes. */
  constructor({ file, args, env }: NodeProgram, onLine: (line: string) => void) {
    // In its own process group: Ctrl-C in a terminal reaches the parent only, which then ends this process in order.
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], env, detached: true });
    endWithProcess(child);
    this.#child = child;
    createInterface(child.stdout).on("line", (line) => {
      const message = tryParseJson(line);
      if (isJsonObject(message) && message["ready"] === true) this.#ready.resolve(message);
      else onLine(line);
    });
    createInterface(child.stderr).on("line", onLine);
    child.once("error", (error) => this.#ended.resolve(error.message));
    // Not on exit: its last lines may still be in the pipes.
    child.once("close", (code, signal) => this.#ended.resolve(signal ?? `exit code ${code}`));
  }

  get pid(): number | undefined {
    return hasEnded(this.#child) ? undefined : this.#child.pid;
  }

  /** Its ready line; undefined if it ends first. */
  get ready(): Promise<JsonObject | undefined> {
    return Promise.race([this.#ready.promise, this.#ended.promise.then(() => undefined)]);
  }

  /** Settles with the exit code or signal, in words, when it has ended. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  async stop(graceMs: number, clock: Clock): Promise<void> {
    await endChild(this.#child, graceMs, clock);
  }
}

/** What all nodes of a cluster share. */
interface SharedNodeOptions {
  readonly modules: readonly string[];
  /** In the form of `--engine`. */
  readonly engine: string;
  /** The secret by which the nodes authenticate each other: 64 hex digits. */
  readonly secret: string;
  readonly graceMs: number;
  readonly log: string;
  /** The data directory of a node. */
  readonly directory: (place: NodeLocation) => string;
}

const at = ({ host, port }: HostPort): string => `${host}:${port}`;

/** The program of a node: `troupe serve --engine`. */
export const serveProgram = (place: NodeLocation, share: SharedNodeOptions): NodeProgram => {
  const options = {
    "--engine": share.engine,
    "--node": at(place.node),
    "--advertise": `http://${at(place.node)}`,
    "--http": at(place.http),
    "--data": share.directory(place),
    "--grace": String(share.graceMs),
    "--log": share.log,
  };
  return {
    file: process.execPath,
    args: [PROGRAM, "serve", ...share.modules, ...Object.entries(options).flat(), "--json"],
    // Not as an argument, which every user of the machine can read.
    env: { ...process.env, TROUPE_CLUSTER_SECRET: share.secret },
  };
};

const FILE = "secret";

/**
 * The secret of the nodes over this directory, in hex digits: from the environment, else stored here and created once. So what
 * they sealed can be read after a restart, and by commands that are given the secret. Throws `USAGE`.
 */
export const storedSecret = (directory: string, env: Readonly<Record<string, string | undefined>>, entropy: Entropy): string => {
  const file = join(directory, FILE);
  const there = clusterSecretIfAny(env, undefined) ?? (existsSync(file) ? clusterSecret({}, file) : undefined);
  if (there !== undefined) return Buffer.from(there).toString("hex");
  const secret = entropy.hex(32);
  replaceFile(file, `${secret}\n`);
  return secret;
};

/** Below the ephemeral ports, so that no outgoing connection takes one in between. */
const LOWEST = 15_000;
const HIGHEST = 32_000;
const MOST_TRIES = 1_000;

/**
 * That many free ports of the loopback address, for processes that must know each other's port before any listens. Another process may
 * take one in between, so a process that can choose its own port should.
 */
export const freePorts = async (count: number, entropy: Entropy = systemEntropy): Promise<readonly number[]> => {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === MOST_TRIES) throw new Error(`This machine has no ${count} free ports from ${LOWEST} to ${HIGHEST}.`);
    const port = LOWEST + (parseInt(entropy.hex(4), 16) % (HIGHEST - LOWEST));
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
};

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer();
  try {
    server.listen(port, HOST);
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
};

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** An event whose advice `cluster dev` follows itself, once all nodes are ready. */
const HANDLED_HERE = "not-registered";

/** Writes the lines of a node to this process's standard error, with the node's name. */
const nodeLogger = (name: string, least: ServerLogLevel, json: boolean): ((line: string) => void) => {
  const log = serverLog(least, json, () => systemClock.now(), name);
  return (line) => {
    const value = tryParseJson(line);
    const message = isJsonObject(value) ? value : undefined;
    const level = LEVELS.find((one) => one === message?.["level"]);
    const event = message?.["event"];
    if (event === HANDLED_HERE) return;
    if (message !== undefined && level !== undefined && typeof event === "string") {
      const { at: _at, level: _level, event: _event, ...fields } = message;
      log(level, event, fields);
    } else if (json) log("info", "output", { text: line });
    else process.stderr.write(`${name} ${visible(line)}\n`);
  };
};
