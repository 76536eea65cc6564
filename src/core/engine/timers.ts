// Owns: when the timers ("wakes") and expiries of actors fire. The store knows the timers of actors on disk, so only the soonest is
// read at the start; each memory actor has one timer in this process.
// Does not own: the turn a timer causes (cell.ts).
import type { ActorId, Clock, Damaged, Due, DuePlace, Entropy, Message, SetWake, Store } from "../contract/index.ts";
import { faults, OK_NULL, unhandledMessage, wakeId } from "../chain/internal.ts";
import { DELIVERY_ATTEMPTS, getOwn, settledNow, tickOfSetBack } from "../contract/internal.ts";
import type { Cell } from "./cell.ts";
import { Job, type OnEnd } from "./job.ts";
import { damageReporter, type OnFault } from "./fault-reports.ts";
import { NO_ACTORS } from "./children.ts";

/** How many fire in one turn of the event loop: to load an actor, run its turn and store it takes some hundred microseconds. */
const PAGE = 32;
const NEVER = Number.MAX_SAFE_INTEGER;
/** Smaller adjustments of the clock are normal. */
const SLACK_MS = 1_000;
/** Due timers of actors that cannot run are checked again after this time. */
const PUT_OFF_MS = 60_000;
/** The longest delay of a timer after the machine slept, or its clock was set forward. */
const WATCH_MS = 60_000;

export interface TimerHost {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly store: Store | undefined;
  readonly retryMs: number;
  /** The kinds that are served here. Due timers of other kinds wait until those are served again. */
  readonly kinds: readonly string[];
  /** The actor's cell, loaded or loading; undefined if its kind is not served here. */
  cell(id: ActorId): Cell | undefined;
  /** Stops the actor, unless it is in use; calls `ended` with whether to try again. */
  expire(cell: Cell, ended: (again: boolean) => void): void;
  readonly fault: OnFault;
}

/** What has happened to a timer that fires again. */
interface Attempts {
  readonly failures: number;
  /** Why it is removed now: it has failed too often. */
  readonly dropped?: string;
}

const FIRST: Attempts = { failures: 0 };

interface Timer {
  readonly at: number;
  readonly run: () => void;
  readonly undo: () => void;
}

export class TimerService {
  readonly #host: TimerHost;
  readonly #damaged: Damaged;
  /** Keys of timers that fire now, or are put off. */
  readonly #busy = new Set<string>();
  /** Actors that have failed or cannot be read: their due timers are put off. */
  readonly #unrunnable = new Set<ActorId>();
  /** Of timers whose actors failed before the next attempt, by message id: a parent's restarts must not make them fail without end. */
  readonly #interrupted = new WeakMap<Cell, Map<string, Attempts>>();
  /** Reading the store starts at this place: all due timers before it, maybe thousands, belong to actors in `#unrunnable`. */
  #readFrom: DuePlace | undefined;
  readonly #timers = new Map<string, Timer>();
  #undoWatch: (() => void) | undefined;
  #armedFor = NEVER;
  /** How far the clock was set back. Repeating timers use the time it would show otherwise, until it shows that. */
  #behind = 0;
  #caughtUpAt = 0;
  #reading = false;
  #closed = false;

  constructor(host: TimerHost) {
    this.#host = host;
    this.#damaged = damageReporter(host.fault, "wake");
    // A jump can only be detected by comparison with an earlier reading.
    settledNow(host.clock);
  }

