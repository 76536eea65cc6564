import type { Clock } from "../contract/index.ts";
import type { Action, AgenticService, State } from "./agentic-service.ts";

/** A service as it last said it was, and its links' mirrors. */
export interface Mirrored {
  readonly service: AgenticService;
  /** Keys from the root on. */
  readonly path: readonly string[];
  readonly states: { readonly [key: string]: State };
  readonly actions: { readonly [key: string]: Action };
}

export interface MirrorOptions {
  readonly clock: Clock;
  /** A map that has not come by then counts as empty until it comes. */
  readonly firstEmissionMs: number;
  readonly maxDepth: number;
  readonly maxServices: number;
  /** Something may be different: told in the midst of it, perhaps many times. */
  readonly onChange: () => void;
}

/** Listens to one service and, through its links, to others; a service met again on its own way is not followed. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #service: AgenticService;
  readonly #path: readonly string[];
  readonly #above: readonly AgenticService[];
  readonly #count: { services: number };
  readonly #undo: (() => void)[] = [];
  readonly #links = new Map<string, Mirror>();
  readonly #pending = new Set<"states" | "actions" | "links">();
  #arrived = Promise.withResolvers<void>();
  #states: { readonly [key: string]: State } = {};
  #actions: { readonly [key: string]: Action } = {};
  #closed = false;

  constructor(
    service: AgenticService,
    options: MirrorOptions,
    path: readonly string[] = [],
    above: readonly AgenticService[] = [],
    count = { services: 1 },
  ) {
    this.#service = service;
    this.#options = options;
    this.#path = path;
    this.#above = [...above, service];
    this.#count = count;
    for (const part of ["states", "actions", ...(service.links === undefined ? [] : (["links"] as const))] as const)
      this.#pending.add(part);
    this.#observe("states", service.states, (states) => {
      this.#states = states;
    });
    this.#observe("actions", service.actions, (actions) => {
      this.#actions = actions;
    });
    if (service.links !== undefined) this.#observe("links", service.links, (links) => this.#relink(links));
    if (this.#pending.size === 0) this.#arrived.resolve();
    else this.#undo.push(options.clock.after(options.firstEmissionMs, () => this.#arrived.resolve()));
  }

  /** Settles when every map came once, links' included, or the deadline passed. */
  async ready(): Promise<void> {
    await this.#arrived.promise;
    await Promise.all([...this.#links.values()].map((mirror) => mirror.ready()));
  }

  *all(): Generator<Mirrored> {
    yield { service: this.#service, path: this.#path, states: this.#states, actions: this.#actions };
    for (const link of this.#links.values()) yield* link.all();
  }

  close(): void {
    this.#closed = true;
    this.#arrived.resolve();
    for (const undo of this.#undo.splice(0)) undo();
    for (const link of this.#links.values()) link.close();
    this.#count.services -= this.#links.size;
    this.#links.clear();
  }

  #observe<T>(part: "states" | "actions" | "links", observe: Observable<T>, take: (value: T) => void): void {
    const undo = observe((value) => {
      if (this.#closed) return;
      take(value);
      this.#pending.delete(part);
      if (this.#pending.size === 0) this.#arrived.resolve();
      this.#options.onChange();
    });
    this.#undo.push(undo);
  }

  #relink(links: { readonly [key: string]: AgenticService }): void {
    for (const [key, mirror] of this.#links) {
      if (Object.hasOwn(links, key) && links[key] === mirror.#service) continue;
      mirror.close();
      this.#links.delete(key);
      this.#count.services -= 1;
    }
    for (const [key, service] of Object.entries(links)) {
      if (this.#links.has(key) || this.#above.includes(service) || this.#path.length >= this.#options.maxDepth) continue;
      if (this.#count.services >= this.#options.maxServices) continue;
      this.#count.services += 1;
      this.#links.set(key, new Mirror(service, this.#options, [...this.#path, key], this.#above, this.#count));
    }
  }
}

type Observable<T> = (notify: (value: T) => void) => () => void;
