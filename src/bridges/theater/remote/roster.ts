import { StageError, type StageChange } from "../stage.ts";
import { notFound, type Calls } from "./calls.ts";
import type { Settings } from "./options.ts";

export interface Listed {
  readonly id: string;
  readonly name: string;
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;

/** The actors that the server lists, and which started or ended between two reads of the list. */
export class Roster {
  readonly #settings: Settings;
  readonly #calls: Calls;
  readonly #tell: (change: StageChange) => void;
  #known: Map<string, Listed> | undefined;
  #knownAt = 0;
  /** Counts starts and stops made here: a list requested before one of them is outdated. */
  #steps = 0;

  constructor(settings: Settings, calls: Calls, tell: (change: StageChange) => void) {
    this.#settings = settings;
    this.#calls = calls;
    this.#tell = tell;
  }

  /** Sorted by id. */
  async all(): Promise<readonly Listed[]> {
    const steps = this.#steps;
    const answer = await this.#calls.read({ is: "ListActors" });
    if (answer === undefined) {
      throw new StageError(
        "CommunicationError",
        `The connection to ${this.#settings.server} broke whenever it was asked for its actors: try again.`,
      );
    }
    const all = answer.actors.map(({ id, name }) => ({ id: id.toLowerCase(), name: name === undefined || name === "" ? id : name }));
    all.sort((one, other) => (one.id < other.id ? -1 : 1));
    if (steps === this.#steps) this.#learn(new Map(all.map((actor) => [actor.id, actor])));
    return all;
  }

  /** By id or unique name. Looked up first, since upstream accepts messages and answers some queries for actors that do not exist. */
  async find(given: string): Promise<Listed> {
    if (UUID.test(given)) {
      const id = given.toLowerCase();
      const isFresh = this.#settings.clock.now() - this.#knownAt < this.#settings.limits.freshMs;
      const known = isFresh ? this.#known?.get(id) : undefined;
      const found = known ?? (await this.all()).find((actor) => actor.id === id);
      if (found === undefined) throw notFound(given, this.#settings);
      return found;
    }
    const [found, ...others] = (await this.all()).filter(({ name }) => name === given);
    if (found === undefined) throw notFound(given, this.#settings);
    if (others.length === 0) return found;
    throw new StageError("InvalidRequest", `${others.length + 1} actors are called ${given.slice(0, 200)}: say which by its id.`);
  }

  began(actor: Listed): void {
    this.#steps += 1;
    if (this.#known?.has(actor.id) === true) return;
    this.#known?.set(actor.id, actor);
    this.#tell({ actor: actor.id, what: "began" });
  }

  ended(id: string): void {
    this.#steps += 1;
    // Before the first list no start was reported, so the end is reported in any case.
    if (this.#known === undefined || this.#known.delete(id)) this.#tell({ actor: id, what: "ended" });
  }

  /** The next list counts as the first. */
  forget(): void {
    this.#known = undefined;
  }

  #learn(next: Map<string, Listed>): void {
    const before = this.#known;
    this.#known = next;
    this.#knownAt = this.#settings.clock.now();
    if (before === undefined) return;
    for (const id of next.keys()) if (!before.has(id)) this.#tell({ actor: id, what: "began" });
    for (const id of before.keys()) if (!next.has(id)) this.#tell({ actor: id, what: "ended" });
  }
}
