// Owns: actors on a Restate server, with this process as a node. Does not own: the engine (hosts/restate), peers (hosts/cluster).
import { createHmac } from "node:crypto";
import {
  type Behaviour,
  type Engine,
  EngineError,
  type Json,
  type JsonObject,
  type SessionStore,
  type StreamStore,
} from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { type Cluster, joinCluster } from "../../hosts/cluster/index.ts";
import { isRestateSdk, RestateEngine, type RestateSdk, type TransferOptions } from "../../hosts/restate/index.ts";
import { clusterSecret, type EngineAddress } from "../cluster/cluster-options.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { optionalPackage } from "../installed-packages.ts";
import { indexesOf, type LoadedModules } from "../load-modules.ts";
import { faultFields, thrownBy } from "../log.ts";
import type { Backend, BackendOptions, NodeAddress } from "./backend.ts";

/** Actors on a Restate server, with this process as one of the nodes that run their turns. */
export class ClusterBackend implements Backend {
  readonly data = undefined;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly taskStore = undefined;
  readonly store = undefined;
  readonly kinds: readonly Behaviour[];
  readonly key: Uint8Array;
  readonly peers: Cluster;
  readonly node: NodeAddress;
  readonly #engine: RestateEngine;
  readonly #options: BackendOptions;
  readonly #target: TransferOptions;

  private constructor(
    engine: RestateEngine,
    peers: Cluster,
    secret: Uint8Array,
    backendOptions: BackendOptions,
    address: EngineAddress,
    loaded: LoadedModules,
  ) {
    this.#engine = engine;
    this.peers = peers;
    this.#options = backendOptions;
    this.#target = { ...address, secret };
    this.kinds = loaded.parts.flatMap(({ kinds }) => kinds);
    this.sessions = engine.sessions();
    this.streams = engine.streams();
    this.key = createHmac("sha256", secret).update("requests").digest();
    this.node = { url: peers.url, engine: address.ingress };
  }

  static async join(loaded: LoadedModules, address: EngineAddress, backendOptions: BackendOptions): Promise<ClusterBackend> {
    const { options, log, detailedFaults, prepareKind } = backendOptions;
    if (prepareKind !== undefined)
      throw usage('"dev" loads code anew within one process, which --engine has no part in: use serve, or "troupe cluster dev".');
    const everywhere = options.node !== undefined && (options.node.host === "0.0.0.0" || options.node.host === "::");
    if (everywhere && options.advertise === undefined)
      throw usage(
        `Nobody reaches a node at ${options.node?.host ?? ""}: say with --advertise by which address the server and the others do.`,
      );
    const secret = clusterSecret(process.env, options.secretFile);
    const engine = await RestateEngine.start({
      ...address,
      sdk: await restateSdk(),
      kinds: loaded.parts.flatMap(({ kinds }) => kinds),
      indexes: indexesOf(loaded),
      onIndexProgress: ({ index, actors, of, isDone }) => log("info", isDone ? "index-built" : "index-building", { index, actors, of }),
      secret,
      ...omitUndefined({ listen: options.node, identityKeys: options.identityKey }),
      onAvailability: (fault) => {
        if (fault === undefined) log("info", "engine-back", { engine: address.ingress });
        else log("error", "engine-lost", { engine: address.ingress, ...faultFields(fault, detailedFaults) });
      },
      onFault(error, where) {
        const hasSecrets = where.hasSecrets === true;
        log("error", "fault", { ...faultFields(error, detailedFaults && !hasSecrets), ...where }, thrownBy(error, hasSecrets));
      },
    });
    try {
      const url = options.advertise ?? engine.url;
      const peers = await joinCluster({
        secret,
        url,
        members: engine.members(),
        log: (level, data) => log(level === "error" ? "error" : level === "warning" ? "warn" : "debug", "peers", { what: data }),
      });
      engine.join(peers, (request, response) => peers.handle(request, response));
      return new ClusterBackend(engine, peers, secret, backendOptions, address, loaded);
    } catch (error) {
      await engine[Symbol.asyncDispose]();
      throw error;
    }
  }

  get fault(): Error | undefined {
    return this.#engine.fault;
  }

  async start(): Promise<Engine> {
    return this.#engine;
  }

  /** Warns if the Restate server does not know these kinds. Registering is up to the operator: nodes would otherwise take each other's turns. */
  async recordServed({ parts }: LoadedModules): Promise<readonly []> {
    const { log } = this.#options;
    try {
      const unknown = await this.#engine.unregistered();
      if (unknown.length > 0 && parts.length > 0)
        log("warn", "not-registered", {
          kinds: [...unknown],
          what: `The Restate server does not know them yet: run "troupe cluster register ${this.node.url}", or with the address of what stands before your nodes.`,
        });
    } catch (error) {
      const away = error instanceof EngineError && error.code === "STORE_IO";
      log("warn", away ? "engine-away" : "fault", { engine: this.node.engine, ...faultFields(error, this.#options.detailedFaults) });
    }
    return [];
  }

  async openCommands(): Promise<void> {
    // Commands use any node, or the Restate server itself.
  }

  async operate(operation: string, args: JsonObject): Promise<Json> {
    const [{ clusterOperations }, { openOperator }] = await Promise.all([
      import("../../bridges/operate/index.ts"),
      import("../cluster-operator.ts"),
    ]);
    return await clusterOperations(await openOperator(this.#target))(operation, args);
  }

  async drain(graceMs: number): Promise<void> {
    // Peers first: announcing the departure takes turns, which this node may have to run itself if all leave at once.
    await this.peers[Symbol.asyncDispose]();
    await this.#engine.drain(graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0);
    await this.sessions[Symbol.asyncDispose]();
    await this.streams[Symbol.asyncDispose]();
  }
}

const PACKAGE = "@restatedev/restate-sdk";

/** The Restate SDK of the project, else of Troupe's own installation. Optional, since only clusters need it. */
const restateSdk = async (): Promise<RestateSdk> => {
  const found = await optionalPackage(PACKAGE);
  if (found === undefined)
    throw new CommandError(EXIT.failed, "SDK_MISSING", `Actors on Restate need ${PACKAGE}: run "npm install ${PACKAGE}@1.17" here.`);
  if (isRestateSdk(found.loaded)) return found.loaded;
  throw new CommandError(
    EXIT.failed,
    "SDK_VERSION",
    `${found.path} is another version of ${PACKAGE} than this Troupe knows: install 1.17.`,
  );
};
