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
import { indexesOf, type Loaded } from "../load-modules.ts";
import { faultFields, thrownBy } from "../log.ts";
import type { Ground, GroundOptions, NodeAddress } from "./backend.ts";

/** Actors on a Restate server, whose turns this node runs beside others. */
export class ClusterGround implements Ground {
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
  readonly #how: GroundOptions;
  readonly #place: TransferOptions;

  private constructor(
    engine: RestateEngine,
    peers: Cluster,
    secret: Uint8Array,
    how: GroundOptions,
    address: EngineAddress,
    loaded: Loaded,
  ) {
    this.#engine = engine;
    this.peers = peers;
    this.#how = how;
    this.#place = { ...address, secret };
    this.kinds = loaded.parts.flatMap(({ kinds }) => kinds);
    this.sessions = engine.sessions();
    this.streams = engine.streams();
    this.key = createHmac("sha256", secret).update("requests").digest();
    this.node = { url: peers.url, engine: address.ingress };
  }

  static async join(loaded: Loaded, address: EngineAddress, how: GroundOptions): Promise<ClusterGround> {
    const { options, log, inFull, dev } = how;
    if (dev !== undefined)
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
        else log("error", "engine-lost", { engine: address.ingress, ...faultFields(fault, inFull) });
      },
      onFault(error, where) {
        const hasSecrets = where.hasSecrets === true;
        log("error", "fault", { ...faultFields(error, inFull && !hasSecrets), ...where }, thrownBy(error, hasSecrets));
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
      return new ClusterGround(engine, peers, secret, how, address, loaded);
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

  /** Says so where the server does not know these kinds yet: that is for an operator to decide, or nodes would take each other's turns. */
  async served({ parts }: Loaded): Promise<readonly []> {
    const { log } = this.#how;
    try {
      const unknown = await this.#engine.unregistered();
      if (unknown.length > 0 && parts.length > 0)
        log("warn", "not-registered", {
          kinds: [...unknown],
          what: `The Restate server does not know them yet: run "troupe cluster register ${this.node.url}", or with the address of what stands before your nodes.`,
        });
    } catch (error) {
      const away = error instanceof EngineError && error.code === "STORE_IO";
      log("warn", away ? "engine-away" : "fault", { engine: this.node.engine, ...faultFields(error, this.#how.inFull) });
    }
    return [];
  }

  async open(): Promise<void> {
    // Commands go through any node, or to the server itself.
  }

  async operate(operation: string, args: JsonObject): Promise<Json> {
    const [{ clusterOperations }, { openOperator }] = await Promise.all([
      import("../../bridges/operate/index.ts"),
      import("../cluster-operator.ts"),
    ]);
    return await clusterOperations(await openOperator(this.#place))(operation, args);
  }

  async drain(graceMs: number): Promise<void> {
    // First: it takes turns of this node's for the others to hear that it leaves, should they all leave at once.
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

/** The SDK of the project here, else of Troupe's own installation: only who runs on Restate needs it. */
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
