import { Cancellation } from "../../core/contract/index.ts";
import type { RequestId } from "./json-rpc.ts";

/** A request that runs. Aborted, it is not answered. */
export class Running extends Cancellation {
  readonly id: RequestId;
  /** It runs no more: whatever its handler goes on to say belongs to nothing. */
  over = false;

  constructor(id: RequestId) {
    super();
    this.id = id;
  }
}

/**
 * The requests of one client that run now, by id. A list, since they are few, and since a Map that an entry enters and
 * leaves with every call drops tables that the collector takes for alive, with the requests they held.
 */
export class InFlight<R extends Running = Running> {
  readonly #running: R[] = [];

  get size(): number {
    return this.#running.length;
  }

  get(id: RequestId): R | undefined {
    for (const one of this.#running) if (one.id === id) return one;
    return undefined;
  }

  add(one: R): void {
    this.#running.push(one);
  }

  delete(one: R): void {
    one.over = true;
    const at = this.#running.indexOf(one);
    if (at < 0) return;
    const last = this.#running.pop();
    if (last !== undefined && at < this.#running.length) this.#running[at] = last;
  }

  some(is: (one: R) => boolean): boolean {
    return this.#running.some(is);
  }

  /** As they are now: what ends meanwhile changes nothing in it. */
  all(): readonly R[] {
    return [...this.#running];
  }
}
