/** Actors on a Restate server: this process runs turns for it, and calls actors through it, whichever node runs theirs. */
import { compareIds, faults, freezeNew, keyOf, kindOf, ownId, stamp, stampFrom, innerKey } from "../chain/internal.ts";
import {
  systemClock,
  systemEntropy,
  type ActorId,
  type Behaviour,
  type CallOptions,
  type Change,
  type ChainEvent,
  type Clock,
  type Engine,
  type Entropy,
  type Json,
  type Letter,
  type ListQuery,
  type Log,
  type Members,
  type Message,
  type Outgoing,
  type Peers,
  type Progress,
  type Reply,
  type SessionStore,
  type Snapshot,
  type StreamStore,
  type Trait,
  type Viewer,
} from "../contract/index.ts";
import { Announcer } from "./announcer.ts";
import { Calls } from "./calls.ts";
import type { InnerCall, WorkHost } from "./durable-work.ts";
import { Endpoint, type Beside } from "./endpoint.ts";
import { Hearing } from "./hearing.ts";
import { Ingress } from "./ingress.ts";
import type { TurnInput } from "./inputs.ts";
import { Laters } from "./laters.ts";
import { Letters } from "./letters.ts";
import { MapClient } from "./map-client.ts";
import { mapObject } from "./map-object.ts";
import { restateMembers } from "./members.ts";
import { Names } from "./names.ts";
import type { NodeHost } from "./node-host.ts";
import { Queries } from "./queries.ts";
import type { SendLater } from "./sdk-context.ts";
import type { RestateSdk } from "./sdk.ts";
import { restateSessionStore } from "./session-store.ts";
import { streamObject } from "./stream-object.ts";
import { restateStreamStore } from "./stream-store.ts";
import { sealer, unsealed, type Sealer } from "./sealed.ts";
import { waitingObject } from "./transfer-object.ts";
import { actorObject, archiveObject, controlService } from "./virtual-object.ts";

/** Where a fault was noticed that no caller can be told of in full. */
export interface NodeFault {
  readonly where: "turn" | "work" | "load" | "watcher" | "receipt" | "network";
  readonly actor?: ActorId;
  readonly action?: string;
}

export interface RestateOptions {
  /** Of the server's HTTP ingress. */
  readonly ingress: string;
  /** Of its admin API: only for what is found by an event's id alone. */
  readonly admin?: string;
  /** `@restatedev/restate-sdk`, as it was imported. */
  readonly sdk: RestateSdk;
  readonly kinds: readonly Behaviour[];
  /** Where the server, and other nodes, reach this one. Default: loopback, a free port. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /** At least 32 bytes, the same for every node: what is secret in arguments is sealed with it. Kinds that `redact` need it. */
  readonly secret?: Uint8Array;
  /** Public keys (`publickeyv1_…`) of the server: requests it has not signed are refused. */
  readonly identityKeys?: readonly string[];
  /** Before every name on the server, where several systems share it. Lower-case letters, digits and hyphens. */
  readonly prefix?: string;
  /** By which actors live: stamps, deadlines, wakes. */
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** By which the server is tried again. Default the system's, whatever `clock` is. */
  readonly patience?: Clock;
  /** How long a call is sent again while the server is away. Default 60 s, which is the most. */
  readonly patienceMs?: number;
  /** Keyed replies are given again for this long. Default 24 h. */
  readonly keyMs?: number;
  /** The wait after a delivery's first failure, four times as long after the second. Default 100 ms. */
  readonly retryMs?: number;
  /** Default: nothing is told. */
  readonly onFault?: (error: unknown, where: NodeFault) => void;
  /** For tests by a simulated clock: how what comes later is sent. Default: by the server's own durable timers. */
  readonly later?: (send: Parameters<SendLater>, begin: () => Promise<void>) => void;
}

const TRAITS: ReadonlySet<Trait> = new Set(["progress"]);

