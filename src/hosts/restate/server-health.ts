// Owns: whether the server is lost. Does not own: retries of calls (ingress.ts).
import { EngineError, type Clock } from "../../core/contract/index.ts";
import { safeCall } from "../../core/contract/internal.ts";

export interface ServerHealthOptions {
  /** URL of the server's HTTP ingress. */
  readonly base: string;
  readonly clock: Clock;
  /** Called with the fault when the server is lost, and with `undefined` when it is back. */
  readonly onChange?: (fault: EngineError | undefined) => void;
}

/** A lost server is noticed after two missed probes: within 7 s if it hangs, within 3 s if it refuses. */
const EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 2_000;
const RETRY_MS = 500;
const MISSES = 2;

/** True if a Restate server answers at this address. */
export async function isUp(base: string, withinMs: number): Promise<boolean> {
  try {
    const response = await fetch(`${base.replace(/\/+$/, "")}/restate/health`, { signal: AbortSignal.timeout(withinMs) });
    await response.body?.cancel();
    // A proxy that hides this path answers, too; one without a backend answers 5xx.
    return response.status < 500;
  } catch {
    return false;
  }
}

/**
 * Decides whether the engine can be used: for readiness, and to refuse calls at once. The server is lost if two health probes in a row
 * failed, or two renewals of this node's lease (it answers, but runs nothing), and it answered nothing else meanwhile.
 */
export class ServerHealth {
  readonly #options: ServerHealthOptions;
  readonly #waiting = new Set<() => void>();
  #answers = 0;
  #missedProbes = 0;
  #missedLeases = 0;
  #fault: EngineError | undefined;
  #undo: () => void = () => undefined;
  #closed = false;

  constructor(options: ServerHealthOptions) {
    this.#options = options;
  }

  /** Why calls are refused now. */
  get fault(): EngineError | undefined {
    return this.#fault;
  }

  start(): void {
    void this.#probe();
  }

  close(): void {
    this.#closed = true;
    this.#undo();
  }

  /** The server has answered a call. */
  answered(): void {
    this.#answers += 1;
    if (this.#missedProbes > 0 || this.#missedLeases > 0) {
      this.#missedProbes = 0;
      this.#missedLeases = 0;
      this.#judge();
    }
  }

  /** Renews a lease, which involves the whole path: the server's log, and a node. */
  async lease<T>(renew: () => Promise<T>): Promise<T> {
    const before = this.#answers;
    try {
      return await renew();
    } catch (error) {
      if (error instanceof EngineError && error.code === "OUTCOME_UNKNOWN" && this.#answers === before) {
        this.#missedLeases += 1;
        this.#judge();
      }
      throw error;
    }
  }

  /** Throws `UNAVAILABLE` while the server is lost. */
  check(): void {
    if (this.#fault !== undefined) throw unavailable(false);
  }

  /** Like `check`, and abandons `run` if the server is lost meanwhile. `applied`: what it may have done by then. */
  async guard<T>(run: () => Promise<T>, applied: false | "unknown" = false): Promise<T> {
    this.check();
    const lost = Promise.withResolvers<never>();
    const giveUp = (): void => lost.reject(unavailable(applied));
    this.#waiting.add(giveUp);
    try {
      return await Promise.race([run(), lost.promise]);
    } finally {
      this.#waiting.delete(giveUp);
    }
  }

  async #probe(): Promise<void> {
    const { base, clock } = this.#options;
    const before = this.#answers;
    const up = await isUp(base, ANSWER_WITHIN_MS);
    if (this.#closed) return;
    this.#missedProbes = up || this.#answers !== before ? 0 : this.#missedProbes + 1;
    this.#judge();
    this.#undo = clock.after(this.#missedProbes > 0 && this.#missedProbes < MISSES ? RETRY_MS : EVERY_MS, () => void this.#probe());
  }

  #judge(): void {
    const lost = this.#missedProbes >= MISSES || this.#missedLeases >= MISSES;
    if (this.#closed || lost === (this.#fault !== undefined)) return;
    this.#fault = lost ? unavailable(false) : undefined;
    if (lost) for (const giveUp of this.#waiting) giveUp();
    safeCall(
      () => this.#options.onChange?.(this.#fault),
      () => undefined,
    );
  }
}

const unavailable = (applied: false | "unknown"): EngineError =>
  new EngineError("UNAVAILABLE", "The actors cannot be reached now, because the Restate server does not answer: try again in a moment.", {
    applied,
  });
