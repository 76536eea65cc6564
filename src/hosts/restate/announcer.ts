/**
 * Who is told of what has changed, whichever node changed it.
 *
 * C2: what another node says, and what a turn of this one is about to leave, are hints only: the actor is asked before anybody is
 * told. A hint may be lost; then the actors that are watched are asked what they are now.
 */
import { Watchers, type ActorId, type Change, type Clock, type Json, type Peers } from "../../core/contract/index.ts";
import { isAddress, kindOf } from "../../core/contract/internal.ts";
import { isObject } from "./handler-inputs.ts";
import { isActorHead, type ActorHead } from "./outcome.ts";

const TOPIC = "changed";
/** A turn says what it leaves before that is durable: asked again after this, doubling. */
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 500;
/** What is not durable after this long is never told of: its turn was run again elsewhere, or failed. */
const GIVE_UP_MS = 30_000;
/** With other nodes: how long what was lost may go unnoticed, should nothing tell that it was. */
const RESYNC_MS = 15_000;
/** What was missed may not be durable yet, and nobody tells of it again: after a gap, asked again so much later each time. */
const RESYNC_AFTER_GAP_MS: readonly number[] = [250, 1_000, 4_000];
/** How long the end of an actor waits for what may have ended before it. */
const ORDER_MS = 1_000;
/** Asked at once when something may have been missed. */
const CONCURRENCY = 16;
/** Actors told of; the oldest are forgotten, and told of once too often at worst. */
const MAX_NOTIFIED = 10_000;
/** Lines to tell with a change that is being looked for; older ones are dropped. */
const MAX_LINES = 1_000;

export interface AnnouncerHost {
  readonly clock: Clock;
  head(id: ActorId): Promise<ActorHead | undefined>;
  /** Ids of that kind, the first thousand. */
  ids(kind: string): Promise<readonly ActorId[]>;
  /** A caller of this node waits for that message: told with its reply. */
  awaits(messageId: string): boolean;
  fault(error: unknown, actor?: ActorId): void;
}

/** A change that is being looked for. */
interface PendingHint {
  readonly seq: number;
  readonly status: ActorHead["status"];
  readonly emit: readonly Json[];
}

export class Announcer {
  readonly #host: AnnouncerHost;
  readonly #watchers: Watchers;
  readonly #topics = new Map<string, number>();
  readonly #notified = new Map<ActorId, ActorHead>();
  readonly #hints = new Map<ActorId, PendingHint>();
  readonly #reading = new Map<ActorId, Promise<void>>();
  #peers: Peers | undefined;
  readonly #undos: (() => void)[] = [];
  #syncing: Promise<void> | undefined;
  #syncAgain = false;
  #undoResync: () => void = () => undefined;
  #closed = false;

  constructor(host: AnnouncerHost) {
    this.#host = host;
    this.#watchers = new Watchers((error, actor) => host.fault(error, actor));
  }

  watch(topic: string, listener: (change: Change) => void): () => void {
    const undo = this.#watchers.add(topic, listener);
    this.#topics.set(topic, (this.#topics.get(topic) ?? 0) + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      undo();
      const left = (this.#topics.get(topic) ?? 1) - 1;
      if (left > 0) this.#topics.set(topic, left);
      else this.#topics.delete(topic);
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
    const later = (): void => {
      const undo = this.#host.clock.after(RESYNC_MS, () => {
        this.#undos.splice(this.#undos.indexOf(undo), 1);
        void this.resync();
        if (!this.#closed) later();
      });
      this.#undos.push(undo);
    };
    later();
  }

  close(): void {
    this.#closed = true;
    this.#undoResync();
    for (const undo of this.#undos.splice(0)) undo();
  }

  /** What is durable. An actor that has stopped is told of after what had to end before it. */
  announce(change: Change): void | Promise<void> {
    const pending = change.status === "stopped" ? [...this.#reading.values()] : [];
    if (pending.length === 0) return this.#notify(change);
    return this.#notifyAfter(pending, change);
  }

  /** For a moment only: what is looked for may be another's turn that takes its time. */
  async #notifyAfter(pending: readonly Promise<void>[], change: Change): Promise<void> {
    const moment = Promise.withResolvers<void>();
    const undo = this.#host.clock.after(ORDER_MS, moment.resolve);
    await Promise.race([Promise.all(pending), moment.promise]);
    undo();
    this.#notify(change);
  }

  /** What a turn of this node is about to leave. */
  hint(change: Change, of: string): void {
    const { id, seq, head, status, emit } = change;
    this.#peers?.tell(TOPIC, { id, seq, head, status, of, ...(emit === undefined ? {} : { emit: [...emit] }) });
    this.#onHint(change, of);
  }

  /** Something may have been missed: all that is watched is asked what it is. */
  resync(): Promise<void> {
    // Some have been asked already by whoever runs now: before what is missed since then.
    this.#syncAgain = true;
    this.#syncing ??= this.#runResyncs();
    return this.#syncing;
  }

  #onGap([nextMs, ...later]: readonly number[]): void {
    void this.resync();
    this.#undoResync();
    if (nextMs !== undefined) this.#undoResync = this.#host.clock.after(nextMs, () => this.#onGap(later));
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

  /** Until it is what was hinted. */
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
      await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
    }
    this.#endHint(id);
  }

  /** Both at once, and before anybody is told: a hint that comes from here on is asked about anew. */
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
