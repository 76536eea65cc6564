import type { ActorId, CallOptions, Clock, Engine, Json, Outgoing, Receipt, Reply, Viewer } from "../contract/index.ts";
import { EngineError } from "../contract/index.ts";
import { offNow } from "./closure.ts";
import type { Handles } from "./handles.ts";
import { isPassing, kindOf, rootActor } from "./identity.ts";
import { Lru } from "./lru.ts";
import { type Place, type Planned, rootOf, type Way, wayTo } from "./plan.ts";
import { refused, unknownOffer } from "./refused.ts";
import type { Sight, Sights } from "./sight.ts";

/** Where a call lands: resolved through the links as they are now. */
interface Target {
  readonly way: Way;
  readonly id: ActorId;
  readonly self: ActorId;
  /** The root on the way has not begun. */
  readonly unborn: boolean;
  /** What was read of the target itself; absent where its turn decides anyway. */
  readonly sight?: Sight;
}

export interface ActsOptions {
  readonly engine: Pick<Engine, "call" | "keyed">;
  readonly clock: Clock;
  readonly sights: Sights;
  readonly handles: Handles;
  /** Settles when those who listen as this viewer have been flagged; undefined: nobody does. */
  readonly flagFirst: (key: string, receipt: Receipt) => Promise<unknown> | undefined;
  readonly onFault?: (error: unknown, actor: ActorId) => void;
}

// Shorter than any engine remembers replies, so that a routed call is never a first one.
const ROUTE_MS = 600_000;

/** From a viewer's call to the actor that answers it. */
export class Acts {
  readonly #options: ActsOptions;
  /**
   * C4: keys are scoped to the actor, and which actor a link leads to changes. A retry goes where the first call went,
   * or it would be applied again by whoever is linked now. What another process took, the engine knows.
   */
  readonly #routes = new Lru<string, { readonly id: ActorId; readonly at: number }>(4_096);

  constructor(options: ActsOptions) {
    this.#options = options;
  }

  // The common call is to a root, whose own turn decides: nobody has to look first, so nothing is waited for.
  act(viewer: Viewer, planned: Planned, args: Json, options: CallOptions, roots: ReadonlyMap<Place, ActorId>): Promise<Reply> {
    const [way] = planned.ways;
    const id = way !== undefined && planned.ways.length === 1 && !way.offer.readOnly ? roots.get(way.place) : undefined;
    if (way === undefined || id === undefined) return this.#actLinked(viewer, planned, args, options, roots);
    return this.#call(viewer, { way, id, self: id, unborn: false }, args, options);
  }

  async #actLinked(viewer: Viewer, planned: Planned, args: Json, options: CallOptions, roots: ReadonlyMap<Place, ActorId>): Promise<Reply> {
    const offer = planned.ways[0]?.offer;
    const views = offer?.readOnly === true;
    const target = (await this.#routed(viewer, planned, roots, options)) ?? (await this.resolve(viewer, planned, roots, views));
    if (target === undefined) {
      const handled = planned.ways[0]?.place.handled === true && planned.list !== "resources";
      return handled ? refused("NOT_NOW", `${planned.shown.name} is not possible now.`) : unknownOffer;
    }
    const { behaviour } = target.way.place;
    if (target.way.offer.readOnly && behaviour.view !== undefined) return this.#view(viewer, target, args);
    if (target.id !== target.self && target.unborn) await this.#begin(viewer, rootOf(target.way.place), target.self);
    return this.#call(viewer, target, args, options);
  }

  /** Follows the links as they are now, whatever any list said (law 3). */
  async resolve(viewer: Viewer, planned: Planned, roots: ReadonlyMap<Place, ActorId>, look: boolean): Promise<Target | undefined> {
    for (const way of planned.ways) {
      const target = await this.#follow(viewer, way, roots, look);
      if (target !== undefined) return target;
    }
    return undefined;
  }

