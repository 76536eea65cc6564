// Owns: the way of one call from a viewer to an actor. Does not own: access rules (actor-access.ts), turns (core/engine).

import {
  type ActorId,
  type CallOptions,
  type Clock,
  type Engine,
  EngineError,
  type Json,
  type Outgoing,
  type Reply,
  type Viewer,
} from "../../core/contract/index.ts";
import {
  andThen,
  BEGIN_ACTION,
  getOwn,
  hasBegun,
  hasOwn,
  invalidMessageReply,
  Lru,
  namedArguments,
  peerKey,
  ReceiptRecorder,
  withoutId,
} from "../../core/contract/internal.ts";
import { sha256Base64url } from "../../core/platform/index.ts";
import { isPassing, refused, type Refused, rootActor, unknownOffer } from "./actor-access.ts";
import type { ActorView, ActorViews, OnFault } from "./actor-views.ts";
import type { Handles } from "./handles.ts";
import { offNow, linkTarget, noTarget } from "./link-graph.ts";
import { pathTo, type PlannedOffer, rootOf, type Route, type Slot } from "./plan.ts";
import type { ViewerRoots } from "./viewers.ts";

/** The actor that a call goes to, by the links as they are now. */
interface Target {
  readonly route: Route;
  readonly id: ActorId;
  readonly self: ActorId;
  /** The root has not started yet. */
  readonly notStarted: boolean;
  /** Of the target itself; absent where its turn decides anyway. */
  readonly view?: ActorView;
}

export interface CallRouterOptions {
  readonly engine: Pick<Engine, "call" | "callNow" | "keyed" | "read" | "readNow">;
  readonly clock: Clock;
  readonly views: ActorViews;
  readonly handles: Handles;
  /** C8: settles when the subscribers of this viewer have been notified; undefined: they have been, or there are none. */
  readonly notifyFirst: (viewer: Viewer, self: ActorId, actor: string, seq: number | undefined) => Promise<unknown> | undefined;
  readonly onFault: OnFault;
}

// Shorter than any engine remembers keyed replies, so that a routed retry is never applied as a first call.
const RETRY_MS = 600_000;

/** Sends calls to the actors that answer them. */
export class CallRouter {
  readonly #options: CallRouterOptions;
  /**
   * C4: keys are scoped to the actor, and links change. A retry goes to the actor of the first call, or the actor that is linked now would
   * apply it again. Where another process took the first call, the engine knows.
   */
  readonly #retries = new Lru<string, { readonly id: ActorId; readonly at: number }>(4_096);
  /** Actors of sessions that are known to exist, or whose start was counted. */
  readonly #counted = new Lru<ActorId, true>(16_384);

  constructor(options: CallRouterOptions) {
    this.#options = options;
  }

  // The common call is to a root, whose turn decides: it needs no look and stays synchronous.
  act(roots: ViewerRoots, planned: PlannedOffer, args: Json, given: CallOptions): Reply | Promise<Reply> {
    const [route] = planned.routes;
    const options = given.key === undefined || roots.viewer.principal !== undefined ? given : withPeerKey(given, planned);
    const id = route !== undefined && planned.routes.length === 1 && !route.offer.readOnly ? roots.ids.get(route.slot) : undefined;
    if (route === undefined || id === undefined) return this.#actLinked(roots, planned, args, options);
    return this.#callCounted(roots, { route, id, self: id, notStarted: false }, args, options);
  }

  async #actLinked(roots: ViewerRoots, planned: PlannedOffer, args: Json, options: CallOptions): Promise<Reply> {
    const isRead = planned.routes[0]?.offer.readOnly === true;
    const target = (await this.#retried(roots, planned, options)) ?? (await this.resolve(roots, planned, isRead));
    if (target !== undefined && hasOwn(target, "refused")) return isUnknownUri(planned, target) ? unknownOffer : target;
    if (target === undefined) {
      const handled = planned.handleRoot !== undefined && planned.list !== "resources";
      return handled ? refused("NOT_NOW", `${planned.listed.name} is not possible now.`) : unknownOffer;
    }
    const { behaviour } = target.route.slot;
    if (target.route.offer.readOnly && behaviour.view !== undefined) return this.#view(roots, target, args);
    if (target.id !== target.self && target.notStarted) {
      // A call that is sure to be refused starts nothing.
      const seen = await this.resolve(roots, planned, true);
      if (seen !== undefined && hasOwn(seen, "refused")) return seen;
      const why = seen?.view && offNow(seen.view.surface, seen.route.inner);
      if (why !== undefined) return why === true ? unknownOffer : refused("NOT_NOW", why);
      const root = rootOf(target.route.slot);
      const tooMany = this.#isUncounted(roots.viewer, root, target.self) ? this.#count(roots, root, target.self, options) : undefined;
      if (tooMany !== undefined) return tooMany;
      await this.#begin(roots, root, target.self);
    }
    return this.#callCounted(roots, target, args, options);
  }

