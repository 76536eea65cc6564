import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Clock, type Entropy, isJsonObject, type JsonObject, systemClock, systemEntropy } from "../../core/contract/index.ts";
import { omitUndefined, tryParseJson } from "../../core/contract/internal.ts";
import { replaceFile } from "../../core/store/secret-file.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { PROGRAM } from "../installed-packages.ts";
import { type ServerLog, serverLog, type ServerLogLevel } from "../log.ts";
import type { HostPort } from "../option-parsers.ts";
import { textOr, visible } from "../output.ts";
import { endChild, endWithProcess, hasEnded } from "./child-process.ts";
import { clusterSecret, clusterSecretIfAny } from "./cluster-options.ts";

/** What `troupe cluster dev` is told. */
export interface DevOptions {
  readonly nodes: number;
  readonly http: HostPort;
  readonly data?: string;
  readonly grace: number;
  readonly log: ServerLogLevel;
  readonly json?: boolean;
}

/** What tests put in its place. */
export interface DevParts {
  readonly program?: (place: NodePlace, share: NodeShare) => NodeProgram;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

/** The same, with all that is left open filled in. */
export interface DevClusterOptions extends Omit<DevOptions, "data"> {
  readonly modules: readonly string[];
  readonly directory: string;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly program: NonNullable<DevParts["program"]>;
  readonly logTo: ServerLog;
  /** Gives up the start. */
  readonly signal: AbortSignal;
}

const HOST = "127.0.0.1";

/** For so many nodes. Each keeps its ports over its restarts: that is where the balancers look for it. */
export const placesFor = async (count: number): Promise<readonly NodePlace[]> => {
  const ports = await freePorts(count * 2);
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    node: { host: HOST, port: ports[index * 2] ?? 0 },
    http: { host: HOST, port: ports[index * 2 + 1] ?? 0 },
  }));
};

/** The nodes of `cluster dev`, which share modules, engine and a secret. */
export class DevNodes implements AsyncDisposable {
  readonly #options: DevClusterOptions;
  readonly #share: NodeShare;
  readonly #nodes: DevNode[] = [];
  #draining: Promise<unknown> | undefined;

  constructor(options: DevClusterOptions, engine: string) {
    const { modules, entropy, grace, log, directory } = options;
    this.#options = options;
    this.#share = {
      modules,
      engine,
      secret: keptSecret(directory, process.env, entropy),
      graceMs: grace,
      log,
      directory: ({ name }) => join(directory, name),
    };
  }

  get nodes(): readonly DevNode[] {
    return this.#nodes;
  }

  /** All at once. Returns the name under which they serve. Throws `NODE_FAILED`. */
  async begin(places: readonly NodePlace[]): Promise<string> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    // One that hangs at its start would never be ready, and nobody could stop it.
    signal.addEventListener("abort", () => void this[Symbol.asyncDispose](), { once: true });
    for (const place of places) this.#nodes.push(this.#start(place));
    const ready = await Promise.all(
      this.#nodes.map(async (node) => {
        try {
          return await node.begin();
        } catch (error) {
          throw new CommandError(
            EXIT.failed,
            "NODE_FAILED",
            `${node.place.name} did not start (${error instanceof Error ? error.message : String(error)}): what it wrote says why.`,
          );
        }
      }),
    );
    return textOr(ready[0]?.["name"], "troupe");
  }

  /** Once, whoever asks first. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#draining ??= Promise.all(this.#nodes.map((node) => node[Symbol.asyncDispose]())));
  }

  #start(place: NodePlace): DevNode {
    const { clock, program, grace, log, logTo, json = false } = this.#options;
    const { name } = place;
    return new DevNode({
      place,
      program: program(place, this.#share),
      graceMs: grace,
      clock,
      onLine: nodeLines(name, log, json),
      onEnd: (why, againInMs) => logTo("error", "node-ended", { node: name, why, againInMs }),
      onReady: (pid) => logTo("info", "node-ready", { node: name, ...omitUndefined({ pid }) }),
    });
  }
}

/** It has drained long before; this is for one that hangs. */
const PAST_GRACE_MS = 3_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** Who ran that long and ended has not failed at its start. */
const STEADY_MS = 30_000;

export interface DevNodeOptions {
  readonly place: NodePlace;
  readonly program: NodeProgram;
  readonly graceMs: number;
  readonly clock: Clock;
  /** What it writes. */
  readonly onLine: (line: string) => void;
  readonly onEnd: (why: string, againInMs: number) => void;
  readonly onReady: (pid: number | undefined) => void;
}