  async #follow(viewer: Viewer, way: Way, roots: ReadonlyMap<Place, ActorId>, look: boolean): Promise<Target | undefined> {
    const steps = wayTo(way.place);
    const root = rootOf(way.place);
    const self = roots.get(root);
    if (self === undefined) return undefined;
    let id = self;
    let unborn = false;
    for (const [i, place] of steps.entries()) {
      const isLast = i === steps.length - 1;
      if (isLast && !look) return { way, id, self, unborn };
      const sight = await this.#options.sights.see(place.behaviour, id, { ...viewer, self }, i === 0);
      if (sight === undefined) return undefined;
      unborn ||= i === 0 && sight.seq === 0;
      if (isLast) return { way, id, self, unborn, sight };
      const next = steps[i + 1];
      const target = next === undefined ? undefined : sight.surface.links?.[next.link];
      if (next === undefined || target === undefined || kindOf(target) !== next.behaviour.kind) return undefined;
      id = target;
    }
    return undefined;
  }

  /** Law 2: of the last durable state. No mailbox, no event. */
  #view(viewer: Viewer, { way, id, self, sight }: Target, args: Json): Reply {
    const { behaviour } = way.place;
    if (sight === undefined || behaviour.view === undefined) return unknownOffer;
    const why = offNow(sight.surface, way.inner);
    if (why !== undefined) return why === true ? unknownOffer : refused("NOT_NOW", why);
    try {
      return behaviour.view(sight.state, way.offer.action, args, { ...viewer, self }, id);
    } catch (cause) {
      if (cause instanceof EngineError) throw cause;
      this.#options.onFault?.(cause, id);
      throw new EngineError("CRASHED", `Looking at ${way.inner} of ${behaviour.kind} failed; nothing was changed.`, { cause });
    }
  }

  #call(viewer: Viewer, { way, id, self }: Target, args: Json, options: CallOptions): Promise<Reply> {
    const { place } = way;
    const isRoot = id === self;
    const mayBegin = isRoot || place.behaviour.begins === true || rootActor(place.behaviour, viewer) === id;
    const { clock, engine, flagFirst } = this.#options;
    const { key, answers, can, trace, signal, onProgress, onLog, onReceipt } = options;
    const message: Outgoing = {
      to: id,
      action: way.offer.action,
      args,
      viewer: { ...viewer, self },
      ...(mayBegin ? { start: null } : undefined),
      ...(isRoot ? this.#policy(viewer, place) : undefined),
      ...(trace === undefined ? undefined : { trace }),
    };
    const route = isRoot || key === undefined ? undefined : routeKey(viewer, self, way, key);
    if (route !== undefined) this.#routes.set(route, { id, at: clock.now() });
    let committed: Receipt | undefined;
    const committing = (receipt: Receipt): void => {
      committed = receipt;
      onReceipt?.(receipt);
    };
    return engine.call(message, { key, answers, can, trace, signal, onProgress, onLog, onReceipt: committing }).then(
      (reply) => {
        if (committed === undefined) {
          if (route !== undefined && !("ok" in reply)) this.#routes.delete(route);
          return reply;
        }
        const flagged = flagFirst(viewer.principal ?? self, committed);
        return flagged === undefined ? reply : flagged.then(() => reply);
      },
      (error: unknown) => {
        // A key that is another call's keeps the route of that call.
        const notApplied = error instanceof EngineError && error.applied === false && error.code !== "KEY_REUSED";
        if (route !== undefined && notApplied) this.#routes.delete(route);
        // Of somebody else, or ended since the link was read: for this viewer there is none.
        if (error instanceof EngineError && (error.code === "NO_ACTOR" || (error.code === "ACTOR_STOPPED" && !mayBegin)))
          return unknownOffer;
        throw error;
      },
    );
  }

  // What the linked actor sends back must find somebody, with the owner and the expiry that a handle gives.
  async #begin(viewer: Viewer, place: Place, self: ActorId): Promise<void> {
    const policy = this.#policy(viewer, place);
    await this.#options.engine.call({ to: self, action: "begin", args: null, viewer: { ...viewer, self }, start: null, ...policy });
  }

  #policy(viewer: Viewer, { behaviour, handled }: Place): Pick<Outgoing, "policy"> | undefined {
    const { handles } = this.#options;
    if (handled) return { policy: handles.policy(behaviour, viewer) };
    return behaviour.per === "user" && isPassing(viewer) ? { policy: handles.passing(behaviour) } : undefined;
  }

  async #routed(viewer: Viewer, { ways }: Planned, roots: ReadonlyMap<Place, ActorId>, { key }: CallOptions): Promise<Target | undefined> {
    if (key === undefined) return undefined;
    const { clock, engine } = this.#options;
    for (const way of ways) {
      const { behaviour, parent } = way.place;
      const self = roots.get(rootOf(way.place));
      const looks = way.offer.readOnly && behaviour.view !== undefined;
      if (self === undefined || parent === undefined || looks) continue;
      const route = this.#routes.get(routeKey(viewer, self, way, key));
      const here = route !== undefined && clock.now() - route.at < ROUTE_MS ? route.id : undefined;
      const id = here ?? (await engine.keyed?.(behaviour.kind, { ...viewer, self }, key));
      if (id !== undefined) return { way, id, self, unborn: false };
    }
    return undefined;
  }
}

function routeKey({ principal }: Viewer, self: ActorId, { place, inner }: Way, key: string): string {
  return JSON.stringify([principal ?? null, self, place.path, place.behaviour.kind, inner, key]);
}
