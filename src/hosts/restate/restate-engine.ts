// Owns: the engine's interface: this process runs turns for a Restate server, and calls actors through it, whichever node runs them.
// Does not own: its parts (node.ts).
import { byOperator, faults, freezeNew, isAction, ownId, stamp } from "../../core/chain/internal.ts";
import {
  type ActorId,
  type Asks,
  type CallOptions,
  type ChainEvent,
  type Change,
  checkOptions,
  type DeadLetter,
  type Engine,
  type EngineError,
  FUNCTION,
  type Index,
  type IndexEvent,
  type IndexOperations,
  type IndexPage,
  type IndexQuery,
  type ListQuery,
  type Members,
  type Message,
  type OptionTable,
  type Outgoing,
  type Peers,
  type Reply,
  type ReplyWith,
  type SessionStore,
  type Snapshot,
  type StreamStore,
  TEXTS,
  type Trait,
  type Viewer,
} from "../../core/contract/index.ts";
import {
  compareIds,
  INDEXES,
  invalidMessageReply,
  kindOf,
  KINDS,
  OBJECT,
  TEXT,
  unserialisableError,
} from "../../core/contract/internal.ts";
import type { ExtraHandler } from "./endpoint.ts";
import type { TurnInput } from "./handler-inputs.ts";
import { MapClient } from "./map-client.ts";
import { restateMembers } from "./members.ts";
import { Node } from "./node.ts";
import type { RestateOptions } from "./restate-options.ts";
import { restateSessionStore } from "./session-store.ts";
import { EVENT_BYTES, isLonger, tooLarge } from "./sizes.ts";
import { restateStreamStore } from "./stream-store.ts";

const TRAITS: ReadonlySet<Trait> = new Set(["progress"]);

const OPTIONS: OptionTable<RestateOptions> = {
  ingress: TEXT,
  admin: TEXT,
  sdk: true,
  kinds: KINDS,
  indexes: INDEXES,
  listen: OBJECT,
  secret: true,
  identityKeys: TEXTS,
  prefix: TEXT,
  clock: true,
  entropy: true,
  patience: true,
  patienceMs: true,
  keyMs: true,
  retryMs: true,
  onIndexProgress: FUNCTION,
  onFault: FUNCTION,
  onAvailability: FUNCTION,
  later: FUNCTION,
};

export class RestateEngine implements Engine {
  readonly traits = TRAITS;
  readonly #node: Node;
  #phase: "open" | "draining" | "closed" = "open";
  /** Calls that are not answered yet. */
  #callers = 0;
  #whenQuiet: (() => void) | undefined;

  private constructor(node: Node) {
    this.#node = node;
  }

  /** Throws `ENGINE_MISSING` if a kind needs something that is missing, `BAD_ADDRESS`. */
  static async start(options: RestateOptions): Promise<RestateEngine> {
    checkOptions("RestateEngine.start", options, OPTIONS);
    return new RestateEngine(await Node.start(options));
  }

  /** The address of this node, unless a proxy is in front of it: for `register`, and for other nodes. */
  get url(): string {
    return this.#node.url;
  }

  /** Why calls are refused now: the server is lost. */
  get fault(): EngineError | undefined {
    return this.#node.health.fault;
  }