export class RestateEngine implements Engine {
  readonly traits = TRAITS;
  readonly #maps: MapClient;
  readonly #options: RestateOptions;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #names: Names;
  readonly #ingress: Ingress;
  readonly #kinds: ReadonlyMap<string, Behaviour>;
  readonly #sealer: Sealer;
  readonly #announcer: Announcer;
  readonly #laters: Laters;
  readonly #calls: Calls;
  readonly #queries: Queries;
  readonly #letters: Letters;
  readonly #hearing: Hearing;
  #endpoint: Endpoint | undefined;
  #peers: Peers | undefined;
  #phase: "open" | "draining" | "closed" = "open";
  #whenQuiet: (() => void) | undefined;

  private constructor(options: RestateOptions) {
    const { clock = systemClock, entropy = systemEntropy, patience = systemClock, patienceMs = 60_000, prefix = "" } = options;
    this.#options = options;
    this.#clock = clock;
    this.#entropy = entropy;
    this.#names = new Names(prefix);
    this.#ingress = new Ingress({ base: options.ingress, clock: patience, patienceMs });
    this.#kinds = new Map(options.kinds.map((behaviour) => [behaviour.kind, behaviour]));
    this.#sealer = options.secret === undefined ? unsealed : sealer(options.secret);
    this.#maps = new MapClient({ ingress: options.ingress, clock: patience, entropy, patienceMs, prefix });
    this.#queries = new Queries({
      ingress: this.#ingress,
      names: this.#names,
      maps: this.#maps,
      kinds: options.kinds.map(({ kind }) => kind),
      patience,
      admin: options.admin,
    });
    this.#announcer = new Announcer({
      clock: patience,
      head: (id) => this.#queries.head(id),
      ids: (kind) => this.#queries.ids(kind),
      awaits: (messageId) => this.#calls.caller(messageId) !== undefined,
      fault: (error, actor) => this.#fault(error, { where: "watcher", ...(actor && { actor }) }),
    });
    this.#laters = new Laters({
      clock,
      patience,
      due: (id, key) => this.#queries.due(id, key),
      watch: (id, listener) => this.#announcer.watch(id, listener),
      receipt: ({ onReceipt }, actor, { seq, head }) => onReceipt?.({ actor, seq, head }),
    });
    this.#calls = new Calls({
      names: this.#names,
      ingress: this.#ingress,
      clock,
      node: () => this.#peers?.self,
      seal: (message, input) => this.#sealerFor(kindOf(message.to)).seal(input),
      shown: (message) => this.#shown(message),
      announce: (change) => this.#announcer.announce(change),
      laters: this.#laters,
      fault: (error, actor) => this.#fault(error, { where: "network", actor }),
    });
    this.#hearing = new Hearing((messageId) => this.#calls.caller(messageId));
    this.#letters = new Letters({
      ingress: this.#ingress,
      names: this.#names,
      maps: this.#maps,
      sealerFor: (kind) => this.#sealerFor(kind),
    });
  }

  /** Throws `ENGINE_MISSING` where a kind needs what is not there, `DOOR_ADDRESS`. */
  static async start(options: RestateOptions): Promise<RestateEngine> {
    for (const behaviour of options.kinds)
      if (behaviour.redact !== undefined && options.secret === undefined) throw faults.secretMissing(behaviour.kind);
    const engine = new RestateEngine(options);
    await engine.#open();
    return engine;
  }

  async #open(): Promise<void> {
    const { sdk, kinds, listen = {}, identityKeys = [], prefix = "", later } = this.#options;
    const host = this.#host();
    const sendLater: SendLater | undefined =
      later && ((...send) => later(send, async () => void (await this.#ingress.begin({ ...send[0], input: send[1] }))));
    const common = { sdk, host, later: sendLater };
    const services = [
      ...kinds.flatMap((behaviour) => [actorObject(common, behaviour), archiveObject(common, behaviour)]),
      mapObject(sdk, { prefix }),
      streamObject(sdk, { prefix }),
      controlService(common),
      waitingObject(common),
    ];
    this.#endpoint = await Endpoint.open({ sdk, services, host: listen.host ?? "127.0.0.1", port: listen.port ?? 0, identityKeys });
  }

  /** Where this node is reached, unless something stands before it: for `register`, and for other nodes. */
  get url(): string {
    return this.#endpoint?.url ?? "";
  }

  /** Sessions that all nodes share. */
  sessions(): SessionStore {
    return restateSessionStore({ maps: this.#maps });
  }

  /** What was sent on their resumable streams. */
  streams(): StreamStore {
    const { ingress, patience = systemClock, patienceMs, prefix } = this.#options;
    return restateStreamStore({
      ingress,
      clock: patience,
      entropy: this.#entropy,
      ...(patienceMs === undefined ? {} : { patienceMs }),
      ...(prefix === undefined ? {} : { prefix }),
    });
  }

  /** Which nodes there are. A server that is away is not waited for: leases are renewed soon enough. */
  members(): Members {
    const { ingress, patience = systemClock, prefix } = this.#options;
    const maps = new MapClient({
      ingress,
      clock: patience,
      entropy: this.#entropy,
      patienceMs: 2_000,
      ...(prefix === undefined ? {} : { prefix }),
    });
    return restateMembers({ maps });
  }

  /** Kinds of this node that no deployment serves yet. */
  async unregistered(): Promise<readonly string[]> {
    return (await Promise.all([...this.#kinds.keys()].map(async (kind) => ((await this.#queries.isServed(kind)) ? [] : [kind])))).flat();
  }

  /** Other nodes: changes made by one are heard of by all. `beside` takes what comes for them on this node's port. */
  join(peers: Peers, beside?: Beside): void {
    this.#peers = peers;
    if (this.#endpoint !== undefined) this.#endpoint.beside = beside;
    this.#hearing.join(peers);
    this.#announcer.join(peers);
  }

  async call(outgoing: Outgoing, options: CallOptions = {}): Promise<Reply> {
    if (this.#phase !== "open") throw faults.draining();
    return this.#called(stamp(outgoing, options, this.#clock.now(), this.#entropy), options);
  }

  /** Settles when the server has taken it, durably. */
  async send(outgoing: Outgoing): Promise<void> {
    if (this.#phase !== "open") throw faults.draining();
    const message = stamp(outgoing, undefined, this.#clock.now(), this.#entropy);
    this.#check(message.to);
    if (message.start === undefined && (await this.#queries.head(message.to)) === undefined) throw faults.noActor(message.to);
    const input: TurnInput = { message };
    const sealed = this.#sealerFor(kindOf(message.to)).seal(input);
    await this.#ingress.begin({ ...this.#names.actor(message.to, "deliver"), input: sealed, idempotencyKey: message.id });
  }

  async read(id: ActorId): Promise<Snapshot | undefined> {
    this.#check(id);
    const found = await this.#queries.read(id);
    if (found === undefined) return undefined;
    const { version, state, ...rest } = found;
    // A node with newer code has answered: this one's views do not know such a state.
    const status = version > (this.#kinds.get(kindOf(id))?.version ?? version) ? "failed" : rest.status;
    return { ...rest, status, state: freezeNew(undefined, state) };
  }

  async list(query: ListQuery): Promise<readonly Change[]> {
    return (await this.#queries.list(query)).toSorted((one, other) => compareIds(one.id, other.id));
  }

  count(query: Omit<ListQuery, "after" | "limit">): Promise<number> {
    return this.#queries.count(query);
  }

  find(uid: string): Promise<ActorId | undefined> {
    return this.#queries.find(uid);
  }

  event(id: string): Promise<ChainEvent | undefined> {
    return this.#queries.event(id);
  }

  caused(id: string): Promise<readonly ChainEvent[]> {
    return this.#queries.caused(id);
  }

  keyed(kind: string, viewer: Viewer, key: string): Promise<ActorId | undefined> {
    return this.#queries.keyed(kind, viewer, key, this.#clock.now());
  }

  history(id: ActorId, afterSeq = 0): AsyncGenerator<ChainEvent, void, undefined> {
    this.#check(id);
    return this.#queries.history(id, afterSeq);
  }

  async stop(id: ActorId, reason: string): Promise<void> {
    this.#check(id);
    await this.#calls.end(this.#own(id, "stop", { reason }), reason);
  }

  async restart(id: ActorId): Promise<void> {
    this.#check(id);
    await this.#calls.restart(id, this.#entropy.hex(16));
  }

  watch(topic: ActorId | `${string}/*`, listener: (change: Change) => void): () => void {
    return this.#announcer.watch(topic, listener);
  }

  /** Sends that failed three times, oldest first. */
  letters(limit = 1_000): Promise<readonly Letter[]> {
    return this.#letters.list(limit);
  }

  /** A dead letter is tried again or thrown away. False: there is none of that id. */
  letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    return this.#letters.settle(messageId, fate);
  }

  /** Takes no more calls, of callers here or of the server; what runs has `graceMs` to end, then it is left for another node. */
  async drain(graceMs: number): Promise<void> {
    if (this.#phase === "closed") return;
    this.#phase = "draining";
    const { patience = systemClock } = this.#options;
    const over = new AbortController();
    const undo = patience.after(graceMs, () => over.abort());
    if (graceMs <= 0) over.abort();
    // Callers of this node first: their turns may run here.
    if (this.#calls.size > 0 && !over.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#whenQuiet = resolve;
        over.signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    this.#laters.close();
    await this.#endpoint?.drain(over.signal);
    undo();
    this.#phase = "closed";
    this.#announcer.close();
    this.#hearing.close();
    await this.#endpoint?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0);
  }

  // ── for turns of this node ────────────────────────────────────────────────

  #host(): NodeHost {
    const { keyMs = 24 * 3_600_000, retryMs = 100 } = this.#options;
    const work: WorkHost = {
      now: () => this.#clock.now(),
      after: (ms, run) => this.#clock.after(ms, run),
      call: (call) => this.#inner(call),
      hearing: (message, node): { readonly progress: Progress; readonly log: Log } => this.#hearing.of(message.id, node),
      fault: (error, { where, message: { to, action } }) => this.#fault(error, { where, actor: to, action }),
    };
    return {
      ...work,
      names: this.#names,
      keyMs,
      retryMs,
      knows: (kind) => this.#kinds.has(kind),
      sealerFor: (kind) => this.#sealerFor(kind),
      seed: () => this.#entropy.hex(16),
      hint: (change, message) => this.#announcer.hint(change, message.id),
    };
  }

  #inner(call: InnerCall): Promise<Reply> {
    const { work, n, outgoing, endsAt, key } = call;
    const message = stampFrom(work, n, outgoing, endsAt, this.#clock.now(), this.#entropy);
    this.#check(message.to);
    return this.#calls.inner(call, message, innerKey(work, key, n, message.action, this.#shown(message)));
  }

  // ── steps ─────────────────────────────────────────────────────────────────

  async #called(message: Message, options: CallOptions): Promise<Reply> {
    this.#check(message.to);
    try {
      return await this.#calls.call(message, options);
    } finally {
      if (this.#calls.size === 0) this.#whenQuiet?.();
    }
  }

  #check(id: ActorId): void {
    keyOf(id);
    if (!this.#kinds.has(kindOf(id))) throw faults.unknownKind(kindOf(id));
  }

  /** Only where something is secret: what can be read on the server helps whoever looks for a fault. */
  #sealerFor(kind: string): Sealer {
    return this.#kinds.get(kind)?.redact === undefined ? { seal: unsealed.seal, open: this.#sealer.open } : this.#sealer;
  }

  #shown(message: Message): Json {
    const behaviour = this.#kinds.get(kindOf(message.to));
    return behaviour?.redact === undefined ? message.args : behaviour.redact(message);
  }

  #own(to: ActorId, action: string, args: Json): Message {
    return { id: ownId(this.#entropy.hex(16)), to, action, args, at: this.#clock.now(), seed: this.#entropy.hex(16) };
  }

  #fault(error: unknown, where: NodeFault): void {
    try {
      this.#options.onFault?.(error, where);
    } catch {
      // Whoever listens to faults must not make more of them.
    }
  }
}