/** A node that is started again when it ends, each time after a longer pause. */
export class DevNode implements AsyncDisposable {
  readonly #options: DevNodeOptions;
  readonly #stop = Promise.withResolvers<"stop">();
  #process: NodeProcess;
  #stopping = false;

  constructor(options: DevNodeOptions) {
    this.#options = options;
    this.#process = new NodeProcess(options.program, options.onLine);
  }

  get place(): NodePlace {
    return this.#options.place;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** What its first run says when it is ready; rejects where that ends before, which no further try would mend. */
  async begin(): Promise<JsonObject> {
    const ready = await this.#process.ready;
    if (ready === undefined) throw new Error(await this.#process.ended);
    void this.#mend();
    return ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    this.#stop.resolve("stop");
    await this.#process.stop(this.#options.graceMs + PAST_GRACE_MS, this.#options.clock);
  }

  async #mend(): Promise<void> {
    const { program, clock, onLine, onEnd } = this.#options;
    let pauseMs = FIRST_PAUSE_MS;
    let since = clock.now();
    for (;;) {
      const why = await this.#process.ended;
      if (this.#stopping) return;
      if (clock.now() - since >= STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      onEnd(why, pauseMs);
      const pause = Promise.withResolvers<"again">();
      const undo = clock.after(pauseMs, () => pause.resolve("again"));
      if ((await Promise.race([pause.promise, this.#stop.promise])) === "stop") return undo();
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      since = clock.now();
      this.#process = new NodeProcess(program, onLine);
      void this.#tell(this.#process);
    }
  }

  async #tell(run: NodeProcess): Promise<void> {
    if ((await run.ready) !== undefined) this.#options.onReady(run.pid);
  }
}

/** Where one node of a cluster runs. */
export interface NodePlace {
  readonly name: string;
  /** Where Restate and the other nodes reach it. */
  readonly node: HostPort;
  /** Its MCP address. */
  readonly http: HostPort;
}

/** The program of a node: it says `{"ready":true,…}` in one line on standard output, and drains on SIGTERM. */
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

/** What all nodes of a cluster share. */
interface NodeShare {
  readonly modules: readonly string[];
  /** As `--engine` takes it. */
  readonly engine: string;
  /** By which the nodes know each other: 64 hex digits. */
  readonly secret: string;
  readonly graceMs: number;
  readonly log: string;
  /** Where it may keep files of its own. */
  readonly directory: (place: NodePlace) => string;
}

const at = ({ host, port }: HostPort): string => `${host}:${port}`;

/** A node as `troupe serve --engine` is one. */
export const serveProgram = (place: NodePlace, share: NodeShare): NodeProgram => {
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
    // Not as an argument: those are for everybody on the machine to read.
    env: { ...process.env, TROUPE_CLUSTER_SECRET: share.secret },
  };
};

const FILE = "secret";

/**
 * What the nodes over this directory share, in hex digits: what the environment says, else what is kept here, made once. So
 * what they sealed is read at the next start, and by commands that are given it. Throws `USAGE`.
 */
export const keptSecret = (directory: string, env: Readonly<Record<string, string | undefined>>, entropy: Entropy): string => {
  const file = join(directory, FILE);
  const there = clusterSecretIfAny(env, undefined) ?? (existsSync(file) ? clusterSecret({}, file) : undefined);
  if (there !== undefined) return Buffer.from(there).toString("hex");
  const secret = entropy.hex(32);
  replaceFile(file, `${secret}\n`);
  return secret;
};

/** Below those that systems hand out by themselves, to whoever connects anywhere: these are taken by nobody in between. */
const LOWEST = 15_000;
const HIGHEST = 32_000;
const MOST_TRIES = 1_000;

/**
 * That many ports of the loopback address, free at this moment: for processes that must know each other's before any listens.
 * Another process may take one in between; where a process can choose its own, let it.
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
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
};

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** Advice that `cluster dev` follows itself, once all nodes are ready. */
const FOLLOWED = "not-registered";

/** What a node writes, on this process's standard error, with its name before it. */
const nodeLines = (name: string, least: ServerLogLevel, json: boolean): ((line: string) => void) => {
  const log = serverLog(least, json, () => systemClock.now(), name);
  return (line) => {
    const value = tryParseJson(line);
    const said = isJsonObject(value) ? value : undefined;
    const level = LEVELS.find((one) => one === said?.["level"]);
    const event = said?.["event"];
    if (event === FOLLOWED) return;
    if (said !== undefined && level !== undefined && typeof event === "string") {
      const { at: _at, level: _level, event: _event, ...fields } = said;
      log(level, event, fields);
    } else if (json) log("info", "output", { text: line });
    else process.stderr.write(`${name} ${visible(line)}\n`);
  };
};
