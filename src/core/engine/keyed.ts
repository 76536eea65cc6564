/** C4: a keyed call that was applied gets its first reply again, also while the first still runs. */
import { EngineError } from "../contract/index.ts";
import type { ActorId, CallOptions, Clock, Json, Message, Remembered, Reply, Store } from "../contract/index.ts";
import { asked } from "./asked.ts";
import type { Cell } from "./cell.ts";
import { settledNow, safeCall } from "../contract/internal.ts";
import { callHash, type CallKey, faults, keptFor, scopedKey } from "../chain/internal.ts";
import { Job } from "./job.ts";
import type { Laters } from "./laters.ts";

/** Per memory actor: a caller with ever new keys must not fill the memory. */
const MOST_REMEMBERED = 1_000;

export interface KeyedHost {
  readonly clock: Clock;
  readonly store: Store | undefined;
  readonly laters: Laters;
  /** The actor's cell, loaded or loading; undefined where there is none and `message` would not begin one. */
  cellFor(message: Message): Cell | undefined;
  /** The arguments without what is secret: no hash of that may be kept, which could be guessed. */
  shown(message: Message): Json;
  /** Puts it before its actor, cancelled by `signal` up to the commit. */
  submit(job: Job, signal: AbortSignal): void;
  /** Of a caller's own listener. */
  fault(error: unknown, of: Message): void;
}

interface First {
  readonly call: string;
  readonly reply: Promise<Reply>;
  readonly abort: AbortController;
  readonly callers: Set<Caller>;
}

type Caller = Pick<CallOptions, "signal" | "onProgress" | "onLog">;

export class Keyed {
  readonly #host: KeyedHost;
  readonly #running = new Map<string, First>();
  readonly #memory = new Map<ActorId, Map<string, Remembered>>();

  constructor(host: KeyedHost) {
    this.#host = host;
  }

  call(message: Message, key: string, options: CallOptions): Promise<Reply> {
    let named: CallKey;
    try {
      named = { key: scopedKey(message.viewer, message.from, key), call: callHash(message.action, this.#host.shown(message)) };
    } catch (error) {
      return Promise.reject(faults.fromStore(error));
    }
    return this.#call(message, named, options);
  }

  #call(message: Message, named: CallKey, options: CallOptions): Promise<Reply> {
    const { key: scoped, call } = named;
    const place = `${message.to}\n${scoped}`;
    let first = this.#running.get(place);
    // Its callers have left: where that has ended it, whoever comes now begins anew.
    if (first?.abort.signal.aborted) {
      const again = (): Promise<Reply> => this.#call(message, named, options);
      return first.reply.then(again, (error: unknown) => {
        if (isLeft(error)) return again();
        throw error;
      });
    }
    if (first !== undefined && first.call !== call) return Promise.reject(faults.keyReused(message.to));
    const caller = { ...options };
    if (first === undefined) {
      const abort = new AbortController();
      const callers = new Set<Caller>([caller]);
      const reply = this.#first(message, named, this.#heardBy(callers, message, options), abort.signal).finally(() =>
        this.#running.delete(place),
      );
      // Each caller has a promise of its own below; when all have left, nobody may be there to see it fail.
      reply.catch(() => undefined);
      first = { call, reply, abort, callers };
      this.#running.set(place, first);
    }
    return this.#join(first, message, caller);
  }

