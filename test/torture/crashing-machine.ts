import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Behaviour, type Clock, type Entropy, type Store, systemClock } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { sqliteStore } from "../../src/core/store/index.ts";
import { type Fault, type FaultPlace, FaultyStore, SimulatedEntropy } from "../../src/testing/index.ts";
import type { Seeded } from "./seed.ts";

/** A clock whose timers die with their process. */
const mortalClock = (): Clock & { die(): void } => {
  const undos = new Set<() => void>();
  let dead = false;
  return {
    now: () => systemClock.now(),
    after(ms, run) {
      if (dead) return () => undefined;
      const undo = systemClock.after(ms, () => {
        undos.delete(undo);
        run();
      });
      undos.add(undo);
      return undo;
    },
    die() {
      dead = true;
      for (const undo of undos) undo();
    },
  };
};

/** How a process ends, and what the next one finds. */
type End =
  /** Before or after an operation of the store. */
  | "around"
  /** Inside a transaction, which the database file then rolls back by itself. */
  | "inside"
  /** The power fails inside a transaction: the next process has the files as they were. */
  | "image"
  /** The power fails while a commit is written: any part of its frames is missing. */
  | "torn";

const WRITTEN: ReadonlySet<FaultPlace> = new Set<FaultPlace>(["after commit", "after settle", "after enqueue"]);

/** One process, from its start to its crash. */
export interface Life {
  readonly engine: LocalEngine;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly faulty: FaultyStore;
}

/** A machine whose processes run these kinds on one disk, and crash. A loss of power may damage the files. */
export class Machine implements AsyncDisposable {
  /** How often it crashed, by place. */
  readonly places = new Map<string, number>();
  crashes = 0;
  /** The store on the disk, independent of processes. */
  disk: Store;
  readonly #root = mkdtempSync(join(tmpdir(), "troupe-crash-"));
  readonly #random: Seeded;
  readonly #kinds: readonly Behaviour[];
  #directory = join(this.#root, "0");
  #images = 0;
  #beforeCommit: (() => void) | undefined;
  #logBefore = 0;
  #tame = false;

  constructor(random: Seeded, kinds: readonly Behaviour[]) {
    this.#random = random;
    this.#kinds = kinds;
    this.disk = this.#mounted();
  }

  get directory(): string {
    return this.#directory;
  }

  /** From now on nothing fails. */
  tame(): void {
    this.#tame = true;
  }

  #mounted(): Store {
    return sqliteStore({ directory: this.#directory, beforeCommit: () => this.#beforeCommit?.() });
  }

  async remount(): Promise<void> {
    await this.disk[Symbol.asyncDispose]();
    this.disk = this.#mounted();
  }

  get #log(): string {
    return join(this.#directory, "troupe.db-wal");
  }

  #logBytes(): number {
    return existsSync(this.#log) ? statSync(this.#log).size : 0;
  }

  #image(logBytes: number): string {
    this.#images += 1;
    const copy = join(this.#root, String(this.#images));
    mkdirSync(copy);
    for (const name of ["troupe.db", "troupe.db-wal"])
      if (existsSync(join(this.#directory, name))) copyFileSync(join(this.#directory, name), join(copy, name));
    if (existsSync(join(copy, "troupe.db-wal"))) truncateSync(join(copy, "troupe.db-wal"), logBytes);
    return copy;
  }

  /** Undefined if it died before it was ready. `dead` resolves once the disk is as the next process finds it. */
  async begin(life: number): Promise<{ readonly life: Life | undefined; readonly dead: Promise<void> }> {
    const random = this.#random;
    const end: End = this.#tame
      ? "around"
      : (random.pick<End>(["around", "around", "around", "inside", "inside", "image", "torn"]) ?? "around");
    let steps = this.#tame ? Number.POSITIVE_INFINITY : 1 + random.under(random.under(4) === 0 ? 8 : 70);
    let image: string | undefined;
    let halfWritten = false;
    const crash = (place: string): void => {
      if (faulty.crashed) return;
      this.places.set(place, (this.places.get(place) ?? 0) + 1);
      faulty.crash();
    };
    const decide = (place: FaultPlace): Fault => {
      if (this.#tame) return "pass";
      steps -= 1;
      if (steps <= 0 && end === "around") {
        this.places.set(place, (this.places.get(place) ?? 0) + 1);
        return "crash";
      }
      if (halfWritten && WRITTEN.has(place)) {
        const bytes = this.#logBytes();
        // The earlier part of the log is intact only if the log has grown.
        const written = bytes > this.#logBefore ? this.#logBefore + random.under(bytes - this.#logBefore) : bytes;
        image = this.#image(written);
        crash("half of a commit");
        return "crash";
      }
      const roll = random.under(100);
      return roll < 8 ? "delay" : roll < 10 && place.startsWith("before") ? "fail" : roll < 11 ? "lose" : "pass";
    };
    const faulty = new FaultyStore(this.disk, decide);
    this.#beforeCommit = () => {
      this.#logBefore = this.#logBytes();
      if (steps > 0 || faulty.crashed || end === "around") return;
      // This transaction is not acknowledged yet: the next operation fails.
      halfWritten = end === "torn";
      if (halfWritten) return;
      if (end === "image") image = this.#image(this.#logBefore);
      crash(end === "image" ? "power off inside a transaction" : "inside a transaction");
      // An error of the disk: after any other error the store would retry the writes one by one.
      throw Object.assign(new Error("the process ends here"), { errcode: 10 });
    };
    const clock = mortalClock();
    const dead = (async (): Promise<void> => {
      await faulty.whenCrashed;
      this.crashes += 1;
      clock.die();
      this.#beforeCommit = undefined;
      if (image !== undefined) {
        await this.disk[Symbol.asyncDispose]();
        rmSync(this.#directory, { recursive: true });
        this.#directory = image;
        this.disk = this.#mounted();
      } else if (random.under(6) === 0) await this.remount();
      else await faulty.answered();
    })();
    const entropy = new SimulatedEntropy(random.seed + life);
    const started = LocalEngine.start({ kinds: this.#kinds, store: faulty, clock, entropy, retryMs: 2 });
    const engine = await Promise.race([started, dead]);
    if (!(engine instanceof LocalEngine)) return { life: undefined, dead };
    return { life: { engine, clock, entropy, faulty }, dead };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disk[Symbol.asyncDispose]();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** Lets all pending callbacks run. */
export const rounds = async (): Promise<void> => {
  for (let round = 0; round < 4; round += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
};
