import type { Engine } from "../../core/contract/index.ts";
import { PacketError } from "./packet-error.ts";

/** How many actors of capabilities one user has at a time. Stopped ones do not count. */
export class Quota {
  readonly #engine: Engine;
  readonly #limit: number;
  readonly #kinds: () => ReadonlySet<string>;
  readonly #entering = new Map<string, Promise<void>>();

  /** `kinds`: those of whose actors each has an owner. */
  constructor(engine: Engine, limit: number, kinds: () => ReadonlySet<string>) {
    this.#engine = engine;
    this.#limit = limit;
    this.#kinds = kinds;
  }

  /** Runs `begin` where there is room for one more: one after the other for each user. Throws `actor_limit_exceeded`. */
  async within(user: string | undefined, begin: () => Promise<void>): Promise<void> {
    if (user === undefined || !Number.isFinite(this.#limit)) return begin();
    const before = this.#entering.get(user) ?? Promise.resolve();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const mine = before.then(() => left);
    this.#entering.set(user, mine);
    await before;
    try {
      const used = await this.#used(user);
      if (used >= this.#limit)
        throw new PacketError("actor_limit_exceeded", `You have ${used} actors, of ${this.#limit}: end one you no longer need.`, {
          limit: this.#limit,
          used,
        });
      await begin();
    } finally {
      leave();
      if (this.#entering.get(user) === mine) this.#entering.delete(user);
    }
  }

  /** Counted up to the limit. */
  async #used(owner: string): Promise<number> {
    let used = 0;
    // Kind by kind: an owner may have any number of actors of other kinds.
    for (const kind of this.#kinds()) {
      if (used >= this.#limit) break;
      const found = await this.#engine.list({ owner, kind, live: true, limit: this.#limit - used });
      used += found.length;
    }
    return used;
  }
}
