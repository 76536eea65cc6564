import type { Notification } from "./message.ts";
import { until } from "../simulated-clock.ts";

/** What a server told one client, in order; on whichever stream it came. */
export class Notifications implements Iterable<Notification> {
  readonly #came: Notification[] = [];

  get all(): readonly Notification[] {
    return this.#came;
  }

  /** Their methods, in order. */
  get methods(): readonly string[] {
    return this.#came.map(({ method }) => method);
  }

  /** The first that fits, come already or still to come: by its method, or by a condition. Rejects after `withinMs` (default 20 s) of real time. */
  async first(wanted: string | ((one: Notification) => boolean), withinMs?: number): Promise<Notification> {
    const fits = typeof wanted === "string" ? ({ method }: Notification): boolean => method === wanted : wanted;
    try {
      await until("", () => this.#came.some(fits), withinMs);
    } catch {
      const what = typeof wanted === "string" ? wanted : "the awaited notification";
      throw new Error(`It did not come about: ${what}. What came: ${this.methods.join(", ") || "nothing"}.`);
    }
    const found = this.#came.find(fits);
    if (found === undefined) throw new Error("What was awaited has been cleared: wait for it before you clear.");
    return found;
  }

  /** As if nothing had come so far. */
  clear(): void {
    this.#came.length = 0;
  }

  [Symbol.iterator](): Iterator<Notification> {
    return this.#came[Symbol.iterator]();
  }

  /** As the list of them, where a test's failure or `console.log` shows one. */
  [Symbol.for("nodejs.util.inspect.custom")](): readonly Notification[] {
    return this.#came;
  }

  /** For the client that hears them. */
  add(one: Notification): void {
    this.#came.push(one);
  }
}