  /** Sessions that all nodes share. */
  sessions(): SessionStore {
    return restateSessionStore({ maps: this.#node.maps, health: this.#node.health });
  }

  /** Resumable streams of sessions. */
  streams(): StreamStore {
    return restateStreamStore({ ...this.#node.ingressOptions, health: this.#node.health });
  }

  /** The nodes of the cluster. Its calls give up soon if the server is away: leases are renewed often enough. */
  members(): Members {
    const members = restateMembers({ maps: new MapClient({ ...this.#node.ingressOptions, patienceMs: 2_000 }) });
    return { ...members, seen: (self, forMs) => this.#node.health.lease(() => members.seen(self, forMs)) };
  }

  /** Kinds of this node that no deployment serves yet. */
  async unregistered(): Promise<readonly string[]> {
    const { kinds, queries } = this.#node;
    return (await Promise.all(kinds.names.map(async (kind) => ((await queries.isServed(kind)) ? [] : [kind])))).flat();
  }

  /** Joins other nodes, so that watchers hear of changes made by any of them. `handler` gets their requests on this node's port. */
  join(peers: Peers, handler?: ExtraHandler): void {
    this.#node.join(peers, handler);
  }

  call<T>(asks: Asks<T>, options?: CallOptions): Promise<ReplyWith<T>>;
  call(outgoing: Outgoing, options?: CallOptions): Promise<Reply>;
  async call(outgoing: Outgoing, options: CallOptions = {}): Promise<unknown> {
    const message = this.#stamped(outgoing, options);
    this.#callers += 1;
    try {
      return await this.#node.calls.call(message, options);
    } catch (error) {
      // The message becomes text before anything else happens.
      const refusal = error instanceof TypeError ? invalidMessageReply(error, message) : undefined;
      if (refusal === undefined) throw error;
      return refusal;
    } finally {
      this.#callers -= 1;
      if (this.#callers === 0) this.#whenQuiet?.();
    }
  }

  /** Settles when the server has stored the message. */
  async send(outgoing: Outgoing): Promise<void> {
    const message = this.#stamped(outgoing);
    const { to, id: idempotencyKey } = message;
    const { names, kinds, ingress } = this.#node;
    if (!kinds.mayStart(message) && !(await this.#guarded(() => this.#hasBegun(to)))) throw faults.noActor(to);
    const input: TurnInput = { message };
    try {
      // It would end nowhere, not even among the dead letters.
      if (isLonger(JSON.stringify(message), EVENT_BYTES)) throw tooLarge(to, "A message", EVENT_BYTES);
      await ingress.begin({ ...names.actor(to, "deliver"), input: kinds.sealerFor(kindOf(to)).seal(input), idempotencyKey });
    } catch (error) {
      throw (error instanceof TypeError ? unserialisableError(to, message) : undefined) ?? error;
    }
  }

  /** Whether the actor is there, once all that was sent to it before has been applied. */
  async #hasBegun(id: ActorId): Promise<boolean> {
    const { queries, calls } = this.#node;
    if ((await queries.head(id)) !== undefined) return true;
    await calls.afterSent(id);
    return (await queries.head(id)) !== undefined;
  }

  async read(id: ActorId): Promise<Snapshot | undefined> {
    this.#node.kinds.check(id);
    const found = await this.#guarded(() => this.#node.queries.read(id));
    if (found === undefined) return undefined;
    // A node with newer code has answered.
    const status = this.#node.kinds.isNewer(kindOf(id), found.version) ? "failed" : found.status;
    return { ...found, status, state: freezeNew(undefined, found.state) };
  }

  async list(query: ListQuery): Promise<readonly Change[]> {
    return (await this.#guarded(() => this.#node.queries.list(query))).toSorted((one, other) => compareIds(one.id, other.id));
  }

  count(query: Omit<ListQuery, "after" | "limit">): Promise<number> {
    return this.#guarded(() => this.#node.queries.count(query));
  }

  find(uid: string): Promise<ActorId | undefined> {
    return this.#guarded(() => this.#node.queries.find(uid));
  }

  event(id: string): Promise<ChainEvent | undefined> {
    return this.#guarded(() => this.#node.queries.event(id));
  }

  caused(id: string): Promise<readonly ChainEvent[]> {
    return this.#guarded(() => this.#node.queries.caused(id));
  }

  keyed(kind: string, viewer: Viewer, key: string): Promise<ActorId | undefined> {
    return this.#guarded(() => this.#node.queries.keyedCall(kind, viewer, key, this.#node.clock.now()));
  }

  history(id: ActorId, afterSeq = 0): AsyncGenerator<ChainEvent, void, undefined> {
    this.#node.kinds.check(id);
    this.#node.health.check();
    return this.#node.queries.history(id, afterSeq);
  }

  async stop(id: ActorId, reason: string, principal?: string): Promise<void> {
    this.#node.kinds.check(id);
    this.#node.health.check();
    const { calls, clock, entropy } = this.#node;
    const [messageId, seed] = [ownId(entropy.hex(16)), entropy.hex(16)];
    await calls.end({ id: messageId, to: id, action: "stop", args: { reason }, at: clock.now(), seed, ...byOperator(principal) }, reason);
  }

  async restart(id: ActorId): Promise<void> {
    this.#node.kinds.check(id);
    this.#node.health.check();
    await this.#node.calls.restart(id, this.#node.entropy.hex(16));
  }

  knows(kind: string): boolean {
    return this.#node.kinds.has(kind);
  }

  watch(topic: ActorId | `${string}/*`, listener: (change: Change) => void): () => void {
    return this.#node.announcer.watch(topic, listener);
  }

  /**
   * One page of an index. Its rows follow the turns with a short delay: read the actor itself to see a change at once. Throws
   * `UNKNOWN_INDEX`, `BAD_QUERY`; `UNAVAILABLE` while the index is built, or has another definition.
   */
  query<R extends object>(index: Index<R>, query: IndexQuery<R> = {}): Promise<IndexPage<R>> {
    return this.#guarded(() => this.#node.indexRows.query(index, query));
  }

  /** Calls the listener with each actor whose row changes, whichever node ran its turn. Returns its undo. Throws `UNKNOWN_INDEX`. */
  watchIndex(index: Index, listener: (event: IndexEvent) => void): () => void {
    return this.#node.indexRows.watch(index, listener);
  }

  /** Lists, rebuilds and verifies indexes. */
  get indexes(): IndexOperations {
    return this.#node.indexRows;
  }

  /** Messages that failed three times, oldest first. Those that cannot be opened, with this node's secret, are reported as faults. */
  letters(limit = 1_000, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]> {
    return this.#guarded(() => this.#node.deadLetters(limit, except));
  }

  /** Replays or drops a dead letter. False if there is none of that id. */
  letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    return this.#guarded(() => this.#node.letters.settle(messageId, fate), "unknown");
  }

  /** Accepts no more calls, from callers or from the server. What runs has `graceMs` to end; the rest is left to another node. */
  async drain(graceMs: number): Promise<void> {
    if (this.#phase === "closed") return;
    this.#phase = "draining";
    const { ingressOptions } = this.#node;
    const over = new AbortController();
    const undo = ingressOptions.clock.after(graceMs, () => over.abort());
    if (graceMs <= 0) over.abort();
    // Callers of this node first: their turns may run here. Not calls that work makes, which end with the turns, and on a busy node never
    // all at once.
    if (this.#callers > 0 && !over.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#whenQuiet = resolve;
        over.signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    await this.#node.close(over.signal);
    undo();
    this.#phase = "closed";
  }

  /** Accepts no more messages; running turns and work get `graceMs` (default 0). */
  close({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> {
    return this.drain(graceMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #stamped(outgoing: Outgoing, options?: CallOptions): Message {
    if (this.#phase !== "open") throw faults.draining();
    if (!isAction(outgoing.action)) throw faults.noAction(outgoing.to);
    const { kinds, clock, entropy, health } = this.#node;
    const message = stamp(outgoing, options, clock.now(), entropy, kinds);
    kinds.check(message.to);
    health.check();
    return message;
  }

  /** Only for callers of this node. Requests of turns, and background retries, wait for the server to return. */
  #guarded<T>(run: () => Promise<T>, applied?: "unknown"): Promise<T> {
    return this.#node.health.guard(run, applied);
  }
}