  /** The first call of an anonymous session starts an actor, which is counted for its peer. */
  #callCounted(roots: ViewerRoots, target: Target, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const { id, self, route } = target;
    const isCounted = id !== self || !this.#isUncounted(roots.viewer, route.slot, id);
    return isCounted ? this.#call(roots, target, args, options) : this.#countAndCall(roots, target, args, options);
  }

  // A method of its own: its closure would cost the calls that need none.
  #countAndCall(roots: ViewerRoots, target: Target, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const { engine } = this.#options;
    const { id, route } = target;
    return andThen(engine.readNow === undefined ? engine.read(id) : engine.readNow(id), (snapshot) => {
      const exists = snapshot !== undefined && snapshot.status !== "stopped";
      if (exists) this.#counted.set(id, true);
      const tooMany = exists ? undefined : this.#count(roots, route.slot, id, options);
      return tooMany ?? this.#call(roots, target, args, options);
    });
  }

  #isUncounted(viewer: Viewer, { behaviour, handled }: Slot, id: ActorId): boolean {
    return behaviour.per === "user" && !handled && isPassing(viewer) && this.#counted.get(id) === undefined;
  }

  #count({ viewer }: ViewerRoots, { behaviour }: Slot, id: ActorId, { peer }: CallOptions): Refused | undefined {
    // Of concurrent calls of a session that all found no actor, only the first is counted.
    if (this.#counted.get(id) !== undefined) return undefined;
    const tooMany = this.#options.handles.count(behaviour, viewer, peer);
    if (tooMany === undefined) this.#counted.set(id, true);
    return tooMany;
  }

  /** Follows the links as they are now, not as a list showed them (law 3). `look`: reads the target too. A refusal: why no link has a target. */
  async resolve(roots: ViewerRoots, planned: PlannedOffer, look: boolean): Promise<Target | Refused | undefined> {
    let why: Refused | undefined;
    for (const route of planned.routes) {
      const target = await this.#follow(roots, route, look);
      if (target !== undefined && !hasOwn(target, "refused")) return target;
      why ??= target;
    }
    return why;
  }

  /** The keys that the link by this argument takes now. Undefined: any, or the viewer has no such link. */
  async keysOf(roots: ViewerRoots, planned: PlannedOffer, argument: string): Promise<readonly string[] | undefined> {
    for (const route of planned.routes) {
      const slot = pathTo(route.slot).find(({ by }) => by === argument);
      const target = slot?.parent && (await this.#follow(roots, { ...route, slot: slot.parent }, true));
      if (slot === undefined || target === undefined || hasOwn(target, "refused")) continue;
      const keys = getOwn(target.view?.surface.linkKeys, slot.link);
      if (keys !== undefined) return keys === true ? undefined : keys;
    }
    return undefined;
  }

  async #follow(roots: ViewerRoots, route: Route, look: boolean): Promise<Target | Refused | undefined> {
    const steps = pathTo(route.slot);
    const self = roots.ids.get(rootOf(route.slot));
    if (self === undefined) return undefined;
    let id = self;
    let notStarted = false;
    for (const [i, slot] of steps.entries()) {
      const isLast = i === steps.length - 1;
      if (isLast && !look) return { route, id, self, notStarted };
      const view = await this.#options.views.see({ behaviour: slot.behaviour, id, viewer: roots.as(self), begins: i === 0 });
      if (view === undefined) return i === 0 ? undefined : noTarget(slot);
      notStarted ||= i === 0 && view.seq === 0;
      if (isLast) return { route, id, self, notStarted, view };
      const next = steps[i + 1];
      if (next === undefined) return undefined;
      const target = linkTarget(view.surface, next, roots);
      if (typeof target !== "string") return target;
      id = target;
    }
    return undefined;
  }

  /** Law 2: reads the last durable state. No mailbox, no event. */
  #view(roots: ViewerRoots, { route, id, self, view }: Target, args: Json): Reply {
    const { behaviour } = route.slot;
    if (view === undefined || behaviour.view === undefined) return unknownOffer;
    const why = offNow(view.surface, route.inner);
    if (why !== undefined) return why === true ? unknownOffer : refused("NOT_NOW", why);
    try {
      return hideUnknown(behaviour.view(view.state, route.offer.action, args, roots.as(self), id, this.#options.clock.now()));
    } catch (cause) {
      const refusal = invalidMessageReply(cause, { args });
      if (refusal !== undefined) return refusal;
      if (cause instanceof EngineError) throw cause;
      this.#options.onFault(cause, id);
      throw new EngineError("CRASHED", `Looking at ${route.inner} of ${behaviour.kind} failed; nothing was changed.`, { cause });
    }
  }

  #call(roots: ViewerRoots, { route, id, self }: Target, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const { slot } = route;
    const { clock, engine } = this.#options;
    const { viewer } = roots;
    const isRoot = id === self;
    const mayBegin = isRoot || slot.behaviour.autoStart === true || rootActor(slot.behaviour, viewer) === id;
    const retry = isRoot || options.key === undefined ? undefined : retryKey(roots, self, route, options.key);
    if (retry !== undefined) this.#retries.set(retry, { id, at: clock.now() });
    const message = messageTo(id, route.offer.action, namedArguments(route.argumentNames, args), roots.as(self), mayBegin);
    const policy = isRoot ? this.#policy(viewer, slot) : undefined;
    const { trace, deliver } = options;
    const whole =
      policy === undefined && trace === undefined ? message : { ...message, ...policy, ...(trace === undefined ? {} : { trace }) };
    // An engine with `callNow` has announced a change before it replies, so only others have to say what was committed.
    const keyed = isRoot || options.key === undefined ? options : { ...options, key: linkedKey(roots, self, route, options.key) };
    const recorder = retry === undefined && engine.callNow !== undefined ? undefined : new ReceiptRecorder(keyed);
    const sent = recorder?.options ?? keyed;
    const attempt: CallAttempt = { recorder, viewer, self, retry, mayBegin, id, linked: isRoot ? undefined : slot };
    try {
      const reply = deliver?.(whole, sent) ?? engine.callNow?.(whole, sent) ?? engine.call(whole, sent);
      return reply instanceof Promise ? this.#answeredLater(reply, attempt) : this.#answered(reply, attempt);
    } catch (error) {
      return this.#failed(error, attempt);
    }
  }

  // A method of its own: its closures would cost the calls that are answered at once.
  #answeredLater(reply: Promise<Reply>, attempt: CallAttempt): Promise<Reply> {
    return reply.then(
      (one) => this.#answered(one, attempt),
      (error: unknown) => this.#failed(error, attempt),
    );
  }

  // C8: the caller's own subscribers are notified before the reply. Without any, nothing is awaited.
  #answered(reply: Reply, { recorder, viewer, self, retry, id }: CallAttempt): Reply | Promise<Reply> {
    const receipt = recorder?.receipt;
    if (recorder !== undefined && receipt === undefined) {
      if (retry !== undefined && !hasOwn(reply, "ok")) this.#retries.delete(retry);
      return hideUnknown(reply);
    }
    const notified = this.#options.notifyFirst(viewer, self, receipt?.actor ?? id, receipt?.seq);
    return notified === undefined ? hideUnknown(reply) : hideUnknownAfter(notified, reply);
  }

  #failed(error: unknown, { retry, mayBegin, id, linked }: CallAttempt): Reply {
    // A key that another call used still routes the retries of that call.
    const notApplied = error instanceof EngineError && error.applied === false && error.code !== "KEY_REUSED";
    if (retry !== undefined && notApplied) this.#retries.delete(retry);
    // The actor is another viewer's, or has ended since the link was read.
    if (
      error instanceof EngineError &&
      (error.code === "NO_ACTOR" || (error.code === "ACTOR_STOPPED" && !mayBegin && hasBegun(error) !== true))
    )
      return linked === undefined ? unknownOffer : noTarget(linked);
    throw linked !== undefined && error instanceof EngineError ? withoutId(error, id, linked.behaviour.kind) : error;
  }

  // The root must exist before a linked actor replies to it, with the owner and expiry that a handle gives.
  async #begin(roots: ViewerRoots, slot: Slot, self: ActorId): Promise<void> {
    const policy = this.#policy(roots.viewer, slot);
    await this.#options.engine.call({ to: self, action: BEGIN_ACTION, args: null, viewer: roots.as(self), start: null, ...policy });
  }

  #policy(viewer: Viewer, { behaviour, handled }: Slot): Pick<Outgoing, "policy"> | undefined {
    const { handles } = this.#options;
    if (handled) return { policy: handles.policy(behaviour, viewer) };
    return behaviour.per === "user" && isPassing(viewer) ? { policy: handles.passing(behaviour) } : undefined;
  }

  async #retried(roots: ViewerRoots, { routes }: PlannedOffer, { key }: CallOptions): Promise<Target | undefined> {
    if (key === undefined) return undefined;
    const { clock, engine } = this.#options;
    for (const route of routes) {
      const { behaviour, parent } = route.slot;
      const self = roots.ids.get(rootOf(route.slot));
      const isRead = route.offer.readOnly && behaviour.view !== undefined;
      if (self === undefined || parent === undefined || isRead) continue;
      const retry = this.#retries.get(retryKey(roots, self, route, key));
      const known = retry !== undefined && clock.now() - retry.at < RETRY_MS ? retry.id : undefined;
      const id = known ?? (await engine.keyed?.(behaviour.kind, roots.as(self), linkedKey(roots, self, route, key)));
      if (id !== undefined) return { route, id, self, notStarted: false };
    }
    return undefined;
  }
}

