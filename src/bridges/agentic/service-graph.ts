// Owns: the services that links reach, and the last states, actions and links of each. Does not own: what is offered of them
// (service-source.ts).
import type { Clock } from "../../core/contract/index.ts";
import { type Action, type AgenticService, isAgenticService, type Observe, type State } from "./agentic-service.ts";

/** A service, and the keys of the links from the root to it. */
export interface LinkedService {
  readonly path: readonly string[];
  readonly observed: ObservedService;
}

interface GraphOptions extends Omit<ObserveOptions, "parts"> {
  readonly withStates: boolean;
  /** False: only the root is observed. */
  readonly followLinks: boolean;
  readonly maxDepth: number;
  readonly maxServices: number;
}

// A service that emits other links whenever it is observed would keep the walk going forever.
const MAX_ROUNDS = 8;

/** The services that links reach from a root, breadth first. Each is observed once, even if several paths reach it. */
export class ServiceGraph {
  readonly #root: AgenticService;
  readonly #options: GraphOptions;
  readonly #observeOptions: ObserveOptions;
  readonly #observed = new Map<AgenticService, ObservedService>();
  #stale = true;
  #reachable: readonly LinkedService[] = [];
  #walking = false;
  #closed = false;

  constructor(root: AgenticService, options: GraphOptions) {
    this.#root = root;
    this.#options = options;
    const parts: readonly Part[] = options.withStates ? ["states", "actions", "links"] : ["actions", "links"];
    this.#observeOptions = {
      ...options,
      parts,
      onChange: () => {
        this.#stale = true;
        if (!this.#closed && !this.#walking) options.onChange();
      },
    };
  }

  /** Whether a service has emitted anything since the last call of `reachable`. */
  get isStale(): boolean {
    return this.#stale;
  }

  /** The services that links reach now. Stops observing those that no link reaches anymore. */
  reachable(): readonly LinkedService[] {
    for (let round = 0; this.#stale && !this.#closed && round < MAX_ROUNDS; round += 1) {
      this.#stale = false;
      this.#walking = true;
      try {
        this.#reachable = this.#walk();
      } finally {
        this.#walking = false;
      }
      const reached = new Set(this.#reachable.map(({ observed }) => observed));
      for (const [service, observed] of this.#observed) {
        if (reached.has(observed)) continue;
        this.#observed.delete(service);
        observed.close();
      }
    }
    return this.#reachable;
  }

  /** Settles when each observed service has emitted all its maps or has run out of time. Undefined: all have. */
  unsettled(): Promise<unknown> | undefined {
    const waiting = [...this.#observed.values()].filter(({ isSettled }) => !isSettled);
    return waiting.length === 0 ? undefined : Promise.all(waiting.map(({ settled }) => settled));
  }

  close(): void {
    this.#closed = true;
    for (const observed of this.#observed.values()) observed.close();
    this.#observed.clear();
    this.#reachable = [];
  }

  #walk(): readonly LinkedService[] {
    const { followLinks, maxDepth, maxServices } = this.#options;
    const reachable: LinkedService[] = [];
    const queue: { readonly service: AgenticService; readonly path: readonly string[]; readonly ancestors: readonly AgenticService[] }[] = [
      { service: this.#root, path: [], ancestors: [] },
    ];
    for (const { service, path, ancestors } of queue) {
      const observed = this.#observe(service);
      reachable.push({ path, observed });
      if (!followLinks || path.length >= maxDepth) continue;
      for (const [key, link] of Object.entries(observed.links)) {
        if (queue.length >= maxServices) break;
        // A service that links to itself or an ancestor would be listed without end.
        if (!this.#isService(link) || link === service || ancestors.includes(link)) continue;
        queue.push({ service: link, path: [...path, key], ancestors: [...ancestors, service] });
      }
    }
    return reachable;
  }

  // The check reads properties of foreign code, which may throw. Such a link is not followed.
  #isService(link: unknown): link is AgenticService {
    try {
      return isAgenticService(link);
    } catch (error) {
      this.#options.onFault?.(error);
      return false;
    }
  }

  #observe(service: AgenticService): ObservedService {
    let observed = this.#observed.get(service);
    if (observed === undefined) {
      // What it emits while it is constructed is read in this walk.
      observed = new ObservedService(service, this.#observeOptions);
      this.#observed.set(service, observed);
    }
    return observed;
  }
}

/** Keyed maps; the values are whatever the service emits. */
type Emitted<T> = { readonly [key: string]: T };
type Part = "states" | "actions" | "links";
type NamedObservable = readonly [part: Part, observe: Observe<unknown>];

interface ObserveOptions {
  readonly clock: Clock;
  readonly firstEmissionMs: number;
  /** Which of its observables are observed. */
  readonly parts: readonly Part[];
  /** Called during an emission, perhaps many times per change. */
  readonly onChange: () => void;
  readonly onFault?: ((error: unknown) => void) | undefined;
}

/** One service, observed: the last map of each of its observables. A map that was never emitted is empty. */
class ObservedService {
  readonly service: AgenticService;
  states: Emitted<State> = {};
  actions: Emitted<Action> = {};
  links: Emitted<AgenticService> = {};
  /** Settles when each map was emitted once, the deadline has passed or this is closed. */
  readonly settled: Promise<void>;
  readonly #settle: () => void;
  readonly #options: ObserveOptions;
  readonly #undo: (() => void)[] = [];
  readonly #missing = new Set<Part>();
  #isSettled = false;
  #closed = false;

  constructor(service: AgenticService, options: ObserveOptions) {
    this.service = service;
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.settled = promise;
    this.#settle = () => {
      this.#isSettled = true;
      resolve();
    };
    const observables = options.parts.flatMap((part): readonly NamedObservable[] => this.#observableOf(part));
    for (const [part] of observables) this.#missing.add(part);
    if (this.#missing.size === 0) this.#settle();
    for (const [part, observe] of observables) this.#subscribe(part, observe);
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

  // An observable may be a getter that throws. It is then treated as one that never emits.
  #observableOf(part: Part): readonly NamedObservable[] {
    let observe: Observe<unknown> | undefined = never;
    this.#guard(() => (observe = this.service[part]));
    return observe === undefined ? [] : [[part, observe]];
  }

  #subscribe(part: Part, observe: Observe<unknown>): void {
    const onEmit = (map: unknown): void => {
      if (this.#closed) return;
      this.#store(part, map);
      this.#missing.delete(part);
      if (this.#missing.size === 0) this.#settle();
      this.#options.onChange();
    };
    // An observable that throws is treated as one that never emits, so that the others still work.
    this.#guard(() => {
      // Called as a method: a service may be an instance of a class.
      const undo: unknown = observe.call(this.service, onEmit);
      if (typeof undo === "function") this.#undo.push(() => void undo());
    });
  }

  #store(part: Part, map: unknown): void {
    switch (part) {
      case "states":
        this.states = this.#copy(map);
        return;
      case "actions":
        this.actions = this.#copy(map);
        return;
      default:
        this.links = this.#copy(map);
    }
  }

  // Copied here, so that a getter that throws is reported as a fault of its key and loses only that key.
  #copy<T>(map: unknown): Emitted<T> {
    const entries: [string, T][] = [];
    if (!isMap<T>(map)) return {};
    this.#guard(() => {
      for (const key of Object.keys(map)) {
        this.#guard(() => {
          const { [key]: item } = map;
          if (item !== undefined) entries.push([key, item]);
        });
      }
    });
    return Object.fromEntries(entries);
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
