import type { Clock } from "../../core/contract/index.ts";
import type { Action, AgenticService, Observe, State } from "./agentic-service.ts";

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
