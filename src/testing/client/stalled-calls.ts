// Owns: noticing that a call cannot finish until simulated time passes, and the sentence for it. Does not own: time (simulated-clock.ts).
import type { Store } from "../../core/contract/index.ts";
import type { SimulatedClock } from "../simulated-clock.ts";

/** In real time. Long enough for what is under way in the process to become visible. */
const QUIET_MS = 1_000;
const CHECKS = 5;
const MAX_REASONS = 3;

/** What keeps a process alive without doing anything: pipes of the test runner, watchers, servers that listen. */
const PASSIVE = new Set(["PipeWrap", "TTYWrap", "MessagePort", "FSEventWrap", "StatWatcher", "SignalWrap", "TCPServerWrap"]);

interface StalledCallsOptions {
  readonly clock: SimulatedClock;
  /** Of the actors, if the server is made from kinds. */
  readonly store: Pick<Store, "due" | "undelivered"> | undefined;
}

/** Watches the calls of a server's clients while they wait. */
export class StalledCalls {
  /** Intervals of all instances: they are timers of the process, too. */
  static #intervals = 0;
  readonly #options: StalledCallsOptions;

  constructor(options: StalledCallsOptions) {
    this.#options = options;
  }

  /**
   * Settles like `call`. Rejects if nothing is under way in this process and an actor has a timer set or a message to deliver again. If only
   * other simulated timers are set, prints a warning instead: a worker thread may be busy, which is not visible from here.
   */
  async watch<T>(what: string, call: Promise<T>): Promise<T> {
    const { promise: stalled, reject } = Promise.withResolvers<never>();
    let quiet = 0;
    let at = this.#options.clock.now();
    const check = (): void => {
      const isQuiet = this.#options.clock.now() === at && !isBusy(StalledCalls.#intervals);
      at = this.#options.clock.now();
      quiet = isQuiet ? quiet + 1 : 0;
      if (quiet !== CHECKS) return;
      this.#explain(what).then((error) => error !== undefined && reject(error), reject);
    };
    StalledCalls.#intervals += 1;
    const interval = setInterval(check, QUIET_MS / CHECKS);
    try {
      return await Promise.race([call, stalled]);
    } finally {
      clearInterval(interval);
      StalledCalls.#intervals -= 1;
    }
  }

  /** The error, or undefined after a warning or where nothing waits for time. */
  async #explain(what: string): Promise<Error | undefined> {
    const { clock } = this.#options;
    const { nextTimer } = clock;
    if (nextTimer === undefined) return undefined;
    const reasons = await this.#reasons();
    const [soonest] = reasons;
    const ms = Math.max(0, (soonest?.at ?? nextTimer) - clock.now());
    const advance = `await server.clock.advance(${grouped(ms)})`;
    if (soonest === undefined) {
      process.emitWarning(
        `${what} has no reply yet, and nothing is under way in this process. If it waits for simulated time, move time: ${advance} reaches the next timer.`,
      );
      return undefined;
    }
    const why = reasons.map(({ text }) => text).join("; ");
    return new Error(
      `${what} cannot finish until simulated time passes or another call ends it. ${why}. ` +
        `Make the call without \`await\`, move time (${advance}), then await the call.`,
    );
  }

  async #reasons(): Promise<readonly { readonly at: number; readonly text: string }[]> {
    const { clock, store } = this.#options;
    if (store === undefined) return [];
    const due = await store.due(Number.MAX_SAFE_INTEGER, MAX_REASONS);
    const timers = due
      .filter(({ wake }) => wake !== "")
      .map(({ id, wake, at }) => ({ at, text: `The timer "${wake}" of ${id} fires in ${grouped(at - clock.now())} ms` }));
    const retried = (await store.undelivered(MAX_REASONS)).map(({ message }) => ({
      at: clock.nextTimer ?? clock.now(),
      text: `The message "${message.action}" to ${message.to} could not be delivered and is tried again`,
    }));
    return [...retried, ...timers];
  }
}

/** 900000 as 900_000. */
const grouped = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, "_");

function isBusy(ownIntervals: number): boolean {
  let timeouts = 0;
  for (const resource of process.getActiveResourcesInfo()) {
    if (resource === "Timeout") timeouts += 1;
    else if (!PASSIVE.has(resource)) return true;
  }
  return timeouts > ownIntervals;
}
