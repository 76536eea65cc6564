// Owns: starting actors of capabilities: once per actor, restored from disk, within the user's quota.
//   Does not own: their first state (actor-state.ts).
import { type ActorId, EngineError, type Json, Queues } from "../../core/contract/index.ts";
import { counted, BEGIN_ACTION, omitUndefined } from "../../core/contract/internal.ts";
import { actorNotFound, isVisibleTo } from "./visible-actors.ts";
import { idlePolicy } from "./actor-timers.ts";
import type { ActorsOptions, Sending } from "./actors.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Acts } from "./capability.ts";
import { packetErrorOf, resultOf } from "./error-mapping.ts";
import { PacketError } from "./packet.ts";

/** The actor to start, and the message that starts it. */
interface StartRequest {
  readonly does: Acts;
  readonly id: ActorId;
  readonly actor_id: string;
  readonly sending: Sending;
  /** Sends the first message together with the start, so that no later message overtakes it. Not called if the engine does not keep call order. */
  readonly firstMessage?: () => void;
}

/** Starts each actor once, however many messages need it, within the quota of its user. */
export class ActorStarter {
  readonly #options: ActorsOptions;
  readonly #quota: ActorQuota;
  /** Starts in progress. Resolves to false if the start failed. */
  readonly #starting = new Map<ActorId, Promise<boolean>>();

  constructor(options: ActorsOptions) {
    this.#options = options;
    this.#quota = new ActorQuota(options);
  }

  /** Resolves once the actor exists. Throws `PacketError`. */
  async start(request: StartRequest): Promise<void> {
    for (let other = this.#starting.get(request.id); other !== undefined; other = this.#starting.get(request.id)) if (await other) return;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#starting.set(request.id, promise);
    let started = false;
    try {
      await this.#start(request);
      started = true;
    } finally {
      this.#starting.delete(request.id);
      resolve(started);
    }
  }

  isStarting(id: ActorId): boolean {
    return this.#starting.has(id);
  }

  async #start({ does, id, actor_id, sending, firstMessage }: StartRequest): Promise<void> {
    const { engine, idleMs, replyMs } = this.#options;
    const { viewer, options = {} } = sending;
    const { kind, version, policy: usual } = does.behaviour;
    const owner = does.shared ? undefined : viewer.principal;
    if (!does.shared && owner === undefined)
      throw new PacketError("unauthorized", "An actor belongs to somebody: say who you are, by user_id or session_id in the context.", {
        actor_id,
      });
    const found = await engine.read(id);
    const previous = found !== undefined && isVisibleTo(found, does, viewer) ? found : undefined;
    if (previous !== undefined && previous.status !== "stopped") return;
    const { state_timeout, persistence = does.persistence } = options;
    if (does.shared && (state_timeout !== undefined || persistence !== does.persistence))
      throw new PacketError("validation_failed", "This actor is everybody's: how it is kept and when it ends is not one caller's to say.", {
        actor_id,
      });
    const chosen = does.policyFor({ ...omitUndefined({ state_timeout }), persistence });
    const policy = { ...chosen, ...(does.idle && state_timeout === undefined && idlePolicy(persistence, idleMs)) };
    const isResumed = previous !== undefined && persistence !== "memory" && previous.persistence !== "memory";
    if (isResumed && previous.version > version)
      throw new PacketError(
        "persistence_failed",
        `${kind} was written by version ${previous.version}, this is ${version}: run the newer code.`,
        {
          actor_id,
          code: "STATE_NEWER",
        },
      );
    const start: Json = isResumed ? { restore: previous.state, version: previous.version } : null;
    const expire_ms = policy.expireMs ?? usual.expireMs;
    const args = expire_ms === undefined ? null : { expire_ms };
    await this.#quota.within(owner, async () => {
      // Checked last: the order of refusals must not reveal whether another user has taken the id.
      if (found !== undefined && previous === undefined) throw actorNotFound(actor_id);
      const started = engine.call({ to: id, action: BEGIN_ACTION, args, start, policy, viewer });
      // Without call order, the first message could arrive before the start.
      if (engine.traits.has("call-order")) firstMessage?.();
      try {
        resultOf(await started);
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

/** The kinds whose actors have an owner each. */
const ownedKinds = (capabilities: Capabilities): ReadonlySet<string> =>
  new Set(
    capabilities
      .list()
      .flatMap(({ does }) => (does.how === "actor" && !does.shared && does.own === undefined ? [does.behaviour.kind] : [])),
  );

/** Limits how many actors of capabilities a user has at a time. Stopped actors do not count. */
class ActorQuota {
  readonly #options: ActorsOptions;
  readonly #queues = new Queues<string>();

  constructor(options: ActorsOptions) {
    this.#options = options;
  }

  /** Runs `begin` if the user has room for one more actor. Runs one start per user at a time. Throws `actor_limit_exceeded`. */
  async within(user: string | undefined, begin: () => Promise<void>): Promise<void> {
    const { maxPerUser } = this.#options;
    if (user === undefined || !Number.isFinite(maxPerUser)) return begin();
    return await this.#queues.run(user, async () => {
      const used = await this.#used(user);
      if (used >= maxPerUser)
        throw new PacketError("actor_limit_exceeded", `You have ${counted(used, "actor")}, of ${maxPerUser}: end one you no longer need.`, {
          limit: maxPerUser,
          used,
        });
      await begin();
    });
  }

  /** Stops counting at the limit. */
  async #used(owner: string): Promise<number> {
    const { engine, capabilities, maxPerUser } = this.#options;
    let used = 0;
    // List by kind: an owner may have any number of actors of other kinds, which do not count.
    for (const kind of ownedKinds(capabilities)) {
      if (used >= maxPerUser) break;
      const found = await engine.list({ owner, kind, live: true, limit: maxPerUser - used });
      used += found.length;
    }
    return used;
  }
}
