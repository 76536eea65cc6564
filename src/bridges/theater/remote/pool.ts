import { StageError } from "../stage.ts";
import type { Dialer } from "./dialer.ts";
import type { Line } from "./line.ts";
import type { Settings } from "./options.ts";
import { Permits } from "./permits.ts";

interface Idle {
  readonly line: Line;
  readonly undo: () => void;
}

/** Connections for one command at a time each. Idle ones are closed. */
export class Pool {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #permits: Permits;
  readonly #idle: Idle[] = [];

  constructor(settings: Settings, dialer: Dialer, size: number) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#permits = new Permits(size, settings.limits.waiting, settings.clock);
  }

  /** Throws `CommunicationError` and `Timeout`, and what `run` throws. */
  async use<T>(run: (line: Line) => Promise<T>): Promise<T> {
    const { limits, server } = this.#settings;
    if (!(await this.#permits.take(limits.replyMs))) {
      throw new StageError("Timeout", `All connections to ${server} are busy: wait for what is under way, then try again.`);
    }
    try {
      const line = this.#pop() ?? (await this.#dialer.dial({ push: () => undefined, ended: () => this.#sweep() }));
      try {
        return await run(line);
      } finally {
        if (!line.over) this.#push(line);
      }
    } finally {
      this.#permits.give();
    }
  }

  /** The most recently used one, so that the others may become idle enough to be closed. */
  #pop(): Line | undefined {
    const last = this.#idle.pop();
    last?.undo();
    return last?.line;
  }

  #push(line: Line): void {
    const { clock, limits } = this.#settings;
    this.#idle.push({ line, undo: clock.after(limits.idleMs, () => line.close()) });
  }

  #sweep(): void {
    for (let at = this.#idle.length - 1; at >= 0; at -= 1) {
      if (this.#idle[at]?.line.over !== true) continue;
      this.#idle[at]?.undo();
      this.#idle.splice(at, 1);
    }
  }
}
