import { resolve } from "node:path";
import { DataDirectory } from "../data-directory.ts";
import { startBalancer } from "./balancer.ts";
import { register } from "./deployments.ts";

import type { DevReady } from "./dev-banner.ts";
import { DevNodes, placesFor } from "./dev-nodes.ts";
import type { DevClusterOptions, DevOptions } from "./dev-options.ts";
import { engineText } from "./engine-address.ts";
import { listenerAnswers } from "./health-checks.ts";
import { keptEndpoint } from "./kept-endpoint.ts";
import type { NodePlace } from "./node-process.ts";
import { RestateAdmin } from "./restate-admin.ts";
import { restateExecutable } from "./restate-executable.ts";
import { RestateServer } from "./restate-server.ts";

const LOOPBACK = "127.0.0.1";
/** Each opens a connection of its own to the nodes, and so there are enough to spread. */
const PARTITIONS = 8;
/** Beyond that it opens another, which a node that came back may get. */
const TURNS_PER_CONNECTION = 16;

/** Everything `cluster dev` runs. It ends from the clients' side inwards: no turn loses its engine, no call its node. */
export class DevCluster implements AsyncDisposable {
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
    const places = await placesFor(nodes);
    const [listener, { balancer: endpoint, keep }] = await this.#balancers(places, http);
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
    keep();
    const engine = engineText({ ingress: server.ingress, admin: server.admin });
    const running = this.#stack.use(new DevNodes(this.#options, engine));
    this.#stack.defer(() => listener.stopAccepting());
    const name = await running.begin(places);
    // Forced: at the address that a kept directory knows, new code is the rule in development.
    const { id, services } = await register(new RestateAdmin(server.admin), url(endpoint.port), true);
    this.#services = services;
    const mcp = `http://${http.host.includes(":") ? `[${http.host}]` : http.host}:${listener.port}/mcp`;
    return {
      ready: true,
      name,
      http: mcp,
      meta: `${mcp}/meta`,
      engine,
      ingress: server.ingress,
      admin: server.admin,
      endpoint: url(endpoint.port),
      deployment: id,
      pid: process.pid,
      restate: server.pid,
      nodes: running.nodes.map(({ place, pid }) => ({
        name: place.name,
        node: url(place.node.port),
        http: `${url(place.http.port)}/mcp`,
        pid,
      })),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** Both before anything else: a port that is taken is told at once, and they end after what is behind them. */
  async #balancers(places: readonly NodePlace[], http: DevOptions["http"]) {
    const listener = this.#stack.use(
      await startBalancer(
        http,
        places.map((place) => place.http),
        listenerAnswers,
      ),
    );
    const kept = await keptEndpoint(
      this.#options.directory,
      places.map((place) => place.node),
      (from) =>
        this.#options.logTo("warn", "endpoint-moved", {
          from,
          what: "Another process has the port of last time: calls that were under way then wait until it is free again.",
        }),
    );
    this.#stack.use(kept.balancer);
    return [listener, kept] as const;
  }
}

const url = (port: number): string => `http://${LOOPBACK}:${port}`;
