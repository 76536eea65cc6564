// Owns: the actors that the server lists, and the polls that find changes. Does not own: their details (actor-details.ts).
import { type StageChange, StageError, UUID } from "../stage.ts";
import type { CommandClient } from "./command-client.ts";
import { delay, retryDelay } from "./dialer.ts";
import type { Settings } from "./options.ts";
import { actorNotFound } from "./errors.ts";

export interface ListedActor {
  readonly id: string;
  readonly name: string;
}

/** The actors that the server lists, and which started or ended between two reads of the list. */
export class ActorList {
  readonly #settings: Settings;
  readonly #commands: CommandClient;
  readonly #notify: (change: StageChange) => void;
  #listed: Map<string, ListedActor> | undefined;
  #listedAt = 0;
  /** Counts starts and stops made here: a list requested before one of them is outdated. */
  #changes = 0;
  #requested = 0;
  #newestAnswered = 0;

  constructor(settings: Settings, commands: CommandClient, notify: (change: StageChange) => void) {
    this.#settings = settings;
    this.#commands = commands;
    this.#notify = notify;
  }

  /** Those of the newest list, and those started here since. Undefined: there is no list yet. */
  get known(): { has(id: string): boolean; keys(): Iterable<string> } | undefined {
    return this.#listed;
  }

  /** Sorted by id. */
  async all(): Promise<readonly ListedActor[]> {
    const changes = this.#changes;
    this.#requested += 1;
    const request = this.#requested;
    const answer = await this.#commands.read({ type: "ListActors" });
    if (answer === undefined) {
      throw new StageError(
        "CommunicationError",
        `The connection to ${this.#settings.server} broke whenever it was asked for its actors: try again.`,
      );
    }
    const all = answer.actors.map(({ id, name }) => ({ id: id.toLowerCase(), name: name === undefined || name === "" ? id : name }));
    all.sort((one, other) => (one.id < other.id ? -1 : 1));
    // Connections may answer out of order: an outdated list would end actors that have started since.
    if (changes === this.#changes && request > this.#newestAnswered) {
      this.#newestAnswered = request;
      this.#update(new Map(all.map((actor) => [actor.id, actor])));
    }
    return all;
  }

  /** By id or unique name. Looked up first, since upstream accepts messages and answers some queries for actors that do not exist. */
  async find(idOrName: string): Promise<ListedActor> {
    if (UUID.test(idOrName)) {
      const id = idOrName.toLowerCase();
      const isFresh = this.#settings.clock.now() - this.#listedAt < this.#settings.limits.freshMs;
      const known = isFresh ? this.#listed?.get(id) : undefined;
      const found = known ?? (await this.all()).find((actor) => actor.id === id);
      if (found === undefined) throw actorNotFound(idOrName, this.#settings);
      return found;
    }
    const [found, ...others] = (await this.all()).filter(({ name }) => name === idOrName);
    if (found === undefined) throw actorNotFound(idOrName, this.#settings);
    if (others.length === 0) return found;
    throw new StageError("InvalidRequest", `${others.length + 1} actors are called ${idOrName.slice(0, 200)}: say which by its id.`);
  }

  recordStart(actor: ListedActor): void {
    this.#changes += 1;
    if (this.#listed?.has(actor.id) === true) return;
    this.#listed?.set(actor.id, actor);
    this.#notify({ actor: actor.id, what: "began" });
  }

  recordEnd(id: string): void {
    this.#changes += 1;
    // Before the first list no start was reported, so the end is reported in any case.
    if (this.#listed === undefined || this.#listed.delete(id)) this.#notify({ actor: id, what: "ended" });
  }

  /** The next list counts as the first. */
  reset(): void {
    this.#listed = undefined;
  }

  #update(next: Map<string, ListedActor>): void {
    const before = this.#listed;
    this.#listed = next;
    this.#listedAt = this.#settings.clock.now();
    if (before === undefined) return;
    for (const id of next.keys()) if (!before.has(id)) this.#notify({ actor: id, what: "began" });
    for (const id of before.keys()) if (!next.has(id)) this.#notify({ actor: id, what: "ended" });
  }
}

type Listener = (change: StageChange) => void;

/** Listeners to changes, and a poll of the list while there are any: no server reports that an actor started or ended. */
export class ChangePoller {
  readonly #settings: Settings;
  readonly #poll: () => Promise<void>;
  readonly #closing: AbortSignal;
  readonly #listeners = new Set<Listener>();
  #pollers = 0;
  #stop = new AbortController();

  constructor(settings: Settings, poll: () => Promise<void>, closing: AbortSignal) {
    this.#settings = settings;
    this.#poll = poll;
    this.#closing = closing;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Returns a function that removes the listener. */
  add(listener: Listener): () => void {
    // A listener added twice is notified twice, and each is removed by itself.
    const own: Listener = (change) => listener(change);
    this.#listeners.add(own);
    const undo = this.startPolling();
    return () => {
      this.#listeners.delete(own);
      undo();
    };
  }

  /** Polls until the returned function is called, which may be called more than once. */
  startPolling(): () => void {
    this.#pollers += 1;
    if (this.#pollers === 1) {
      this.#stop = new AbortController();
      void this.#run(AbortSignal.any([this.#stop.signal, this.#closing]));
    }
    let isStopped = false;
    return () => {
      if (isStopped) return;
      isStopped = true;
      this.#pollers -= 1;
      if (this.#pollers === 0) this.#stop.abort();
    };
  }

  notify(change: StageChange): void {
    for (const listener of Array.from(this.#listeners)) {
      try {
        listener(change);
      } catch {
        this.#settings.log("error", { event: "theater-listener-failed", actor: change.actor, what: change.what });
      }
    }
  }

  async #run(stopped: AbortSignal): Promise<void> {
    const { clock, entropy, limits } = this.#settings;
    for (let failed = 0; !stopped.aborted;) {
      try {
        await this.#poll();
        failed = 0;
      } catch {
        // Connection errors were logged where they occurred.
        failed += 1;
      }
      await delay(clock, limits.pollMs + (failed === 0 ? 0 : retryDelay(limits, entropy, failed)), stopped);
    }
  }
}
