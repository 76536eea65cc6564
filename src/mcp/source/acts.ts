// Owns: the way of one call from a viewer to an actor. Does not own: access rules (access.ts), turns (core/engine).

import {
  type ActorId,
  type Bag,
  type Behaviour,
  type CallOptions,
  type CancelSignal,
  type Clock,
  type Engine,
  type Json,
  type Log,
  type Offer,
  type Outgoing,
  type Progress,
  type Receipt,
  type Reply,
  type Snapshot,
  type Viewer,
  EngineError,
  isBag,
} from "../../core/contract/index.ts";
import { BEGIN_ACTION, invalidMessageReply, hasOwn, isActorId, kindOf, memoize, getOwn } from "../../core/contract/internal.ts";
import { notThere, offNow } from "./closure.ts";
import type { Handles } from "./handles.ts";
import { isPassing, rootActor } from "./access.ts";
import { Lru } from "./lru.ts";
import { type Place, type Planned, rootOf, type Way, wayTo } from "./plan.ts";
import { refused, type Refused, unknownOffer } from "./offers.ts";
import type { OnFault, Sight, Sights } from "./sight.ts";
import type { Standing } from "./viewers.ts";

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
  readonly engine: Pick<Engine, "call" | "callNow" | "keyed" | "read" | "readNow">;
  readonly clock: Clock;
  readonly sights: Sights;
  readonly handles: Handles;
  /** Settles when those who listen as this viewer have been flagged; undefined: nobody does. */
  readonly flagFirst: (viewer: Viewer, self: ActorId, receipt: Receipt) => Promise<unknown> | undefined;
  readonly onFault: OnFault;
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

  /** Actors of sessions that are known to exist, or whose start was counted: a later call needs no look at them. */
  readonly #counted = new Lru<ActorId, true>(16_384);

  constructor(options: ActsOptions) {
    this.#options = options;
  }

  // The common call is to a root, whose own turn decides: nobody has to look first, so nothing is waited for.
  act(standing: Standing, planned: Planned, args: Json, given: CallOptions): Reply | Promise<Reply> {
    const [way] = planned.ways;
    const options = given.key === undefined || standing.viewer.principal !== undefined ? given : ofNobody(given, way);
    const id = way !== undefined && planned.ways.length === 1 && !way.offer.readOnly ? standing.roots.get(way.place) : undefined;
    if (way === undefined || id === undefined) return this.#actLinked(standing, planned, args, options);
    return this.#callCounted(standing, { way, id, self: id, unborn: false }, args, options);
  }

  async #actLinked(standing: Standing, planned: Planned, args: Json, options: CallOptions): Promise<Reply> {
    const offer = planned.ways[0]?.offer;
    const views = offer?.readOnly === true;
    const target = (await this.#routed(standing, planned, options)) ?? (await this.resolve(standing, planned, views));
    if (typeof target === "string") return refused("NOT_NOW", target);
    if (target === undefined) {
      const handled = planned.ways[0]?.place.handled === true && planned.list !== "resources";
      return handled ? refused("NOT_NOW", `${planned.shown.name} is not possible now.`) : unknownOffer;
    }
    const { behaviour } = target.way.place;
    if (target.way.offer.readOnly && behaviour.view !== undefined) return this.#view(standing, target, args);
    if (target.id !== target.self && target.unborn) {
      // What is refused starts nothing, as far as can be seen before.
      const seen = await this.resolve(standing, planned, true);
      if (typeof seen === "string") return refused("NOT_NOW", seen);
      const why = seen?.sight && offNow(seen.sight.surface, seen.way.inner);
      if (why !== undefined) return why === true ? unknownOffer : refused("NOT_NOW", why);
      const root = rootOf(target.way.place);
      const tooMany = this.#isUncounted(standing.viewer, root, target.self) ? this.#count(standing, root, target.self, options) : undefined;
      if (tooMany !== undefined) return tooMany;
      await this.#begin(standing, root, target.self);
    }
    return this.#callCounted(standing, target, args, options);
  }

  /** The first call of a session starts an actor, which counts as one that its peer started. */
  #callCounted(standing: Standing, target: Target, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const { id, self, way } = target;
    if (id !== self || !this.#isUncounted(standing.viewer, way.place, id)) return this.#call(standing, target, args, options);
    const { engine } = this.#options;
    const counted = (snapshot: Snapshot | undefined): Reply | Promise<Reply> => {
      const exists = snapshot !== undefined && snapshot.status !== "stopped";
      if (exists) this.#counted.set(id, true);
      const tooMany = exists ? undefined : this.#count(standing, way.place, id, options);
      return tooMany ?? this.#call(standing, target, args, options);
    };
    const read = engine.readNow === undefined ? engine.read(id) : engine.readNow(id);
    return read instanceof Promise ? read.then(counted) : counted(read);
  }

  #isUncounted(viewer: Viewer, { behaviour, handled }: Place, id: ActorId): boolean {
    return behaviour.per === "user" && !handled && isPassing(viewer) && this.#counted.get(id) === undefined;
  }

  #count({ viewer }: Standing, { behaviour }: Place, id: ActorId, { peer }: CallOptions): Refused | undefined {
    // Of calls that a session sends at once, each of which found no actor, the first is counted.
    if (this.#counted.get(id) !== undefined) return undefined;
    const tooMany = this.#options.handles.count(behaviour, viewer, peer);
    if (tooMany === undefined) this.#counted.set(id, true);
    return tooMany;
  }

  /** Follows the links as they are now, whatever any list said (law 3). Text: they lead nowhere, for this reason. */
  async resolve(standing: Standing, planned: Planned, look: boolean): Promise<Target | string | undefined> {
    let why: string | undefined;
    for (const way of planned.ways) {
      const target = await this.#follow(standing, way, look);
      if (typeof target === "object") return target;
      why ??= target;
    }
    return why;
  }

  async #follow(standing: Standing, way: Way, look: boolean): Promise<Target | string | undefined> {
    const steps = wayTo(way.place);
    const self = standing.roots.get(rootOf(way.place));
    if (self === undefined) return undefined;
    let id = self;
    let unborn = false;
    for (const [i, place] of steps.entries()) {
      const isLast = i === steps.length - 1;
      if (isLast && !look) return { way, id, self, unborn };
      const sight = await this.#options.sights.see(place.behaviour, id, standing.as(self), i === 0);
      if (sight === undefined) return i === 0 ? undefined : notThere(place.behaviour);
      unborn ||= i === 0 && sight.seq === 0;
      if (isLast) return { way, id, self, unborn, sight };
      const next = steps[i + 1];
      if (next === undefined) return undefined;
      const target = sight.surface.links?.[next.link];
      // A link of a behaviour by hand may be no id at all: nobody is there.
      if (!isActorId(target) || kindOf(target) !== next.behaviour.kind) return getOwn(sight.surface.linksOff, next.link);
      id = target;
    }
    return undefined;
  }

  /** Law 2: of the last durable state. No mailbox, no event. */
  #view(standing: Standing, { way, id, self, sight }: Target, args: Json): Reply {
    const { behaviour } = way.place;
    if (sight === undefined || behaviour.view === undefined) return unknownOffer;
    const why = offNow(sight.surface, way.inner);
    if (why !== undefined) return why === true ? unknownOffer : refused("NOT_NOW", why);
    try {
      return alike(behaviour.view(sight.state, way.offer.action, args, standing.as(self), id));
    } catch (cause) {
      const refusal = invalidMessageReply(cause, { args });
      if (refusal !== undefined) return refusal;
      if (cause instanceof EngineError) throw cause;
      this.#options.onFault(cause, id);
      throw new EngineError("CRASHED", `Looking at ${way.inner} of ${behaviour.kind} failed; nothing was changed.`, { cause });
    }
  }

  #call(standing: Standing, { way, id, self }: Target, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const { place } = way;
    const { clock, engine } = this.#options;
    const { viewer } = standing;
    const isRoot = id === self;
    const mayBegin = isRoot || place.behaviour.begins === true || rootActor(place.behaviour, viewer) === id;
    const route = isRoot || options.key === undefined ? undefined : routeKey(viewer, self, way, options.key);
    if (route !== undefined) this.#routes.set(route, { id, at: clock.now() });
    const message = messageTo(id, way.offer.action, namedArguments(way.offer, args), standing.as(self), mayBegin);
    const policy = isRoot ? this.#policy(viewer, place) : undefined;
    const { trace, deliver } = options;
    const whole =
      policy === undefined && trace === undefined ? message : { ...message, ...policy, ...(trace === undefined ? {} : { trace }) };
    const asked = new Asked(options);
    const end: End = { asked, viewer, self, route, mayBegin, id, linked: isRoot ? undefined : place.behaviour };
    try {
      const reply = deliver?.(whole, asked) ?? engine.callNow?.(whole, asked) ?? engine.call(whole, asked);
      return reply instanceof Promise ? this.#late(reply, end) : this.#answered(reply, end);
    } catch (error) {
      return this.#failed(error, end);
    }
  }

  // Apart: its closures would be paid for by calls that need none.
  #late(reply: Promise<Reply>, end: End): Promise<Reply> {
    return reply.then(
      (one) => this.#answered(one, end),
      (error: unknown) => this.#failed(error, end),
    );
  }

  // C8: who listens as this viewer is told before it is answered. Where nobody does, nothing is waited for.
  #answered(reply: Reply, { asked: { committed }, viewer, self, route }: End): Reply | Promise<Reply> {
    if (committed === undefined) {
      if (hasOwn(reply, "ok")) return reply;
      if (route !== undefined) this.#routes.delete(route);
      return alike(reply);
    }
    const flagged = this.#options.flagFirst(viewer, self, committed);
    return flagged === undefined ? alike(reply) : flagged.then(() => alike(reply));
  }

  #failed(error: unknown, { route, mayBegin, id, linked }: End): Reply {
    // A key that is another call's keeps the route of that call.
    const notApplied = error instanceof EngineError && error.applied === false && error.code !== "KEY_REUSED";
    if (route !== undefined && notApplied) this.#routes.delete(route);
    // Of somebody else, or ended since the link was read: for this viewer there is none.
    if (error instanceof EngineError && (error.code === "NO_ACTOR" || (error.code === "ACTOR_STOPPED" && !mayBegin)))
      return linked === undefined ? unknownOffer : refused("NOT_NOW", notThere(linked));
    throw linked !== undefined && error instanceof EngineError ? withoutId(error, id, linked) : error;
  }

  // What the linked actor sends back must find somebody, with the owner and the expiry that a handle gives.
  async #begin(standing: Standing, place: Place, self: ActorId): Promise<void> {
    const policy = this.#policy(standing.viewer, place);
    await this.#options.engine.call({ to: self, action: BEGIN_ACTION, args: null, viewer: standing.as(self), start: null, ...policy });
  }

  #policy(viewer: Viewer, { behaviour, handled }: Place): Pick<Outgoing, "policy"> | undefined {
    const { handles } = this.#options;
    if (handled) return { policy: handles.policy(behaviour, viewer) };
    return behaviour.per === "user" && isPassing(viewer) ? { policy: handles.passing(behaviour) } : undefined;
  }

  async #routed(standing: Standing, { ways }: Planned, { key }: CallOptions): Promise<Target | undefined> {
    if (key === undefined) return undefined;
    const { clock, engine } = this.#options;
    for (const way of ways) {
      const { behaviour, parent } = way.place;
      const self = standing.roots.get(rootOf(way.place));
      const looks = way.offer.readOnly && behaviour.view !== undefined;
      if (self === undefined || parent === undefined || looks) continue;
      const route = this.#routes.get(routeKey(standing.viewer, self, way, key));
      const here = route !== undefined && clock.now() - route.at < ROUTE_MS ? route.id : undefined;
      const id = here ?? (await engine.keyed?.(behaviour.kind, standing.as(self), key));
      if (id !== undefined) return { way, id, self, unborn: false };
    }
    return undefined;
  }
}