/** Law 3: an offer that its actor hides answers like one that never was, without the actor's name for it. */
const hideUnknown = (reply: Reply): Reply => (hasOwn(reply, "refused") && reply.refused.code === "UNKNOWN" ? unknownOffer : reply);

// A function of its own: V8 allocates what a closure captures on each call of the function around it, and hardly any reply waits.
const hideUnknownAfter = (notified: Promise<unknown>, reply: Reply): Promise<Reply> => notified.then(() => hideUnknown(reply));

/** A URI with a key that means nothing here is like any other that no resource has. */
export const isUnknownUri = ({ list, keys }: PlannedOffer, { refused: { code } }: Refused): boolean =>
  list === "resources" && keys.length > 0 && (code === "NO_ACTOR" || code === "INVALID");

function messageTo(to: ActorId, action: string, args: Json, viewer: Viewer, mayBegin: boolean): Outgoing {
  return mayBegin ? { to, action, args, viewer, start: null } : { to, action, args, viewer };
}

/** What the end of a call needs to know of it. */
interface CallAttempt {
  /** Undefined: what was committed has been announced. */
  readonly recorder: ReceiptRecorder | undefined;
  readonly viewer: Viewer;
  readonly self: ActorId;
  readonly retry: string | undefined;
  readonly mayBegin: boolean;
  readonly id: ActorId;
  /** The slot of the actor, if a link leads to it. */
  readonly linked: Slot | undefined;
}

/** C4: callers without a principal share no keys. They are distinguished by handle, else by peer. */
function withPeerKey(options: CallOptions, { handleRoot }: PlannedOffer): CallOptions {
  if (handleRoot !== undefined || options.key === undefined) return options;
  return { ...options, key: peerKey(options.key, options.peer) };
}

function retryKey({ viewer, address }: ViewerRoots, self: ActorId, { slot, inner }: Route, key: string): string {
  return JSON.stringify([viewer.principal ?? null, self, slot.path, slot.behaviour.kind, inner, key, address?.text ?? null]);
}

/**
 * C4: the key of a call through links, with the way to its actor. An engine finds the actor of a key by its kind, so where several ways go to
 * actors of one kind, a call on one of them would otherwise be taken for a retry of a call on another, which had the same key.
 */
function linkedKey({ address }: ViewerRoots, self: ActorId, { slot }: Route, key: string): string {
  return `${key} ${sha256Base64url(JSON.stringify([self, slot.path, ...(address?.keys.values() ?? [])]))}`;
}
