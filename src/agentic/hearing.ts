import type { Clock } from "../contract/index.ts";
import type { Action, AgenticService, Observe, State } from "./agentic-service.ts";

/** Keyed maps; what is emitted is whatever a service gives. */
type Emitted<T> = { readonly [key: string]: T };
export type Part = "states" | "actions" | "links";

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
    const parts = options.parts.filter((part) => part !== "links" || service.links !== undefined);
    for (const part of parts) this.#missing.add(part);
    if (this.#missing.size === 0) this.#settle();
    for (const part of parts) this.#observe(part);
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

  #observe(part: Part): void {
    switch (part) {
      case "states":
        return this.#listen(part, this.service.states, (states) => (this.states = states));
      case "actions":
        return this.#listen(part, this.service.actions, (actions) => (this.actions = actions));
      default:
        if (this.service.links !== undefined) this.#listen(part, this.service.links, (links) => (this.links = links));
    }
  }

  #listen<T>(part: Part, observe: Observe<Emitted<T>>, take: (map: Emitted<T>) => void): void {
    const heard = (map: unknown): void => {
      if (this.#closed) return;
      take(isMap<T>(map) ? map : {});
      this.#missing.delete(part);
      if (this.#missing.size === 0) this.#settle();
      this.#options.onChange();
    };
    // An observable that throws is one that never emits: it must not take the others away.
    this.#guard(() => {
      const undo: unknown = observe(heard);
      if (typeof undo === "function") this.#undo.push(() => void undo());
    });
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#options.onFault?.(error);
    }
  }
}

function isMap<T>(value: unknown): value is Emitted<T> {
  return typeof value === "object" && value !== null;
}