  /** Of its call all hear who repeat it: the first may be gone without a word, and its connection not yet known to be broken. */
  #heardBy(callers: ReadonlySet<Caller>, message: Message, options: CallOptions): CallOptions {
    const tell = (how: (caller: Caller) => unknown): void => {
      for (const caller of callers)
        safeCall(
          () => how(caller),
          (error) => this.#host.fault(error, message),
        );
    };
    return {
      ...options,
      onProgress: (...step) => tell(({ onProgress }) => onProgress?.(...step)),
      onLog: (...line) => tell(({ onLog }) => onLog?.(...line)),
    };
  }

  remember(id: ActorId, replies: readonly Remembered[]): void {
    const known = this.#memory.get(id) ?? new Map<string, Remembered>();
    this.#memory.set(id, known);
    const now = settledNow(this.#host.clock);
    for (const remembered of replies) known.set(remembered.key, remembered);
    for (const [key, { until }] of known) {
      if (until > now && known.size <= MOST_REMEMBERED) break;
      known.delete(key);
    }
  }

  forget(id: ActorId): void {
    this.#memory.delete(id);
  }

  /** Each caller may leave by itself; the last to leave takes the call along, if it can still be taken back. */
  async #join(first: First, message: Message, caller: Caller): Promise<Reply> {
    const { signal } = caller;
    first.callers.add(caller);
    const undo: (() => void)[] = [];
    const left = new Promise<EngineError>((resolve) => {
      const leave = (): void => resolve(faults.cancelled(message.to));
      if (signal?.aborted) leave();
      signal?.addEventListener("abort", leave, { once: true });
      undo.push(() => signal?.removeEventListener("abort", leave));
      const { deadline: at } = message;
      if (at !== undefined)
        undo.push(this.#host.clock.after(Math.max(0, at - this.#host.clock.now()), () => resolve(faults.deadline(message.to))));
    });
    try {
      const outcome = await Promise.race([first.reply, left]);
      if (!(outcome instanceof Error)) return outcome;
      if (first.callers.size > 1) throw outcome;
      first.abort.abort(outcome);
      return await first.reply;
    } finally {
      first.callers.delete(caller);
      for (const run of undo) run();
    }
  }

  async #first(message: Message, named: CallKey, options: CallOptions, signal: AbortSignal): Promise<Reply> {
    const { store } = this.#host;
    const { key: scoped } = named;
    const cell = this.#host.cellFor(message);
    const job = new Job(message, options);
    job.key = named;
    if (cell !== undefined) {
      for (;;) {
        // To wait for nothing takes a moment too, in which the cell may have begun to load.
        while (cell.loading !== undefined) await cell.loading;
        if (cell.lost) throw cell.lost;
        // From here to the end of the round nothing else runs: what is due cannot be answered unheard.
        const { pending } = cell.extra;
        const due = Object.keys(pending).find((id) => keptFor(pending[id]).key === scoped);
        if (due !== undefined) {
          refuseOther(message.to, keptFor(pending[due]).call, named);
          return this.#waitFor(due, job, signal);
        }
        // On its way to the disk an answer is neither due any more nor remembered yet.
        const answering = cell.answering(scoped);
        if (answering === undefined) break;
        await answering;
      }
      const known = cell.memory ? this.#remembered(message.to, scoped) : await asked(store?.remembered(message.to, scoped));
      if (known !== undefined) {
        refuseOther(message.to, known.call, named);
        return known.reply;
      }
    }
    this.#host.submit(job, signal);
    return job.promise();
  }

  /** A message that was told "later": its caller may be another process's, its answer is this job's too. */
  #waitFor(messageId: string, job: Job, signal: AbortSignal): Promise<Reply> {
    const { laters } = this.#host;
    laters.add(messageId, job);
    const left = (): void => {
      laters.leave(messageId, job);
      job.fail(faults.cancelled(job.message.to, true));
    };
    signal.addEventListener("abort", left, { once: true });
    job.guard = { lift: () => signal.removeEventListener("abort", left) };
    return job.promise();
  }

  #remembered(id: ActorId, scoped: string): Kept | undefined {
    const known = this.#memory.get(id)?.get(scoped);
    return known !== undefined && known.until > settledNow(this.#host.clock) ? known : undefined;
  }
}

type Kept = Pick<Remembered, "call" | "reply">;

/** A key stands for one call: told the reply of another, its caller would take it for its own. */
function refuseOther(id: ActorId, first: string | undefined, { call }: CallKey): void {
  if (first !== undefined && first !== "" && first !== call) throw faults.keyReused(id);
}

const isLeft = (error: unknown): boolean => error instanceof EngineError && (error.code === "CANCELLED" || error.code === "DEADLINE");
