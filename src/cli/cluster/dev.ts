// Owns: `troupe cluster dev`: a Restate server, balancers and nodes, started and ended in order, and what is printed when they are ready.
// Does not own: the nodes (dev-nodes.ts), the Restate server's process (restate-server.ts).
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isJsonObject, systemClock, systemEntropy, TroupeError } from "../../core/contract/index.ts";
import { replaceFile } from "../../core/store/secret-file.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { DataDirectory } from "../data-directory.ts";
import { serverLog, type ServerLog } from "../log.ts";
import type { HostPort } from "../option-parsers.ts";
import { ignoreWriteErrors, type Painter, paintError, printLine } from "../output.ts";
import { stopSignal } from "../server-process.ts";
import { connectLines } from "../server/banner.ts";
import { type Balancer, listenerAnswers, nodeAnswers, startBalancer, urlOf } from "./balancer.ts";
import { TemporaryFolder } from "./child-process.ts";
import { engineText } from "./cluster-options.ts";
import {
  type DevClusterOptions,
  DevNodes,
  type DevOptions,
  type DevOverrides,
  type NodeLocation,
  nodeLocations,
  serveProgram,
} from "./dev-nodes.ts";
import { registerDeployment, RestateAdmin } from "./restate-admin.ts";
import { restateExecutable, RestateServer } from "./restate-server.ts";
import { counted } from "../../core/contract/internal.ts";

const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i;

export const clusterDev = async (modules: readonly string[], options: DevOptions, parts: DevOverrides = {}): Promise<void> => {
  if (!LOOPBACK_HOST.test(options.http.host))
    throw usage(
      `--http ${options.http.host} is not this machine's own: a cluster for others is nodes of troupe serve --engine behind a load balancer.`,
    );
  ignoreWriteErrors(process.stdout);
  const { clock = systemClock, entropy = systemEntropy, program = serveProgram } = parts;
  const json = options.json === true;
  const log = serverLog(options.log, json, () => clock.now());
  const stop = new AbortController();
  const { signal } = stop;
  void stopSignal().then(() => stop.abort());
  await using stack = new AsyncDisposableStack();
  const directory = options.data ?? stack.use(await TemporaryFolder.make("troupe-cluster-")).path;
  const cluster = stack.use(new DevCluster({ ...options, modules, directory, clock, entropy, program, logTo: log, signal }));
  try {
    const ready = await cluster.start();
    if (json) printLine(JSON.stringify({ ...ready, ...(options.data === undefined ? {} : { data: directory }) }));
    else process.stderr.write(`${devBanner(ready, cluster.services, modules, paintError)}\n`);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await untilStopped(signal, cluster, log);
};

const untilStopped = async (signal: AbortSignal, cluster: DevCluster, log: ServerLog): Promise<void> => {
  if (!signal.aborted) {
    const why = await Promise.race([once(signal, "abort").then(() => undefined), cluster.engineEnded]);
    if (why !== undefined && !signal.aborted)
      throw new CommandError(
        EXIT.failed,
        "RESTATE_FAILED",
        `The Restate server ended with ${why}, so all has stopped: the log may say why.`,
      );
  }
  log("info", "stopping");
};

const LOOPBACK = "127.0.0.1";
/** Each partition opens its own connection to the nodes, so there are enough connections to balance. */
const PARTITIONS = 8;
/** Beyond this a partition opens another connection, which a restarted node may get. */
const TURNS_PER_CONNECTION = 16;

/** Everything `cluster dev` runs. It shuts down from the clients' side inwards, so that no turn loses its engine and no call its node. */
class DevCluster implements AsyncDisposable {
  readonly #options: DevClusterOptions;
  readonly #stack = new AsyncDisposableStack();
  #server: RestateServer | undefined;
  #services: readonly string[] = [];

  constructor(options: DevClusterOptions) {
    this.#options = options;
  }

  /** The kinds that Restate found at the nodes. */
  get services(): readonly string[] {
    return this.#services;
  }

  /** Settles with the code or signal when the Restate server ends. */
  get engineEnded(): Promise<number | string> {
    return this.#server?.ended ?? new Promise(() => undefined);
  }

  async start(): Promise<DevReady> {
    const { directory, http, nodes, signal, logTo } = this.#options;
    const executable = restateExecutable();
    new DataDirectory(directory).create();
    const places = await nodeLocations(nodes);
    const [listener, { balancer: endpoint, store }] = await this.#balancers(places, http);
    const server = this.#stack.use(
      await RestateServer.start({
        executable,
        directory: resolve(directory, "restate"),
        name: "dev",
        partitions: PARTITIONS,
        turnsPerConnection: TURNS_PER_CONNECTION,
        signal,
        onLine: (level, message) => {
          if (level === "warn" || level === "error") logTo(level, "restate", { message });
        },
      }),
    );
    this.#server = server;
    store();
    const engine = engineText({ ingress: server.ingress, admin: server.admin });
    const running = this.#stack.use(new DevNodes(this.#options, engine));
    this.#stack.defer(() => listener.stopAccepting());
    const name = await running.start(places);
    // Forced: in development the code at a known address changes.
    const endpointUrl = urlOf({ host: LOOPBACK, port: endpoint.port });
    const { id, services } = await registerDeployment(new RestateAdmin(server.admin), endpointUrl, true);
    this.#services = services;
    const mcp = `${urlOf({ host: http.host, port: listener.port })}/mcp`;
    return {
      ready: true,
      name,
      http: mcp,
      meta: `${mcp}/meta`,
      engine,
      ingress: server.ingress,
      admin: server.admin,
      endpoint: endpointUrl,
      deployment: id,
      pid: process.pid,
      restate: server.pid,
      nodes: running.nodes.map(({ place, pid }) => ({
        name: place.name,
        node: urlOf(place.node),
        http: `${urlOf(place.http)}/mcp`,
        pid,
      })),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** Both are started first, so that a port in use fails at once, and end after the nodes behind them. */
  async #balancers(places: readonly NodeLocation[], http: DevOptions["http"]) {
    const listener = this.#stack.use(
      await startBalancer(
        http,
        places.map((place) => place.http),
        listenerAnswers,
      ),
    );
    const stored = await storedEndpoint(
      this.#options.directory,
      places.map((place) => place.node),
      (from) =>
        this.#options.logTo("warn", "endpoint-moved", {
          from,
          what: "Another process has the port of last time: calls that were under way then wait until it is free again.",
        }),
    );
    this.#stack.use(stored.balancer);
    return [listener, stored] as const;
  }
}

