import { type AgenticService, isAgenticService, type Action, type Observe, type State } from "./agentic-service.ts";
import type { Clock } from "../../core/contract/index.ts";

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

/** Keyed maps; what is emitted is whatever a service gives. */
type Emitted<T> = { readonly [key: string]: T };
export type Part = "states" | "actions" | "links";
type Observed = readonly [part: Part, observe: Observe<unknown>];

export interface HearingOptions {
  readonly clock: Clock;
  readonly firstEmissionMs: number;
  /** Which of its observables are listened to. */
  readonly parts: readonly Part[];
  /** Something may be different: told in the midst of it, perhaps many times. */
  readonly onChange: () => void;
  readonly onFault?: ((error: unknown) => void) | undefined;
}

/** Listens to one service and keeps what it said last. A map that never came is empty. */
export class Hearing {
  readonly service: AgenticService;
  states: Emitted<State> = {};
  actions: Emitted<Action> = {};
  links: Emitted<AgenticService> = {};
  /** Settles when every map came once, the deadline passed or it is closed. */
  readonly settled: Promise<void>;
  readonly #settle: () => void;
  readonly #options: HearingOptions;
  readonly #undo: (() => void)[] = [];
  readonly #missing = new Set<Part>();
  #isSettled = false;
  #closed = false;

  constructor(service: AgenticService, options: HearingOptions) {
    this.service = service;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.settled = promise;
    this.#settle = () => {
      this.#isSettled = true;
      resolve();
    };
    const observables = options.parts.flatMap((part): readonly Observed[] => this.#observableOf(part));
    for (const [part] of observables) this.#missing.add(part);
    if (this.#missing.size === 0) this.#settle();
    for (const [part, observe] of observables) this.#listen(part, observe);
    if (!this.#isSettled) this.#undo.push(options.clock.after(options.firstEmissionMs, this.#settle));
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  close(): void {
    this.#closed = true;
    this.#settle();
    for (const undo of this.#undo.splice(0)) this.#guard(undo);
  }

  // A service may make its observables when they are asked for, and fail at that: such a part is one that never emits.
  #observableOf(part: Part): readonly Observed[] {
    let observe: Observe<unknown> | undefined = never;
    this.#guard(() => (observe = this.service[part]));
    return observe === undefined ? [] : [[part, observe]];
  }

  #listen(part: Part, observe: Observe<unknown>): void {
    const heard = (map: unknown): void => {
      if (this.#closed) return;
      this.#take(part, map);
      this.#missing.delete(part);
      if (this.#missing.size === 0) this.#settle();
      this.#options.onChange();
    };
    // An observable that throws is one that never emits: it must not take the others away.
    this.#guard(() => {
      // As its method: a service may be an instance of a class.
      const undo: unknown = observe.call(this.service, heard);
      if (typeof undo === "function") this.#undo.push(() => void undo());
    });
  }

  #take(part: Part, map: unknown): void {
    switch (part) {
      case "states":
        this.states = this.#copied(map);
        return;
      case "actions":
        this.actions = this.#copied(map);
        return;
      default:
        this.links = this.#copied(map);
    }
  }

  // Whoever looks at the map later is not where a getter that throws could be told as a fault of this one key.
  #copied<T>(map: unknown): Emitted<T> {
    const kept: [string, T][] = [];
    if (!isMap<T>(map)) return {};
    this.#guard(() => {
      for (const key of Object.keys(map)) {
        this.#guard(() => {
          const { [key]: item } = map;
          if (item !== undefined) kept.push([key, item]);
        });
      }
    });
    return Object.fromEntries(kept);
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#options.onFault?.(error);
    }
  }
}

const never: Observe<unknown> = () => () => undefined;

function isMap<T>(value: unknown): value is Emitted<T> {
  return typeof value === "object" && value !== null;
}
