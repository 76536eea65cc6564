/**
 * Wakes and expiries. Of actors on disk the store knows what is due, so nothing is
 * read at start but the soonest; a memory actor has one timer of its own.
 */
import type { ActorId, Clock, Damaged, Due, DuePlace, Entropy, Message, SetWake, Store } from "../contract/index.ts";
import type { Cell } from "./cell.ts";
import { faults, misunderstood, wakeId } from "../chain/internal.ts";
import { settledNow } from "../contract/internal.ts";
import { damageTo } from "./damage.ts";
import type { Host } from "./host.ts";

const MOST_FAILURES = 3;
/** Begun in one round of the event loop: to wake one, to run its turn and to write it take some hundred microseconds. */
const PAGE = 32;
const FAR = Number.MAX_SAFE_INTEGER;
/** Clocks are set right by less all the time. */
const SLACK_MS = 1_000;
/** What is due of actors that cannot be woken is looked at again after this. */
const PUT_OFF_MS = 60_000;
/** How late a wake is at most after the machine slept, or its clock was set forward. */
const WATCH_MS = 60_000;

export interface AlarmHost extends Pick<Host, "fault"> {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly store: Store | undefined;
  readonly retryMs: number;
  /** Every kind that is known here: what is due of others waits until they are known again. */
  readonly kinds: readonly string[];
  /** The actor's cell, loaded or loading; undefined where its kind is not known here. */
  cell(id: ActorId): Cell | undefined;
  /** Stops it, unless it is used just now; `ended` is told whether it must be tried again. */
  expire(cell: Cell, ended: (again: boolean) => void): void;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
  readonly undo: () => void;
}

export class Alarm {
  readonly #host: AlarmHost;
  readonly #damaged: Damaged;
  /** Being rung, or put off. */
  readonly #busy = new Set<string>();
  /** They have failed or cannot be read: what is due of them is put off. */
  readonly #unfit = new Set<ActorId>();
  /** All that is due before it is of such actors, and not read for each wake of the others: there may be thousands. */
  #after: DuePlace | undefined;
  readonly #timers = new Map<string, Timer>();
  #undoWatch: (() => void) | undefined;
  #at = FAR;
  /** The clock was set back by this much: repeating wakes go by what it would say, until it says so. */
  #behind = 0;
  #caughtUpAt = 0;
  #reading = false;
  #closed = false;

  constructor(host: AlarmHost) {
    this.#host = host;
    this.#damaged = damageTo(host.fault, "wake");
    // A jump is only noticed against an earlier look.
    settledNow(host.clock);
  }

  /** Looks for what was missed, and for what comes next. */
  start(): void {
    if (this.#host.store !== undefined) this.#arm(0);
  }

  timed(cell: Cell): void {
    if (this.#closed) return;
    if (!cell.memory) this.#lookAnew(cell);
    const soonest = mayEnd(cell) ? this.#soonest(cell) : FAR;
    if (!cell.memory) {
      if (soonest < FAR) this.#arm(soonest);
      return;
    }
    this.#clear(cell.id);
    if (soonest < FAR) this.#later(cell.id, soonest, () => this.#ringMemory(cell));
  }

  /** At what was put off: it may be another time now, or an actor that works again. */
  #lookAnew(cell: Cell): void {
    if (this.#unfit.size > 0 && cell.status !== "failed" && this.#unfit.delete(cell.id)) this.#after = undefined;
    if (this.#busy.size === 0) return;
    for (const wake of ["", ...Object.keys(cell.extra.wakes)]) {
      const key = keyOf(cell.id, wake);
      if (!this.#timers.has(key)) continue;
      this.#clear(key);
      this.#busy.delete(key);
    }
  }

  /** When a wake comes by the clock as it is. */
  #comesAt({ at, rang }: Pick<SetWake, "at" | "rang">): number {
    const now = this.#host.clock.now();
    if (rang === undefined || rang <= now) return at;
    this.#notice(rang - now);
    return at - this.#behindBy();
  }

  #notice(ms: number): void {
    if (ms <= SLACK_MS || ms <= this.#behindBy()) return;
    this.#behind = ms;
    this.#caughtUpAt = this.#host.clock.now() + ms;
  }

  #behindBy(): number {
    if (this.#behind > 0 && this.#host.clock.now() >= this.#caughtUpAt) this.#behind = 0;
    return this.#behind;
  }

  #soonest(cell: Cell): number {
    const { extra } = cell;
    let soonest = this.#isBusy(cell, "") ? FAR : this.#expiresAt(cell);
    // Its wakes wait until it works again.
    if (cell.broken) return soonest;
    for (const name of Object.keys(extra.wakes)) {
      const wake = extra.wakes[name];
      if (wake !== undefined && !this.#isBusy(cell, name)) soonest = Math.min(soonest, this.#comesAt(wake));
    }
    return soonest;
  }

  /** After a jump of the clock an expiry is looked at again later: it cannot be undone, so the new time has to last first. */
  #expiresAt({ extra, lastAt }: Cell): number {
    const { expireMs } = extra.policy;
    if (expireMs === undefined) return FAR;
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
      // A timer that is early is one whose clock was set back meanwhile.
      const early = at - clock.now();
      if (early > SLACK_MS) this.#notice(behind + early);
      run();
    });
    this.#timers.set(name, { at, run, undo });
    if (ms > WATCH_MS) this.#watch();
  }

