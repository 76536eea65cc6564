import { type ActorId, type Engine, EngineError, type Json } from "../../core/contract/index.ts";
import { BEGIN_ACTION, omitUndefined } from "../../core/contract/internal.ts";
import { notFound, seenBy } from "./actor-access.ts";
import { idlePolicy } from "./actor-timers.ts";
import type { Sending } from "./actors.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Acts } from "./capability.ts";
import { packetErrorOf, resultOf } from "./error-mapping.ts";
import { PacketError } from "./packet.ts";

export interface BirthsOptions {
  readonly engine: Engine;
  readonly capabilities: Capabilities;
  readonly maxPerUser: number;
  readonly idleMs: number;
  readonly replyMs: number;
}

/** What is to begin, and what it is told first. */
export interface Birth {
  readonly does: Acts;
  readonly id: ActorId;
  readonly actor_id: string;
  readonly sending: Sending;
  /** Runs with its beginning, so that no later message comes before it; not at all where the engine keeps no order of calls. */
  readonly first?: () => void;
}

/** Actors that begin: each once, however many messages ask for it, within its user's quota. */
export class Births {
  readonly #options: BirthsOptions;
  readonly #quota: Quota;
  /** Those under way; false: it came to nothing. */
  readonly #underWay = new Map<ActorId, Promise<boolean>>();

  constructor(options: BirthsOptions) {
    this.#options = options;
    this.#quota = new Quota(options.engine, options.maxPerUser, () => ownedKinds(options.capabilities));
  }

  /** Settles with the actor there. Throws `PacketError`. */
  async begin(birth: Birth): Promise<void> {
    for (let other = this.#underWay.get(birth.id); other !== undefined; other = this.#underWay.get(birth.id)) if (await other) return;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#underWay.set(birth.id, promise);
    let begun = false;
    try {
      await this.#begin(birth);
      begun = true;
    } finally {
      this.#underWay.delete(birth.id);
      resolve(begun);
    }
  }

  /** It begins just now. */
  isUnderWay(id: ActorId): boolean {
    return this.#underWay.has(id);
  }

  async #begin({ does, id, actor_id, sending, first }: Birth): Promise<void> {
    const { engine, idleMs, replyMs } = this.#options;
    const { viewer, options = {} } = sending;
    const { kind, version, policy: usual } = does.behaviour;
    const owner = does.shared ? undefined : viewer.principal;
    if (!does.shared && owner === undefined)
      throw new PacketError("unauthorized", "An actor belongs to somebody: say who you are, by user_id or session_id in the context.", {
        actor_id,
      });
    const found = await engine.read(id);
    const before = found !== undefined && seenBy(found, does, viewer) ? found : undefined;
    if (before !== undefined && before.status !== "stopped") return;
    const { state_timeout, persistence = does.persistence } = options;
    if (does.shared && (state_timeout !== undefined || persistence !== does.persistence))
      throw new PacketError("validation_failed", "This actor is everybody's: how it is kept and when it ends is not one caller's to say.", {
        actor_id,
      });
    const chosen = does.policyFor({ ...omitUndefined({ state_timeout }), persistence });
    const policy = { ...chosen, ...(does.idle && state_timeout === undefined && idlePolicy(persistence, idleMs)) };
    const lasting = before !== undefined && persistence !== "memory" && before.persistence !== "memory";
    if (lasting && before.version > version)
      throw new PacketError(
        "persistence_failed",
        `${kind} was written by version ${before.version}, this is ${version}: run the newer code.`,
        {
          actor_id,
          code: "STATE_NEWER",
        },
      );
    const start: Json = lasting ? { restore: before.state, version: before.version } : null;
    const expire_ms = policy.expireMs ?? usual.expireMs;
    const args = expire_ms === undefined ? null : { expire_ms };
    await this.#quota.within(owner, async () => {
      // After all other checks: whether another user has taken the id must not follow from which of them fails.
      if (found !== undefined && before === undefined) throw notFound(actor_id);
      const begun = engine.call({ to: id, action: BEGIN_ACTION, args, start, policy, viewer });
      // An engine that promises no order of calls might take it first.
      if (engine.traits.has("call-order")) first?.();
      try {
        resultOf(await begun);
      } catch (error) {
        if (options.persistence !== undefined && error instanceof EngineError && error.code === "ENGINE_MISSING")
          throw new PacketError(
            "validation_failed",
            `No actor is kept ${JSON.stringify(options.persistence)} here: ask for another persistence, or for none.`,
            { actor_id, issues: [{ path: "/actor_options/persistence", message: "is not to be had here" }] },
            { cause: error },
          );
        throw packetErrorOf(error, { actor_id, timeout_ms: replyMs });
      }
    });
  }
}

/** Kinds of whose actors each belongs to somebody. */
const ownedKinds = (capabilities: Capabilities): ReadonlySet<string> =>
  new Set(
    capabilities
      .list()
      .flatMap(({ does }) => (does.how === "actor" && !does.shared && does.own === undefined ? [does.behaviour.kind] : [])),
  );

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
