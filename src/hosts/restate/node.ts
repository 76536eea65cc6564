// Owns: one process of a cluster: its parts, and what its turns need. Does not own: the engine's interface (restate-engine.ts).
import { faults, firstCall, IndexChanges, innerKey, stampFrom } from "../../core/chain/internal.ts";
import {
  systemClock,
  systemEntropy,
  EngineError,
  type Change,
  type Clock,
  type DeadLetter,
  type Entropy,
  type IndexVerdict,
  type Message,
  type Peers,
  type RolesByKind,
  type Reply,
  type Step,
  type Viewer,
  type ActorId,
  type ChainEvent,
} from "../../core/contract/index.ts";
import { checkNeeded, DURATION, omitUndefined, safeCall, kindOf } from "../../core/contract/internal.ts";
import { AdminApi } from "./admin-api.ts";
import { Announcer } from "./announcer.ts";
import { Calls } from "./calls.ts";
import type { InnerCall } from "./durable-work.ts";
import { DirectTurns } from "./direct-turns.ts";
import { Endpoint, type ExtraHandler } from "./endpoint.ts";
import { ProgressRelay, LeftCallers } from "./caller-relay.ts";
import { indexObject } from "./index-object.ts";
import type { ShardHead } from "./index-shard.ts";
import { RestateIndexes } from "./indexes.ts";
import { Ingress, GuardedIngress } from "./ingress.ts";
import { Kinds } from "./kinds.ts";
import { DeadLetters } from "./dead-letters.ts";
import { MapClient, type MapClientOptions } from "./map-client.ts";
import { mapObject } from "./map-object.ts";
import { Names } from "./names.ts";
import type { NodeHost } from "./durable-context.ts";
import { Queries } from "./queries.ts";
import type { NodeFault, RestateOptions } from "./restate-options.ts";
import type { SendLater } from "./sdk.ts";
import type { Sealer } from "./sealer.ts";
import { ServerHealth } from "./server-health.ts";
import { RequestSignatures } from "./request-signatures.ts";
import { streamObject } from "./stream-object.ts";
import { actorObject, archiveObject, controlService, importQueueObject } from "./actor-object.ts";

/** One process of a cluster: creates and connects its parts, and is the host of the turns that run here. */
export class Node implements NodeHost {
  readonly names: Names;
  readonly kinds: Kinds;
  readonly keyMs: number;
  readonly retryMs: number;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** How the server is reached, and retried. */
  readonly ingressOptions: Required<MapClientOptions>;
  readonly health: ServerHealth;
  readonly ingress: Ingress;
  readonly maps: MapClient;
  readonly queries: Queries;
  readonly announcer: Announcer;
  readonly calls: Calls;
  readonly letters: DeadLetters;
  readonly indexes: IndexChanges;
  /** Queries and watchers of the indexes. */
  readonly indexRows: RestateIndexes;
  readonly #progress: ProgressRelay;
  readonly #leftCallers = new LeftCallers();
  readonly #options: RestateOptions;
  #endpoint: Endpoint | undefined;
  #peers: Peers | undefined;