  /** A timer counts the time that the machine is awake, and knows nothing of the clock: where that has run ahead, all are set anew. */
  #watch(): void {
    if (this.#undoWatch !== undefined) return;
    const { clock } = this.#host;
    const expected = clock.now() + WATCH_MS;
    this.#undoWatch = clock.after(WATCH_MS, () => {
      this.#undoWatch = undefined;
      // A copy: what is set anew comes behind all others.
      const timers = clock.now() - expected > SLACK_MS ? Array.from(this.#timers) : [];
      for (const [name, { at, run }] of timers) this.#later(name, at, run);
      if (this.#timers.size > 0) this.#watch();
    });
  }

  #clear(name: string): void {
    this.#timers.get(name)?.undo();
    this.#timers.delete(name);
  }

  #ringMemory(cell: Cell): void {
    const now = this.#host.clock.now();
    for (const [name, wake] of Object.entries(cell.extra.wakes))
      if (!cell.broken && !this.#isBusy(cell, name) && this.#comesAt(wake) <= now) this.#beginMemory(cell, name);
    if (!mayEnd(cell)) return;
    if (this.#expiresAt(cell) <= now)
      this.#host.expire(cell, (again) => again && this.#later(cell.id, now + this.#host.retryMs, () => this.#ringMemory(cell)));
    else this.timed(cell);
  }

  /** One that fails, and is tried again, holds up no other. */
  #beginMemory(cell: Cell, name: string): void {
    const key = keyIn(cell, name);
    this.#busy.add(key);
    this.#ring(cell, name, 0, () => {
      this.#busy.delete(key);
      if (!cell.forgotten) this.timed(cell);
    });
  }

  /** `at`: by the clock as it is, so a wake's time goes through `#comesAt` first. */
  #arm(at: number): void {
    if (this.#closed || at >= this.#at) return;
    this.#at = at;
    this.#later("", at, () => {
      this.#at = FAR;
      void this.#round();
    });
  }

  async #round(): Promise<void> {
    const { store, clock, kinds } = this.#host;
    if (store === undefined || this.#closed) return;
    if (this.#reading) return this.#arm(clock.now() + 1);
    this.#reading = true;
    try {
      const place = await this.#readDue(store, this.#after);
      // The store may be closed by now, and the next engine finds what is due.
      if (this.#closed) return;
      const [next] = await store.due(FAR, 1, this.#damaged, kinds, place);
      if (next) this.#arm(this.#comesAt(next));
    } catch (error) {
      if (this.#closed) return;
      this.#host.fault(error, { where: "wake" });
      this.#arm(clock.now() + this.#host.retryMs);
    } finally {
      this.#reading = false;
    }
  }

  /** Begins all that is due behind that place, and tells where that ends. */
  async #readDue(store: Store, begun: DuePlace | undefined): Promise<DuePlace | undefined> {
    const { clock, kinds } = this.#host;
    let place = begun;
    let passes = true;
    for (;;) {
      const due = await store.due(clock.now() + this.#behindBy(), PAGE, this.#damaged, kinds, place);
      const fresh = due.filter(({ id, wake }) => this.#claim(id, wake));
      for (const one of fresh) this.#begin(one.id, one.wake, this.#comesAt(one));
      passes &&= this.#after === begun;
      for (const first of firstOfEach(due)) {
        place = first;
        passes &&= this.#unfit.has(first.id);
        if (passes) this.#after = begun = first;
        else this.#armOthers(first.id);
      }
      if (due.length < PAGE) return place;
      await this.#breath();
      if (this.#closed) return place;
    }
  }

  /** Others have their turn before the next page. */
  #breath(): Promise<void> {
    return new Promise((resolve) => this.#later("page", this.#host.clock.now(), resolve));
  }

  #claim(id: ActorId, wake: string): boolean {
    const key = keyOf(id, wake);
    if (this.#unfit.has(id) || this.#busy.has(key)) return false;
    this.#busy.add(key);
    return true;
  }

  /**
   * The store is asked for what comes behind all actors of which something is due: what else is due of those, beyond the page, and
   * what comes next, is known here.
   */
  #armOthers(id: ActorId): void {
    const cell = this.#unfit.has(id) ? undefined : this.#host.cell(id);
    if (cell === undefined) return;
    const arm = (): void => {
      if (this.#closed || cell.status !== "live" || cell.lost !== undefined) return;
      this.#beginOthers(cell);
      this.#arm(this.#soonest(cell));
    };
    if (cell.loading) void cell.loading.then(arm);
    else arm();
  }

  #beginOthers({ id, extra }: Cell): void {
    const due = Object.entries(extra.wakes)
      .map(([wake, set]) => ({ wake, at: this.#comesAt(set) }))
      .filter(({ at }) => at <= this.#host.clock.now());
    for (const { wake, at } of due.toSorted((one, other) => one.at - other.at)) if (this.#claim(id, wake)) this.#begin(id, wake, at);
  }

  /** What is due of it waits until it works again, or is looked at once more with all others. */
  #putOff(id: ActorId, wake: string): void {
    this.#busy.delete(keyOf(id, wake));
    this.#unfit.add(id);
    if (this.#timers.has("unfit")) return;
    this.#later("unfit", this.#host.clock.now() + PUT_OFF_MS, () => {
      this.#unfit.clear();
      this.#after = undefined;
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
    // The store was asked for more than is due, since the clock was set back: it comes by itself.
    if (at > now()) return this.#later(key, at, ended);
    const cell = this.#host.cell(id);
    // From a store that does not look at kinds.
    if (cell === undefined) return this.#putOff(id, wake);
    const begin = (): void => {
      if (cell.lost && faults.isPassing(cell.lost)) return this.#later(key, now() + this.#host.retryMs, ended);
      const isWake = Object.hasOwn(cell.extra.wakes, wake);
      if (cell.lost || (cell.status === "failed" && (isWake || !cell.broken))) return this.#putOff(id, wake);
      if (isWake) return this.#ring(cell, wake, 0, ended);
      // Not a wake: an expiry, unless the actor has been busy since its last commit.
      const expiresAt = this.#expiresAt(cell);
      if (!mayEnd(cell) || expiresAt >= FAR) return this.#later(key, now() + this.#host.retryMs, ended);
      if (expiresAt > now()) return this.#later(key, Math.max(expiresAt, at), ended);
      this.#host.expire(cell, (again) => (again ? this.#later(key, now() + this.#host.retryMs, ended) : ended()));
    };
    if (cell.loading) void cell.loading.then(begin);
    else begin();
  }

  #ring(cell: Cell, name: string, failures: number, ended: () => void, dropped?: string): void {
    const { clock, entropy, retryMs } = this.#host;
    const wake = cell.extra.wakes[name];
    if (this.#closed || wake === undefined) return ended();
    const rungIn = cell.life;
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
    const again = (afterMs: number, count: number, why?: string): void =>
      this.#later(`ring ${key}`, clock.now() + afterMs, () => {
        const now = this.#host.cell(cell.id);
        if (now === undefined) return ended();
        // Another life has wakes of its own, and they have not failed.
        const ring = (): void => (now.life === rungIn ? this.#ring(now, name, count, ended, why) : ended());
        if (now.loading) void now.loading.then(ring);
        else ring();
      });
    cell.ring({
      name,
      isDue: (due) => this.#comesAt(due) <= clock.now(),
      message,
      ended: (reply, error) => {
        // What was checked when it was set may be another message to newer code.
        const stray = misunderstood(message(""), reply);
        if (stray !== undefined) this.#host.fault(stray, { where: "wake", actor: cell.id, action: wake.action });
        if (error === undefined || error.code === "ACTOR_FAILED" || this.#closed) return ended();
        if (faults.isPassing(error)) return again(retryMs / 2, failures, dropped);
        const count = failures + 1;
        // C5's measure for wakes: after three failures it is over, and the event says so.
        if (count < MOST_FAILURES) again(retryMs * 4 ** failures, count);
        else if (count === MOST_FAILURES) again(0, count, `${error.code}: ${error.message}`);
        else ended();
      },
      dropped,
    });
  }
}

/** When its time is over: also where nobody has mended it, or all that failed would stay in memory. */
const mayEnd = (cell: Cell): boolean => cell.status === "live" || cell.broken;

/** Of each actor its first. */
function firstOfEach(due: readonly Due[]): readonly Due[] {
  const met = new Set<ActorId>();
  return due.filter(({ id }) => !met.has(id) && met.add(id));
}

const keyOf = (id: ActorId, wake: string): string => `${id}\n${wake}`;

/** Of what is in memory by its life: the next begins before all timers of the last have run. */
const keyIn = ({ memory, id, life }: Cell, wake: string): string => (memory ? `${life}\n${wake}` : keyOf(id, wake));
