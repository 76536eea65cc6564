// Owns: notifying watchers of changes, whichever node made them. Does not own: transport of hints (hosts/cluster), rows of indexes
// (indexes.ts).
//
// C2: a message from another node, or from a turn that is about to commit, is only a hint: the actor is read before anyone is notified.
// If a hint is lost, all watched actors are read.
import { Watchers, type ActorId, type Change, type Clock, type Json, type Peers } from "../../core/contract/index.ts";
import { isAddress, kindOf, MultiMap } from "../../core/contract/internal.ts";
import { isObject } from "./handler-inputs.ts";
import { wait } from "./ingress.ts";
import { isActorHead, type ActorHead } from "./outcome.ts";

const TOPIC = "changed";
/** A hint precedes its durable change. The actor is read again after this pause, which doubles. */
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 500;
/** A change that is not durable by then is dropped: its turn was run again elsewhere, or failed. */
const GIVE_UP_MS = 30_000;
/** With other nodes: the longest time for which a lost hint goes unnoticed. */
const RESYNC_MS = 15_000;
/**
 * After a gap, all watched actors are read again after these pauses: a missed change may not be durable yet, and its hint is not repeated.
 */
const RESYNC_AFTER_GAP_MS: readonly number[] = [250, 1_000, 4_000];
/** How long the notification of a stopped actor waits for actors that may have stopped before it. */
const ORDER_MS = 1_000;
/** Actors that a resync reads at once. */
const CONCURRENCY = 16;
/** Actors whose last notified head is remembered. The oldest are removed, and may be notified once too often. */
const MAX_NOTIFIED = 10_000;
/** Emitted lines that wait for their change to be durable; older ones are dropped. */
const MAX_LINES = 1_000;

export interface AnnouncerHost {
  readonly clock: Clock;
  head(id: ActorId): Promise<ActorHead | undefined>;
  /** Ids of that kind, at most a thousand. */
  ids(kind: string): Promise<readonly ActorId[]>;
  /** A caller of this node waits for that message, and is notified with its reply. */
  awaits(messageId: string): boolean;
  fault(error: unknown, actor?: ActorId): void;
}

/** A hinted change that is not durable yet. */
interface PendingHint {
  readonly seq: number;
  readonly status: ActorHead["status"];
  readonly emit: readonly Json[];
}

export class Announcer {
  readonly #host: AnnouncerHost;
  readonly #watchers: Watchers;
  /** The watched topics, with the undo of each watcher. */
  readonly #topics = new MultiMap<string, () => void>();
  readonly #notified = new Map<ActorId, ActorHead>();
  readonly #hints = new Map<ActorId, PendingHint>();
  readonly #reading = new Map<ActorId, Promise<void>>();
  #peers: Peers | undefined;
  readonly #undos: (() => void)[] = [];
  #syncing: Promise<void> | undefined;
  #syncAgain = false;
  #undoResync: () => void = () => undefined;
  #undoGap: () => void = () => undefined;
  #closed = false;

  constructor(host: AnnouncerHost) {
    this.#host = host;
    this.#watchers = new Watchers((error, actor) => host.fault(error, actor));
  }

  watch(topic: string, listener: (change: Change) => void): () => void {
    const undo = this.#watchers.add(topic, listener);
    this.#topics.put(topic, undo);
    return () => {
      undo();
      this.#topics.take(topic, undo);
    };
  }

  join(peers: Peers): void {
    this.#peers = peers;
    this.#undos.push(
      peers.on(TOPIC, (message) => {
        const hint = hintIn(message);
        if (hint !== undefined) this.#onHint(hint.change, hint.of);
        return undefined;
      }),
      peers.onGap(() => this.#onGap(RESYNC_AFTER_GAP_MS)),
    );
    this.#resyncLater();
  }