/** The key of an actor that a link leads to may be another user's name. */
function withoutId(error: EngineError, id: ActorId, { kind }: Behaviour): EngineError {
  if (!error.message.includes(id)) return error;
  const { code, applied, data } = error;
  const message = error.message.replaceAll(id, `the ${kind}`).replace(/^t/, "T");
  return new EngineError(code, message, { applied, cause: error, ...(data === undefined ? {} : { data }) });
}

/** Law 3: what an actor hides answers as what never was, without the name that the actor knows it by. */
const alike = (reply: Reply): Reply => (hasOwn(reply, "refused") && reply.refused.code === "UNKNOWN" ? unknownOffer : reply);

const NONE: Bag = Object.freeze({});

/** Keywords of JSON Schema by which an object may have members that its `properties` do not name. */
const OPEN_KEYWORDS = [
  "additionalProperties",
  "patternProperties",
  "unevaluatedProperties",
  "propertyNames",
  "dependentSchemas",
  "dependencies",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
];

/** The arguments an offer names; null: it does not say, or takes others too. */
const namesIn = memoize(({ definition }: Offer): ReadonlySet<string> | null => {
  const schema = definition["inputSchema"];
  const properties = isBag(schema) ? schema["properties"] : undefined;
  if (!isBag(schema) || !isBag(properties) || OPEN_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword))) return null;
  return new Set(Object.keys(properties));
});