  /** Fires timers that were missed, and waits for the next one. */
  start(): void {
    if (this.#host.store !== undefined) this.#arm(0);
  }

  /** An operator restarts the actor: its timers have all attempts again. */
  forgive(cell: Cell): void {
    this.#interrupted.delete(cell);
  }

  /** The timers or the expiry of an actor have changed. */
  changed(cell: Cell): void {
    if (this.#closed) return;
    if (!cell.actor.memory) this.#retry(cell);
    const soonest = mayExpire(cell) ? this.#soonest(cell) : NEVER;
    if (!cell.actor.memory) {
      if (soonest < NEVER) this.#arm(soonest);
      return;
    }
    this.#clear(cell.id);
    if (soonest < NEVER) this.#later(cell.id, soonest, () => this.#fireMemory(cell));
  }

  /** Tries timers again that were put off: their times may have changed, or the actor can run again. */
  #retry(cell: Cell): void {
    if (this.#unrunnable.size > 0 && cell.actor.status !== "failed" && this.#unrunnable.delete(cell.id)) this.#readFrom = undefined;
    if (this.#busy.size === 0) return;
    for (const wake of ["", ...Object.keys(cell.actor.extra.wakes)]) {
      const key = keyOf(cell.id, wake);
      if (!this.#timers.has(key)) continue;
      this.#clear(key);
      this.#busy.delete(key);
    }
  }

  /** When a timer fires, by the clock as it is now. A store does not tell `cron`: without it, the answer may be too early. */
  #firesAt({ at, rang, cron, timeZone = "UTC" }: Pick<SetWake, "at" | "rang" | "cron" | "timeZone">): number {
    const now = this.#host.clock.now();
    if (rang === undefined || rang <= now) return at;
    this.#noticeSetBack(rang - now);
    const due = at - this.#behindBy();
    return cron === undefined ? due : tickOfSetBack(cron, timeZone, at, rang, due);
  }

  #noticeSetBack(ms: number): void {
    if (ms <= SLACK_MS || ms <= this.#behindBy()) return;
    this.#behind = ms;
    this.#caughtUpAt = this.#host.clock.now() + ms;
  }

  #behindBy(): number {
    if (this.#behind > 0 && this.#host.clock.now() >= this.#caughtUpAt) this.#behind = 0;
    return this.#behind;
  }

  #soonest(cell: Cell): number {
    const { extra } = cell.actor;
    let soonest = this.#isBusy(cell, "") ? NEVER : this.#expiresAt(cell);
    // Its timers wait until it is restarted.
    if (cell.actor.crashedOut) return soonest;
    for (const name of Object.keys(extra.wakes)) {
      const wake = extra.wakes[name];
      if (wake !== undefined && !this.#isBusy(cell, name)) soonest = Math.min(soonest, this.#firesAt(wake));
    }
    return soonest;
  }

  /** An expiry cannot be undone, so after the clock jumped forward it is checked again later. */
  #expiresAt({ actor: { extra, lastAt } }: Cell): number {
    const { expireMs } = extra.policy;
    if (expireMs === undefined) return NEVER;
    const { clock } = this.#host;
    const [at, now] = [lastAt + expireMs, clock.now()];
    return at <= now && at > settledNow(clock) ? now + PUT_OFF_MS : at;
  }

  #isBusy(cell: Cell, wake: string): boolean {
    return this.#busy.size > 0 && this.#busy.has(keyIn(cell, wake));
  }

  close(): void {
    this.#closed = true;
    for (const { undo } of this.#timers.values()) undo();
    this.#timers.clear();
    this.#undoWatch?.();
  }

  #later(name: string, at: number, run: () => void): void {
    this.#clear(name);
    const { clock } = this.#host;
    const behind = this.#behindBy();
    const ms = Math.max(0, at - clock.now());
    const undo = clock.after(ms, () => {
      this.#timers.delete(name);
      // If it fires early, the clock was set back meanwhile.
      const early = at - clock.now();
      if (early > SLACK_MS) this.#noticeSetBack(behind + early);
      run();
    });
    this.#timers.set(name, { at, run, undo });
    if (ms > WATCH_MS) this.#watch();
  }

  /** Node's timers do not count the time the machine sleeps: if the clock has run ahead of them, all are set again. */
  #watch(): void {
    if (this.#undoWatch !== undefined) return;
    const { clock } = this.#host;
    const expected = clock.now() + WATCH_MS;
    this.#undoWatch = clock.after(WATCH_MS, () => {
      this.#undoWatch = undefined;
      // A copy, since a timer that is set again moves to the end of the map.
      const timers = clock.now() - expected > SLACK_MS ? Array.from(this.#timers) : [];
      for (const [name, { at, run }] of timers) this.#later(name, at, run);
      if (this.#timers.size > 0) this.#watch();
    });
  }

  #clear(name: string): void {
    this.#timers.get(name)?.undo();
    this.#timers.delete(name);
  }