  #resyncLater(): void {
    this.#undoResync = this.#host.clock.after(RESYNC_MS, () => {
      void this.resync();
      this.#resyncLater();
    });
  }

  close(): void {
    this.#closed = true;
    this.#undoResync();
    this.#undoGap();
    for (const undo of this.#undos.splice(0)) undo();
  }

  /** Notifies of a durable change. A stopped actor is reported after the actors that had to stop before it. */
  announce(change: Change): void | Promise<void> {
    const pending = change.status === "stopped" ? [...this.#reading.values()] : [];
    if (pending.length === 0) return this.#notify(change);
    return this.#notifyAfter(pending, change);
  }

  /** Only for a moment: the pending read may concern another turn that takes its time. */
  async #notifyAfter(pending: readonly Promise<void>[], change: Change): Promise<void> {
    const moment = Promise.withResolvers<void>();
    const undo = this.#host.clock.after(ORDER_MS, moment.resolve);
    await Promise.race([Promise.all(pending), moment.promise]);
    undo();
    this.#notify(change);
  }

  /** Announces what a turn of this node is about to commit. */
  hint(change: Change, of: string): void {
    const { id, seq, head, status, emit } = change;
    this.#peers?.tell(TOPIC, { id, seq, head, status, of, ...(emit === undefined ? {} : { emit: [...emit] }) });
    this.#onHint(change, of);
  }

  /** Reads all watched actors, since changes may have been missed. */
  resync(): Promise<void> {
    // A resync that is running may have read some actors already, before the change that was missed now.
    this.#syncAgain = true;
    this.#syncing ??= this.#runResyncs();
    return this.#syncing;
  }

  #onGap([nextMs, ...later]: readonly number[]): void {
    void this.resync();
    this.#undoGap();
    if (nextMs !== undefined) this.#undoGap = this.#host.clock.after(nextMs, () => this.#onGap(later));
  }

  async #runResyncs(): Promise<void> {
    while (this.#syncAgain && !this.#closed) {
      this.#syncAgain = false;
      try {
        await this.#resync();
      } catch (error) {
        this.#host.fault(error);
      }
    }
    this.#syncing = undefined;
  }

  async #resync(): Promise<void> {
    const ids = new Set<ActorId>();
    for (const topic of this.#topics.keys()) {
      const [kind = "", key] = topic.split("/");
      if (key !== "*") ids.add(`${kind}/${key ?? ""}`);
      else if (kind !== "*") for (const id of await this.#host.ids(kind)) ids.add(id);
      else for (const id of this.#notified.keys()) ids.add(id);
    }
    const left = [...ids];
    const workers = Array.from({ length: CONCURRENCY }, async () => {
      for (let id = left.pop(); id !== undefined && !this.#closed; id = left.pop()) {
        const now = await this.#host.head(id);
        if (now !== undefined) this.#notify({ id, ...now });
      }
    });
    await Promise.all(workers);
  }

  #isWatched(id: ActorId): boolean {
    return this.#watchers.hears(id, `${kindOf(id)}/*`);
  }

  #notify(change: Change): void {
    const { id, seq, head, status, emit } = change;
    if (!this.#isWatched(id)) return;
    const before = this.#notified.get(id);
    const known = before !== undefined && (seq < before.seq || (seq === before.seq && status === before.status));
    if (known && emit === undefined) return;
    this.#notified.delete(id);
    this.#notified.set(id, known ? before : { seq, head, status });
    for (const oldest of this.#notified.keys()) {
      if (this.#notified.size <= MAX_NOTIFIED) break;
      this.#notified.delete(oldest);
    }
    this.#watchers.tell(change, `${kindOf(id)}/*`);
  }

  #onHint({ id, seq, status, emit = [] }: Change, of: string): void {
    if (this.#closed || !this.#isWatched(id) || this.#host.awaits(of)) return;
    const before = this.#hints.get(id);
    this.#hints.set(id, {
      seq: Math.max(seq, before?.seq ?? 0),
      status: before === undefined || seq >= before.seq ? status : before.status,
      emit: emit.length === 0 ? (before?.emit ?? []) : [...(before?.emit ?? []), ...emit].slice(-MAX_LINES),
    });
    if (this.#reading.has(id)) return;
    this.#reading.set(id, this.#readUntil(id));
  }

  /** Reads the actor until it has the hinted change. */
  async #readUntil(id: ActorId): Promise<void> {
    const { clock } = this.#host;
    const givesUpAt = clock.now() + GIVE_UP_MS;
    for (let pauseMs = FIRST_PAUSE_MS; !this.#closed; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      let now: ActorHead | undefined;
      try {
        now = await this.#host.head(id);
      } catch (error) {
        this.#host.fault(error, id);
        break;
      }
      const wanted = this.#hints.get(id);
      if (wanted === undefined) break;
      if (now !== undefined && (now.seq > wanted.seq || (now.seq === wanted.seq && now.status === wanted.status))) {
        this.#endHint(id);
        return this.#notify({ id, ...now, ...(wanted.emit.length === 0 ? {} : { emit: wanted.emit }) });
      }
      if (clock.now() > givesUpAt) break;
      await wait(clock, pauseMs);
    }
    this.#endHint(id);
  }

  /** Both at once, and before anyone is notified: a hint that arrives from now on starts another read. */
  #endHint(id: ActorId): void {
    this.#hints.delete(id);
    this.#reading.delete(id);
  }
}

function hintIn(message: Json): { readonly change: Change; readonly of: string } | undefined {
  if (!isObject(message) || !isActorHead(message)) return undefined;
  const { id, of, emit, seq, head, status } = message;
  if (!isAddress(id) || typeof of !== "string") return undefined;
  return { change: { id, seq, head, status, ...(isLines(emit) ? { emit } : {}) }, of };
}

const isLines = (value: unknown): value is readonly Json[] => Array.isArray(value);
