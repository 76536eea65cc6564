import type { AgenticService } from "./agentic-service.ts";
import { Hearing, type HearingOptions, type Part } from "./hearing.ts";
import { isAgenticService } from "./is-agentic-service.ts";

/** A service as it last said it was, where links from the root on lead to it. */
export interface Met {
  readonly path: readonly string[];
  readonly hearing: Hearing;
}

export interface GraphOptions extends Omit<HearingOptions, "parts"> {
  readonly withStates: boolean;
  /** Otherwise only the root is listened to. */
  readonly followLinks: boolean;
  readonly maxDepth: number;
  readonly maxServices: number;
}

// A service that answers being listened to by other links could go on for ever.
const MAX_ROUNDS = 8;

/** The services that links reach from a root, nearest first, each listened to once, however many ways lead to it. */
export class ServiceGraph {
  readonly #root: AgenticService;
  readonly #options: GraphOptions;
  readonly #hearing: HearingOptions;
  readonly #hearings = new Map<AgenticService, Hearing>();
  #stale = true;
  #met: readonly Met[] = [];
  #walking = false;
  #closed = false;

  constructor(root: AgenticService, options: GraphOptions) {
    this.#root = root;
    this.#options = options;
    const parts: readonly Part[] = options.withStates ? ["states", "actions", "links"] : ["actions", "links"];
    this.#hearing = {
      ...options,
      parts,
      onChange: () => {
        this.#stale = true;
        if (!this.#closed && !this.#walking) options.onChange();
      },
    };
  }

  /** Whether a service said something since `met` was last asked. */
  get isStale(): boolean {
    return this.#stale;
  }

  /** As the services say now; what no link reaches any more is no longer listened to. */
  met(): readonly Met[] {
    for (let round = 0; this.#stale && !this.#closed && round < MAX_ROUNDS; round += 1) {
      this.#stale = false;
      this.#walking = true;
      try {
        this.#met = this.#walk();
      } finally {
        this.#walking = false;
      }
      const reached = new Set(this.#met.map(({ hearing }) => hearing));
      for (const [service, hearing] of this.#hearings) {
        if (reached.has(hearing)) continue;
        this.#hearings.delete(service);
        hearing.close();
      }
    }
    return this.#met;
  }

  /** Settles when nothing is missing, or waited for any longer, of what was met. Undefined: nothing is. */
  unsettled(): Promise<unknown> | undefined {
    const waiting = [...this.#hearings.values()].filter(({ isSettled }) => !isSettled);
    return waiting.length === 0 ? undefined : Promise.all(waiting.map(({ settled }) => settled));
  }

  close(): void {
    this.#closed = true;
    for (const hearing of this.#hearings.values()) hearing.close();
    this.#hearings.clear();
    this.#met = [];
  }

  #walk(): readonly Met[] {
    const { followLinks, maxDepth, maxServices } = this.#options;
    const met: Met[] = [];
    const queue: { readonly service: AgenticService; readonly path: readonly string[]; readonly above: readonly AgenticService[] }[] = [
      { service: this.#root, path: [], above: [] },
    ];
    for (const { service, path, above } of queue) {
      const hearing = this.#hear(service);
      met.push({ path, hearing });
      if (!followLinks || path.length >= maxDepth) continue;
      for (const [key, link] of Object.entries(hearing.links)) {
        if (queue.length >= maxServices) break;
        // Met again on its own way it would be shown for ever.
        if (!this.#isService(link) || link === service || above.includes(link)) continue;
        queue.push({ service: link, path: [...path, key], above: [...above, service] });
      }
    }
    return met;
  }

  // To look whether it is one may fail as well, and says that it is none to be followed.
  #isService(link: unknown): link is AgenticService {
    try {
      return isAgenticService(link);
    } catch (error) {
      this.#options.onFault?.(error);
      return false;
    }
  }

  #hear(service: AgenticService): Hearing {
    let hearing = this.#hearings.get(service);
    if (hearing === undefined) {
      hearing = new Hearing(service, this.#hearing);
      // Its first emission is read in this walk.
      this.#hearings.set(service, hearing);
    }
    return hearing;
  }
}
