import { StageError } from "../stage.ts";
import type { Dialer } from "./dialer.ts";
import type { Connection } from "./line.ts";
import type { Settings } from "./options.ts";
import { Semaphore } from "./permits.ts";

interface Idle {
  readonly connection: Connection;
  readonly undo: () => void;
}

/** Connections for one command at a time each. Idle ones are closed. */
export class ConnectionPool {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #slots: Semaphore;
  readonly #idle: Idle[] = [];

  constructor(settings: Settings, dialer: Dialer, size: number) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#slots = new Semaphore(size, settings.limits.waiting, settings.clock);
  }

  /** Throws `CommunicationError` and `Timeout`, and what `run` throws. */
  async use<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    const { limits, server } = this.#settings;
    if (!(await this.#slots.acquire(limits.replyMs))) {
      throw new StageError("Timeout", `All connections to ${server} are busy: wait for what is under way, then try again.`);
    }
    try {
      const connection = this.#pop() ?? (await this.#dialer.dial({ push: () => undefined, ended: () => this.#sweep() }));
      try {
        return await run(connection);
      } finally {
        if (!connection.isClosed) this.#push(connection);
      }
    } finally {
      this.#slots.release();
    }
  }

  /** The most recently used one, so that the others may become idle enough to be closed. */
  #pop(): Connection | undefined {
    const last = this.#idle.pop();
    last?.undo();
    return last?.connection;
  }

  #push(connection: Connection): void {
    const { clock, limits } = this.#settings;
    this.#idle.push({ connection, undo: clock.after(limits.idleMs, () => connection.close()) });
  }

  #sweep(): void {
    for (let at = this.#idle.length - 1; at >= 0; at -= 1) {
      if (this.#idle[at]?.connection.isClosed !== true) continue;
      this.#idle[at]?.undo();
      this.#idle.splice(at, 1);
    }
  }
}