/**
 * The arguments without those that the offer does not name: its actor would ignore them, and its chain would keep them for ever. A
 * turn's arguments are frozen, which takes longer than to see that there are none: those are one object, and frozen already.
 */
function namedArguments(offer: Offer, args: Json): Json {
  if (!isBag(args)) return args;
  const names = namesIn(offer);
  let any = false;
  for (const name in args) {
    if (names?.has(name) === false) return Object.fromEntries(Object.entries(args).filter(([one]) => names.has(one)));
    any = true;
  }
  return any ? args : NONE;
}

function messageTo(to: ActorId, action: string, args: Json, viewer: Viewer, mayBegin: boolean): Outgoing {
  return mayBegin ? { to, action, args, viewer, start: null } : { to, action, args, viewer };
}

/** What a call's end needs to know of it. */
interface End {
  readonly asked: Asked;
  readonly viewer: Viewer;
  readonly self: ActorId;
  readonly route: string | undefined;
  readonly mayBegin: boolean;
  readonly id: ActorId;
  /** Of an actor that a link leads to. */
  readonly linked: Behaviour | undefined;
}

/** What a caller asks of the engine, and what came of it. */
class Asked implements CallOptions {
  readonly key: string | undefined;
  readonly answers: Bag | undefined;
  readonly can: readonly string[] | undefined;
  readonly trace: Bag | undefined;
  readonly signal: CancelSignal | undefined;
  readonly onProgress: Progress | undefined;
  readonly onLog: Log | undefined;
  readonly onReceipt: (receipt: Receipt) => void;
  #committed: Receipt | undefined;

  constructor({ key, answers, can, trace, signal, onProgress, onLog, onReceipt }: CallOptions) {
    this.key = key;
    this.answers = answers;
    this.can = can;
    this.trace = trace;
    this.signal = signal;
    this.onProgress = onProgress;
    this.onLog = onLog;
    this.onReceipt = (receipt) => {
      this.#committed = receipt;
      onReceipt?.(receipt);
    };
  }

  get committed(): Receipt | undefined {
    return this.#committed;
  }
}

/**
 * C4: callers without a principal share no keys, which one could guess of another. A handle tells its caller apart, else the
 * peer does; who cannot be told apart has no key.
 */
function ofNobody(options: CallOptions, way: Way | undefined): CallOptions {
  const { key, peer } = options;
  if (way?.place.handled === true) return options;
  return { ...options, key: peer === undefined ? undefined : `${peer} ${key}` };
}

function routeKey({ principal }: Viewer, self: ActorId, { place, inner }: Way, key: string): string {
  return JSON.stringify([principal ?? null, self, place.path, place.behaviour.kind, inner, key]);
}