  #fireMemory(cell: Cell): void {
    const now = this.#host.clock.now();
    for (const [name, wake] of Object.entries(cell.actor.extra.wakes))
      if (!cell.actor.crashedOut && !this.#isBusy(cell, name) && this.#firesAt(wake) <= now) this.#fireOneMemory(cell, name);
    if (!mayExpire(cell)) return;
    if (this.#expiresAt(cell) <= now)
      this.#host.expire(cell, (again) => again && this.#later(cell.id, now + this.#host.retryMs, () => this.#fireMemory(cell)));
    else this.changed(cell);
  }

  /** A timer that fails and is retried delays no other. */
  #fireOneMemory(cell: Cell, name: string): void {
    const key = keyIn(cell, name);
    this.#busy.add(key);
    this.#fire(cell, name, this.#attemptsAt(cell, name), () => {
      this.#busy.delete(key);
      if (cell.discarded === undefined) this.changed(cell);
    });
  }

  /** Reads the store at that time, by the clock as it is now: a timer's own time has to go through `#firesAt` first. */
  #arm(at: number): void {
    if (this.#closed || at >= this.#armedFor) return;
    this.#armedFor = at;
    this.#later("", at, () => {
      this.#armedFor = NEVER;
      void this.#readStore();
    });
  }

  async #readStore(): Promise<void> {
    const { store, clock, kinds } = this.#host;
    if (store === undefined || this.#closed) return;
    if (this.#reading) return this.#arm(clock.now() + 1);
    this.#reading = true;
    try {
      const place = await this.#readDue(store, this.#readFrom);
      // The store may be closed by now; the next engine reads what is due.
      if (this.#closed) return;
      const [next] = await store.due(NEVER, 1, this.#damaged, kinds, place);
      if (next) this.#arm(this.#firesAt(next));
    } catch (error) {
      if (this.#closed) return;
      this.#host.fault(error, { where: "wake" });
      this.#arm(clock.now() + this.#host.retryMs);
    } finally {
      this.#reading = false;
    }
  }

  /** Fires all due timers after that place. Returns the place it has reached. */
  async #readDue(store: Store, begun: DuePlace | undefined): Promise<DuePlace | undefined> {
    const { clock, kinds } = this.#host;
    let place = begun;
    let passes = true;
    for (;;) {
      const due = await store.due(clock.now() + this.#behindBy(), PAGE, this.#damaged, kinds, place);
      const fresh = due.filter(({ id, wake }) => this.#claim(id, wake));
      for (const one of fresh) this.#begin(one.id, one.wake, this.#firesAt(one));
      passes &&= this.#readFrom === begun;
      for (const first of firstOfEach(due)) {
        place = first;
        passes &&= this.#unrunnable.has(first.id);
        if (passes) this.#readFrom = begun = first;
        else this.#fireRest(first.id);
      }
      if (due.length < PAGE) return place;
      await this.#yield();
      if (this.#closed) return place;
    }
  }

  /** Lets other events run before the next page. */
  #yield(): Promise<void> {
    return new Promise((resolve) => this.#later("page", this.#host.clock.now(), resolve));
  }

  #claim(id: ActorId, wake: string): boolean {
    const key = keyOf(id, wake);
    if (this.#unrunnable.has(id) || this.#busy.has(key)) return false;
    this.#busy.add(key);
    return true;
  }

  /**
   * The next page starts after all actors of this one, so their other timers are fired from here: those that are due but not in the
   * page, and the next one.
   */
  #fireRest(id: ActorId): void {
    const cell = this.#unrunnable.has(id) ? undefined : this.#host.cell(id);
    if (cell === undefined) return;
    const arm = (): void => {
      if (this.#closed || cell.actor.status !== "live" || cell.lost !== undefined) return;
      this.#fireDue(cell);
      this.#arm(this.#soonest(cell));
    };
    if (cell.loading) void cell.loading.then(arm);
    else arm();
  }

  #fireDue({ actor: { id, extra } }: Cell): void {
    const due = Object.entries(extra.wakes)
      .map(([wake, set]) => ({ wake, at: this.#firesAt(set) }))
      .filter(({ at }) => at <= this.#host.clock.now());
    for (const { wake, at } of due.toSorted((one, other) => one.at - other.at)) if (this.#claim(id, wake)) this.#begin(id, wake, at);
  }

  /** The timer waits until the actor can run again, or until all timers that were put off are tried again. */
  #putOff(id: ActorId, wake: string): void {
    this.#busy.delete(keyOf(id, wake));
    this.#unrunnable.add(id);
    if (this.#timers.has("unrunnable")) return;
    this.#later("unrunnable", this.#host.clock.now() + PUT_OFF_MS, () => {
      this.#unrunnable.clear();
      this.#readFrom = undefined;
      this.#arm(this.#host.clock.now());
    });
  }

  #begin(id: ActorId, wake: string, at: number): void {
    const key = keyOf(id, wake);
    const now = (): number => this.#host.clock.now();
    const ended = (): void => {
      this.#busy.delete(key);
      this.#arm(now());
    };
    // Not due yet: the query was made with the time before the clock was set back.
    if (at > now()) return this.#later(key, at, ended);
    const cell = this.#host.cell(id);
    // The store ignores `kinds`.
    if (cell === undefined) return this.#putOff(id, wake);
    const begin = (): void => {
      if (cell.lost && faults.isPassing(cell.lost)) return this.#later(key, now() + this.#host.retryMs, ended);
      const timer = getOwn(cell.actor.extra.wakes, wake);
      if (cell.lost || (cell.actor.status === "failed" && (timer !== undefined || !cell.actor.crashedOut))) return this.#putOff(id, wake);
      if (timer !== undefined) {
        const firesAt = this.#firesAt(timer);
        return firesAt > now() ? this.#later(key, firesAt, ended) : this.#fire(cell, wake, this.#attemptsAt(cell, wake), ended);
      }
      // An expiry, unless the actor has been busy since its last commit.
      const expiresAt = this.#expiresAt(cell);
      if (!mayExpire(cell) || expiresAt >= NEVER) return this.#later(key, now() + this.#host.retryMs, ended);
      if (expiresAt > now()) return this.#later(key, Math.max(expiresAt, at), ended);
      this.#host.expire(cell, (again) => (again ? this.#later(key, now() + this.#host.retryMs, ended) : ended()));
    };
    if (cell.loading) void cell.loading.then(begin);
    else begin();
  }

  /** The attempts before the actor failed, if its parent has restarted it since. */
  #attemptsAt(cell: Cell, name: string): Attempts {
    const interrupted = this.#interrupted.get(cell);
    if (interrupted === undefined) return FIRST;
    const id = wakeId(cell.actor.life, name, cell.actor.extra.wakes[name]?.at ?? 0);
    const attempts = interrupted.get(id) ?? FIRST;
    interrupted.delete(id);
    return attempts;
  }

  /** Sends the actor the timer's message, or removes the timer. */
  #fire(cell: Cell, name: string, attempts: Attempts, ended: () => void): void {
    const { clock, entropy, retryMs } = this.#host;
    const wake = cell.actor.extra.wakes[name];
    if (this.#closed || wake === undefined) return ended();
    const firedIn = cell.actor.life;
    const message = (life: string): Message => ({
      id: wakeId(life, name, wake.at),
      to: cell.id,
      action: wake.action,
      args: wake.args ?? null,
      at: clock.now(),
      seed: entropy.hex(16),
      from: cell.id,
      ...(wake.cause === undefined ? {} : { cause: wake.cause }),
    });
    const key = keyIn(cell, name);
    const { failures, dropped } = attempts;
    const again = (afterMs: number, next: Attempts): void =>
      this.#later(`fire ${key}`, clock.now() + afterMs, () => {
        const now = this.#host.cell(cell.id);
        if (now === undefined) return ended();
        // Another life has timers of its own, and they have not failed.
        const fire = (): void => (now.actor.life === firedIn ? this.#fire(now, name, next, ended) : ended());
        if (now.loading) void now.loading.then(fire);
        else fire();
      });
    const onEnd: OnEnd = (reply, error) => {
      // The message was checked when the timer was set, but newer code may not know it.
      const unhandled = unhandledMessage(message(""), reply);
      if (unhandled !== undefined) this.#host.fault(unhandled, { where: "wake", actor: cell.id, action: wake.action });
      if (error?.code === "ACTOR_FAILED" && failures > 0) this.#interrupt(cell, wakeId(firedIn, name, wake.at), attempts);
      if (error === undefined || error.code === "ACTOR_FAILED" || this.#closed) return ended();
      if (faults.isPassing(error)) return again(retryMs / 2, attempts);
      const count = failures + 1;
      // Like a message (C5), a timer is dropped after three failures; an event records that.
      if (count < DELIVERY_ATTEMPTS) again(retryMs * 4 ** failures, { failures: count });
      else if (count === DELIVERY_ATTEMPTS) again(0, { failures: count, dropped: `${error.code}: ${error.message}` });
      else ended();
    };
    const { actor, id } = cell;
    cell.push({
      run: () => {
        const { status, extra, life, why } = actor;
        const due = extra.wakes[name];
        if (status === "failed") return onEnd(undefined, why ?? faults.stopped(id));
        // Cancelled or put off meanwhile.
        if (status !== "live" || due === undefined || this.#firesAt(due) > clock.now()) return onEnd(OK_NULL, undefined);
        const job = new Job(message(life));
        job.wake = name;
        job.bounded = false;
        job.onEnd = onEnd;
        if (dropped === undefined) cell.receive(job);
        else cell.conclude(job, actor, false, { record: { dropped } }, NO_ACTORS);
      },
      abandon: (error) => onEnd(undefined, error),
    });
  }

  #interrupt(cell: Cell, id: string, attempts: Attempts): void {
    const interrupted = this.#interrupted.get(cell);
    if (interrupted === undefined) this.#interrupted.set(cell, new Map([[id, attempts]]));
    else interrupted.set(id, attempts);
  }
}

/** A failed actor expires too unless it is restarted, or all of them would stay in memory. */
const mayExpire = (cell: Cell): boolean => cell.actor.status === "live" || cell.actor.crashedOut;

/** The first of each actor. */
function firstOfEach(due: readonly Due[]): readonly Due[] {
  const seen = new Set<ActorId>();
  return due.filter(({ id }) => !seen.has(id) && seen.add(id));
}

const keyOf = (id: ActorId, wake: string): string => `${id}\n${wake}`;

/** A memory actor's key names its life: the next life starts before all timers of the last one have ended. */
const keyIn = ({ actor: { memory, id, life } }: Cell, wake: string): string => (memory ? `${life}\n${wake}` : keyOf(id, wake));