  private constructor(options: RestateOptions) {
    const { clock = systemClock, entropy = systemEntropy, patience = systemClock, patienceMs = 60_000, prefix = "" } = options;
    const { ingress: base, keyMs = 24 * 3_600_000, retryMs = 100 } = options;
    checkNeeded("keyMs", keyMs, DURATION);
    checkNeeded("retryMs", retryMs, DURATION);
    this.#options = options;
    this.clock = clock;
    this.entropy = entropy;
    this.keyMs = keyMs;
    this.retryMs = retryMs;
    this.names = new Names(prefix);
    this.kinds = new Kinds(options.kinds, options.secret);
    this.health = new ServerHealth({ base, clock: patience, ...omitUndefined({ onChange: options.onAvailability }) });
    const onAnswer = (): void => this.health.answered();
    this.ingressOptions = { ingress: base, clock: patience, entropy, patienceMs, prefix, onAnswer };
    this.ingress = new Ingress({ base, clock: patience, patienceMs, onAnswer });
    this.maps = new MapClient(this.ingressOptions);
    const reads = new GuardedIngress(this.ingressOptions);
    this.queries = new Queries({
      reads,
      names: this.names,
      maps: this.maps,
      kinds: this.kinds.names,
      patience,
      admin: new AdminApi(options.admin, this.names),
    });
    this.announcer = new Announcer({
      clock: patience,
      head: (id) => this.queries.head(id),
      ids: (kind) => this.queries.ids(kind),
      awaits: (messageId) => this.calls.callers(messageId).size > 0,
      fault: (error, actor) => this.#reportFault(error, { where: "watcher", ...(actor && { actor }) }),
    });
    const indexFault = (error: unknown): void => this.#reportFault(error, { where: "index" });
    this.indexes = new IndexChanges(options.indexes ?? [], options.kinds, indexFault);
    this.indexRows = new RestateIndexes({
      names: this.names,
      ingress: reads,
      changes: this.indexes,
      kinds: this.kinds.names,
      clock: patience,
      entropy,
      read: (id) => this.queries.read(id),
      ids: (kind, after, limit) => this.queries.ids(kind, after, limit),
      count: (kind) => this.queries.count({ kind }),
      fault: indexFault,
      onProgress: options.onIndexProgress,
    });
    this.calls = new Calls({
      names: this.names,
      ingress: this.ingress,
      clock,
      patience,
      node: () => this.#peers?.self,
      seal: (message, input) => this.sealerFor(kindOf(message.to)).seal(input),
      redactedArgs: (message) => this.kinds.redactedArgs(message),
      announce: (change) => this.announcer.announce(change),
      replyState: (id, key) => this.queries.replyState(id, key),
      watch: (id, listener) => this.announcer.watch(id, listener),
      callerLeft: (messageId) => this.#leftCallers.leave(messageId),
      fault: (error, where, actor) => this.#reportFault(error, { where, actor }),
    });
    this.#progress = new ProgressRelay(
      (messageId) => this.calls.callers(messageId),
      (error) => this.#reportFault(error, { where: "progress" }),
    );
    this.letters = new DeadLetters({
      ingress: this.ingress,
      names: this.names,
      maps: this.maps,
      entropy,
      sealerFor: (kind) => this.sealerFor(kind),
    });
  }

  /** Throws `ENGINE_MISSING` if a kind needs something that is missing, `BAD_ADDRESS`. */
  static async start(options: RestateOptions): Promise<Node> {
    const node = new Node(options);
    await node.#open();
    return node;
  }

  async #open(): Promise<void> {
    const { sdk, kinds, listen = {}, identityKeys = [], prefix = "", later } = this.#options;
    const sendLater: SendLater | undefined =
      later && ((...send) => later(send, async () => void (await this.ingress.begin({ ...send[0], input: send[1] }))));
    const common = { sdk, host: this, later: sendLater };
    const services = [
      ...kinds.flatMap((behaviour) => [actorObject(common, behaviour), archiveObject(common, behaviour)]),
      mapObject(sdk, this.names),
      streamObject(sdk, { prefix }),
      indexObject({ sdk, host: this }),
      controlService(common),
      importQueueObject(common),
    ];
    const signatures = identityKeys.length === 0 ? undefined : new RequestSignatures(identityKeys, this.ingressOptions.clock);
    this.#endpoint = await Endpoint.open({
      sdk,
      services,
      host: listen.host ?? "127.0.0.1",
      port: listen.port ?? 0,
      identityKeys,
      direct: new DirectTurns(this, kinds, signatures),
    });
    this.health.start();
    if (this.#options.indexes !== undefined) void this.indexRows.open();
  }

  get url(): string {
    return this.#endpoint?.url ?? "";
  }

  join(peers: Peers, extra: ExtraHandler | undefined): void {
    this.#peers = peers;
    if (this.#endpoint !== undefined) this.#endpoint.extra = extra;
    this.#progress.join(peers);
    this.#leftCallers.join(peers);
    this.announcer.join(peers);
    this.indexRows.join(peers);
  }

  /** Accepts no more turns. Settles when running turns have ended, or have been left to another node since `signal` was aborted. */
  async close(signal: AbortSignal): Promise<void> {
    await this.#endpoint?.drain(signal);
    this.announcer.close();
    this.indexRows.close();
    this.#progress.close();
    this.#leftCallers.close();
    await this.#endpoint?.close();
    // Last: work that waits for such a reply was cut off by now, and runs again elsewhere. Before, it would have ended with this error.
    this.calls.close();
    this.health.close();
  }

  // ── host of the turns of this node ──────────────────────────────────────────

  now(): number {
    return this.clock.now();
  }

  after(ms: number, run: () => void): () => void {
    return this.clock.after(ms, run);
  }

  seed(): string {
    return this.entropy.hex(16);
  }

  knows(kind: string): boolean {
    return this.kinds.has(kind);
  }

  isLinked(kind: string): boolean {
    return this.kinds.isLinked(kind);
  }

  sealerFor(kind: string): Sealer {
    return this.kinds.sealerFor(kind);
  }

  rolesOf(viewer: Viewer): RolesByKind {
    return this.kinds.rolesOf(viewer);
  }

  call(call: InnerCall): Promise<Reply> {
    const { work, n, outgoing, endsAt, key } = call;
    const message = stampFrom(work, n, outgoing, endsAt, this.clock.now(), this.entropy);
    this.kinds.check(message.to);
    return this.calls.inner(call, message, {
      key: innerKey(work, key, n, message.action, this.kinds.redactedArgs(message)),
      run: this.entropy.hex(8),
    });
  }

  history(id: ActorId, afterSeq: number): AsyncIterable<ChainEvent> {
    return this.queries.history(id, afterSeq);
  }

  reporters(message: Message, node: string | undefined): ReturnType<ProgressRelay["reportersFor"]> {
    return this.#progress.reportersFor(message.id, node, firstCall(message));
  }

  abortWithCaller(call: string, abort: () => void): () => void {
    return this.#leftCallers.work(call, abort);
  }

  report(steps: Readonly<Record<string, Step>>): void {
    for (const [messageId, step] of Object.entries(steps)) this.#progress.report(messageId, step);
  }

  deadLetters(limit: number, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]> {
    return this.letters.list(limit, (error) => this.#reportFault(error, { where: "outbox" }), except);
  }

  hint(change: Change, message?: Message): void {
    this.announcer.hint(change, message?.id ?? "");
  }

  indexHint(part: string, head: ShardHead): void {
    this.indexRows.hint(part, head);
  }

  indexRebuild(name: string): Promise<number> {
    return this.indexRows.rebuild(name);
  }

  indexVerify(name: string): Promise<IndexVerdict> {
    return this.indexRows.verify(name);
  }

  fault(error: unknown, { where, message }: Parameters<NodeHost["fault"]>[1]): void {
    const { id, to, action, args } = message;
    const hasSecrets = this.kinds.redactedArgs(message) !== args;
    const repeated = where === "outbox" && error instanceof EngineError && faults.isReportedByTurn(error);
    this.#reportFault(error, {
      where,
      actor: to,
      action,
      ...(where === "outbox" && { letter: id }),
      ...(repeated && { repeated }),
      ...(hasSecrets && { hasSecrets }),
    });
  }

  #reportFault(error: unknown, where: NodeFault): void {
    // A listener that throws must not cause more faults.
    safeCall(
      () => this.#options.onFault?.(error, where),
      () => undefined,
    );
  }
}