/** What `cluster dev` prints when it is ready; with `--json` as one line. */
interface DevReady {
  readonly ready: true;
  readonly name: string;
  /** Where clients connect. */
  readonly http: string;
  readonly meta: string;
  /** In the form of `--engine`. */
  readonly engine: string;
  readonly ingress: string;
  readonly admin: string;
  /** The address at which Restate calls the nodes. */
  readonly endpoint: string;
  readonly deployment: string;
  /** Absent: a temporary folder. */
  readonly data?: string;
  readonly pid: number;
  readonly restate: number | undefined;
  readonly nodes: readonly { readonly name: string; readonly node: string; readonly http: string; readonly pid: number | undefined }[];
}

/** The kinds of actors among Restate's services; the others serve the nodes themselves. */
const kindsAmong = (services: readonly string[]): readonly string[] => {
  const kinds = services.flatMap((name) => /^actor-(.+)$/.exec(name)?.[1] ?? []);
  return kinds.length > 0 ? kinds : services;
};

const devBanner = (ready: DevReady, services: readonly string[], files: readonly string[], paint: Painter): string => {
  const lines = [
    `${paint("bold", ready.name)} is served by ${counted(ready.nodes.length, "node")}: ${kindsAmong(services).join(", ")}.`,
    "",
  ];
  const row = (what: string, value: string): void => void lines.push(`  ${what.padEnd(7)}  ${value}`);
  row("HTTP", paint("cyan", ready.http));
  row("", `${ready.meta} for clients that load the list of tools only once`);
  for (const { name, http, node, pid } of ready.nodes) row(name, `${http}, for Restate at ${node}, process ${pid ?? "none"}`);
  row("Restate", `${ready.engine}, process ${ready.restate ?? "none"}; look into it at ${ready.admin}/ui`);
  row("", `it reaches the nodes at ${ready.endpoint} (${ready.deployment})`);
  row("Data", ready.data ?? "a temporary folder, gone at the end");
  const { name, http } = ready;
  lines.push("", ...connectLines({ name, files, addresses: { http }, data: ready.data, needsKey: false, isInteractive: false }));
  return [...lines, paint("dim", "Ctrl-C stops all of it.")].join("\n");
};

const FILE = "cluster.json";

interface StoredEndpoint {
  readonly balancer: Balancer;
  /** Stores the port for the next start, once the directory is known to be in use by this process alone. */
  readonly store: () => void;
}

/**
 * A balancer at the port it had at the last start over this directory, since Restate resumes running calls at the address where they
 * began. `onMoved` is called if another process has that port now.
 */
const storedEndpoint = async (directory: string, to: readonly HostPort[], onMoved: (from: number) => void): Promise<StoredEndpoint> => {
  const before = portIn(directory);
  const balancer = await startAt(before, to);
  if (before !== 0 && balancer.port !== before) onMoved(before);
  const store = (): void => replaceFile(join(directory, FILE), JSON.stringify({ endpoint: balancer.port }));
  return { balancer, store };
};

const startAt = async (port: number, to: readonly HostPort[]): Promise<Balancer> => {
  try {
    return await startBalancer({ host: LOOPBACK, port }, to, nodeAnswers);
  } catch (error) {
    if (port === 0 || !(error instanceof TroupeError)) throw error;
    return startBalancer({ host: LOOPBACK, port: 0 }, to, nodeAnswers);
  }
};

const portIn = (directory: string): number => {
  try {
    const stored: unknown = JSON.parse(readFileSync(join(directory, FILE), "utf8"));
    const port = isJsonObject(stored) ? stored["endpoint"] : undefined;
    return typeof port === "number" && Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
  } catch {
    return 0;
  }
};
