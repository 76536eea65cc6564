// Owns: actors as a source, and calls as a given actor. Does not own: the way of a call (call-router.ts), links (link-graph.ts),
// notification (subscribers.ts).

import {
  type ActorId,
  type JsonObject,
  type Behaviour,
  type CallOptions,
  type Catalogue,
  checkOptions,
  type Clock,
  type ContentOf,
  type Dirty,
  type Engine,
  type Entropy,
  FUNCTION,
  type Index,
  isJsonObject,
  type Json,
  type OfferRef,
  type OptionRule,
  type OptionTable,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  systemEntropy,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { andThen, checkNeeded, getOwn, hasOwn, INDEXES, kindOf, KINDS } from "../../core/contract/internal.ts";
import { lacksScope, type Refused, scopeRefusal, unknownOffer } from "./actor-access.ts";
import { ActorViews, type OnFault } from "./actor-views.ts";
import { splitAddress, makePlan, pathTo, type Plan, type PlannedOffer, type Slot } from "./plan.ts";
import { CallRouter, type CallRouterOptions, isUnknownUri } from "./call-router.ts";
import { SubscribedContent } from "./content-marks.ts";
import { Handles } from "./handles.ts";
import { indexSource } from "./index-source.ts";
import { LinkGraphs, offNow, rootsOf, selfAsRoot } from "./link-graph.ts";
import type { ListMode } from "./lists.ts";
import { checkNames, merge } from "./merge.ts";
import { checkName, describeSource, type Names, NAMES, type NameStyle, namesOf, offersOf } from "./names.ts";
import { Subscriber, Subscriptions } from "./subscribers.ts";
import { RootsCache, ViewerRoots } from "./viewers.ts";

/** What `cast` takes. */
export interface CastOptions {
  readonly engine: Engine;
  /** All kinds that a viewer may reach: roots (`per` other than "link") and what they link to. */
  readonly kinds: readonly Behaviour[];
  /** Indexes that the engine was started with: each is a resource at its `uri`, and its `tool`. */
  readonly indexes?: readonly Index[];
  /** The only root is the viewer's `self`, of this kind, whatever its `per`. For transports that address actors by id. */
  readonly as?: string;
  /** Only this kind has roots. For transports where a caller names the kind. */
  readonly only?: string;
  /** Default `dynamic`. `static` lists change only where offers are hidden. */
  readonly listMode?: ListMode;
  /** How the names of links and their offers are joined. Default `underscores`: `child__look`. */
  readonly names?: NameStyle | Names;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /**
   * `expireMs` (default 24 hours): after how long without a call a handle and the actor of an anonymous session expire, where the kind's
   * policy does not say. `secret`: the same in all processes that serve these actors, and after a restart (default: random, so that a
   * handle that was not used yet ends with the process).
   */
  readonly handles?: { readonly expireMs?: number; readonly secret?: Uint8Array };
  readonly instructions?: string;
  /** Receives what a behaviour threw in `surface` or `initial`, and names that could not join. Default: ignored. */
  readonly onFault?: (error: unknown, actor: ActorId) => void;
}

const MAX_COMPLETIONS = 100;

const ENGINE: OptionRule = [
  "an engine: await LocalEngine.start({ kinds, store })",
  (value) => isJsonObject(value) && typeof value["call"] === "function",
];

const OPTIONS: OptionTable<CastOptions> = {
  engine: ENGINE,
  kinds: KINDS,
  indexes: INDEXES,
  as: true,
  only: true,
  listMode: true,
  names: NAMES,
  clock: true,
  entropy: true,
  handles: true,
  instructions: true,
  onFault: FUNCTION,
};

/**
 * The actors that a viewer reaches, as a source: its roots and what they link to. Throws `NAME_COLLISION`, `BAD_NAME` or `BAD_DEFINITION`
 * where the kinds do not fit together, `BAD_OPTION` where an option cannot work.
 */
export function cast(options: CastOptions): Source {
  checkOptions("cast", options, OPTIONS);
  checkNeeded("engine", options.engine, ENGINE);
  checkNeeded("kinds", options.kinds, KINDS);
  const source = new ActorSource(options);
  describeSource(source, `the cast of ${options.kinds.map(({ kind }) => kind).join(", ")}`);
  const { engine, kinds, onFault } = options;
  const indexes = (options.indexes ?? []).filter(({ uri, tool }) => uri !== undefined || tool !== undefined);
  if (indexes.length === 0) return source;
  const names = namesOf(options.names ?? "underscores");
  for (const { name, tool } of indexes) if (tool !== undefined) checkName(names, "tools", tool, `The index ${name}`);
  const found = indexSource({ engine, indexes, kinds, onFault: (error, { kind }) => onFault?.(error, `${kind}/unread`) });
  checkNames(source, found);
  return merge(source, found);
}

/** Viewers with a principal, or those without: each group has one plan. */
interface ViewerGroup {
  readonly plan: Plan;
  readonly graphs: LinkGraphs;
  readonly roots: RootsCache;
  readonly subscriptions: Subscriptions;
}

/** What an offer is called with: the roots from which its actor is reached, and the arguments without those that say which it is. */
interface Origin {
  readonly roots: ViewerRoots;
  readonly args: Json;
}

class ActorSource implements Source {
  readonly instructions?: string;
  readonly #onFault: OnFault;
  readonly #handles: Handles;
  readonly #router: CallRouter;
  readonly #known: ViewerGroup;
  readonly #anonymous: ViewerGroup;

  constructor(options: CastOptions) {
    const { engine, as, only, clock = systemClock, entropy = systemEntropy, listMode = "dynamic", handles = {} } = options;
    const names = namesOf(options.names ?? "underscores");
    const onFault = (this.#onFault = options.onFault ?? (() => undefined));
    if (options.instructions !== undefined) this.instructions = options.instructions;
    const kinds = new Map(options.kinds.map((behaviour) => [behaviour.kind, behaviour]));
    if (kinds.size < options.kinds.length)
      throw new TroupeError(
        "NAME_COLLISION",
        `Two of the kinds ${options.kinds.map(({ kind }) => kind).join(", ")} have the same name: rename one.`,
      );
    const expireMs = handles.expireMs ?? 86_400_000;
    const views = new ActorViews({ engine, clock, onFault });
    this.#handles = new Handles({ engine, clock, entropy, expireMs, secret: handles.secret });
    const notifyFirst: CallRouterOptions["notifyFirst"] = (viewer, self, actor, seq) =>
      this.#groupOf(viewer).subscriptions.notifyFirst(viewer.principal ?? self, actor, seq);
    this.#router = new CallRouter({ engine, clock, views, handles: this.#handles, notifyFirst, onFault });
    const perUser = as === undefined && options.kinds.some(({ kind, per }) => per === "user" && (only === undefined || kind === only));
    const groupFor = (known: boolean): ViewerGroup => {
      const plan = makePlan({ kinds, names, expireMs, known, as, only });
      const graphs = new LinkGraphs(plan, { kinds, names, views, onFault });
      const shared = perUser || as !== undefined ? undefined : rootsOf(plan, { scopes: [] });
      const idsOf = (viewer: Viewer): ReadonlyMap<Slot, ActorId> =>
        shared ?? (as === undefined ? rootsOf(plan, viewer) : selfAsRoot(plan, viewer));
      return { plan, graphs, roots: new RootsCache(idsOf), subscriptions: new Subscriptions({ engine, listMode, graphs, onFault }) };
    };
    this.#known = groupFor(true);
    // Without a kind per user, all viewers have the same catalogue: one object, so that one list serves all.
    this.#anonymous = perUser ? groupFor(false) : this.#known;
  }

  surface(viewer: Viewer): Surface | Promise<Surface> {
    const { graphs, roots, subscriptions } = this.#groupOf(viewer);
    const of = roots.of(viewer);
    const surface = graphs.surfaceFor(of);
    // Notifications read surfaces, so the common case calls nothing through a helper.
    if (surface instanceof Promise) return andThen(surface, handOut, subscriptions, of);
    subscriptions.handedOut(of, surface);
    return surface;
  }

  catalogue(viewer: Viewer): Catalogue | undefined {
    const { plan } = this.#groupOf(viewer);
    return plan.open ? undefined : plan.catalogue;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.actNow(viewer, ref, args, options);
  }

  // The common call, of a planned offer that needs no handle, waits for nothing here.
  actNow(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const { plan, roots } = this.#groupOf(viewer);
    const planned = plan.offers.get(ref);
    if (planned === undefined || isAddressed(planned) || lacksScope(planned.scopes, viewer))
      return this.#actLater(viewer, ref, args, options);
    return this.#router.act(roots.of(viewer), planned, args, options);
  }

  async #actLater(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    const minting = this.#groupOf(viewer).plan.handleTools.get(ref);
    if (minting !== undefined) {
      const { behaviour } = minting.root;
      return minting.does === "start" ? this.#handles.start(behaviour, viewer, options.peer) : this.#handles.end(behaviour, viewer, args);
    }
    const planned = await this.#find(viewer, ref);
    if (planned === undefined) return unknownOffer;
    const lacks = lacksScope(planned.scopes, viewer);
    const origin = await this.#originOf(viewer, planned, args);
    if (hasOwn(origin, "refused")) {
      // Which actor is meant is unknown, so nothing can be hidden.
      if (lacks) return scopeRefusal(planned.scopes, viewer);
      const isUnknown = isUnknownUri(planned, origin) || (planned.list === "resources" && origin.refused.code === "HANDLE");
      return isUnknown ? unknownOffer : origin;
    }
    return lacks ? this.#refuseScopes(origin.roots, planned) : this.#router.act(origin.roots, planned, origin.args, options);
  }

  /** Law 3: a hidden offer is unknown, whatever scopes it needs. */
  async #refuseScopes(roots: ViewerRoots, planned: PlannedOffer): Promise<Reply> {
    const target = await this.#router.resolve(roots, planned, true);
    if (target !== undefined && hasOwn(target, "refused")) return scopeRefusal(planned.scopes, roots.viewer);
    const hidden = target?.view === undefined || offNow(target.view.surface, target.route.inner) === true;
    return hidden ? unknownOffer : scopeRefusal(planned.scopes, roots.viewer);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    const { plan, roots, subscriptions } = this.#groupOf(viewer);
    const planned = only && plan.offers.get(only.ref);
    if (planned !== undefined && lacksScope(planned.scopes, viewer)) return () => undefined;
    if (only !== undefined && planned !== undefined && isAddressed(planned)) return this.#watchAddressed(viewer, dirty, only, planned);
    const of = roots.of(viewer);
    return subscriptions.add(new Subscriber(of, dirty, only && new SubscribedContent(of, only), contents), viewer.principal);
  }

  #watchAddressed(viewer: Viewer, dirty: Dirty, { ref, args }: ContentOf, planned: PlannedOffer): () => void {
    let undo: (() => void) | undefined;
    let isClosed = false;
    const { subscriptions } = this.#groupOf(viewer);
    const begin = async (): Promise<void> => {
      const origin = await this.#originOf(viewer, planned, args);
      if (isClosed || hasOwn(origin, "refused")) return;
      const { roots } = origin;
      const content = new SubscribedContent(roots, { ref, args: origin.args });
      undo = subscriptions.add(new Subscriber(roots, dirty, content), viewer.principal ?? roots.first);
    };
    begin().catch((error: unknown) => this.#onFault(error, `${planned.routes[0]?.slot.behaviour.kind ?? "cast"}/unread`));
    return () => {
      isClosed = true;
      undo?.();
    };
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: JsonObject): Promise<readonly string[]> {
    const planned = await this.#find(viewer, ref);
    if (planned === undefined || lacksScope(planned.scopes, viewer)) return [];
    const at = planned.keys.findIndex(({ name }) => name === argument);
    const origin = await this.#originOf(viewer, planned, others, at < 0 ? planned.keys : planned.keys.slice(0, at));
    if (hasOwn(origin, "refused")) return [];
    const values = at < 0 ? await this.#choicesOf(origin, planned, argument) : await this.#router.keysOf(origin.roots, planned, argument);
    const typed = value.toLowerCase();
    return values?.filter((one) => one.toLowerCase().startsWith(typed)).slice(0, MAX_COMPLETIONS) ?? [];
  }

  async #choicesOf({ roots }: Origin, planned: PlannedOffer, argument: string): Promise<readonly string[] | undefined> {
    const target = await this.#router.resolve(roots, planned, true);
    if (target === undefined || hasOwn(target, "refused") || target.view === undefined) return undefined;
    const { surface } = target.view;
    const isOn = offNow(surface, target.route.inner) === undefined;
    return isOn ? getOwn(getOwn(surface.choices, target.route.inner), argument) : undefined;
  }

  #groupOf(viewer: Viewer): ViewerGroup {
    return viewer.principal === undefined ? this.#anonymous : this.#known;
  }

  /** A planned offer, or one of a catalogue that is not known ahead. */
  async #find(viewer: Viewer, ref: OfferRef): Promise<PlannedOffer | undefined> {
    const { plan, graphs, roots } = this.#groupOf(viewer);
    const planned = plan.offers.get(ref);
    return planned === undefined && plan.open ? (await graphs.of(roots.of(viewer))).offer(ref) : planned;
  }

  /** `keys`: the arguments that name keys. */
  async #originOf(viewer: Viewer, planned: PlannedOffer, args: Json, keys = planned.keys): Promise<Origin | Refused> {
    const { handleRoot } = planned;
    const origin =
      handleRoot === undefined
        ? { roots: this.#groupOf(viewer).roots.of(viewer), args }
        : await this.#rootByHandle(viewer, handleRoot, args);
    if (planned.keys.length === 0 || hasOwn(origin, "refused")) return origin;
    const slots = new Set(planned.routes.flatMap(({ slot }) => pathTo(slot)));
    const split = splitAddress(planned.ref, keys, slots, origin.args);
    return hasOwn(split, "refused") ? split : { roots: origin.roots.at(split.address), args: split.args };
  }

  async #rootByHandle(viewer: Viewer, root: Slot, args: Json): Promise<Origin | Refused> {
    const found = await this.#handles.find(root.behaviour, viewer, args);
    return hasOwn(found, "refused") ? found : { roots: new ViewerRoots(viewer, new Map([[root, found.id]])), args: found.args };
  }
}

/** Whether its arguments say which actor a call of the offer is about. */
const isAddressed = ({ handleRoot, keys }: PlannedOffer): boolean => handleRoot !== undefined || keys.length > 0;

function handOut(surface: Surface, subscriptions: Subscriptions, roots: ViewerRoots): Surface {
  subscriptions.handedOut(roots, surface);
  return surface;
}

/**
 * Calls what a given actor offers, or is offered through its links now. For transports that address actors by id, and decide themselves
 * who may act as which actor.
 */
export class Acting {
  readonly #options: Omit<CastOptions, "as">;
  /** By kind: each has a plan of its own, so the names of different kinds cannot collide. */
  readonly #sources = new Map<string, Source>();

  constructor(options: Omit<CastOptions, "as">) {
    this.#options = options;
  }

  /** False: that actor is never offered this, in any state. Throws what `cast` throws, like `act`. */
  mayOffer(self: ActorId, ref: OfferRef): boolean {
    const source = this.#sourceOf(self);
    if (source === undefined) return false;
    const catalogue = source.catalogue?.({ self, scopes: [] });
    return catalogue === undefined || offersOf(catalogue).has(ref);
  }

  /** Refuses with `UNKNOWN` what this actor is not offered, with `SCOPE` what the viewer's token does not allow. */
  async act(self: ActorId, viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.#sourceOf(self)?.act({ ...viewer, self }, ref, args, options) ?? unknownOffer;
  }

  #sourceOf(self: ActorId): Source | undefined {
    const as = kindOf(self);
    let source = this.#sources.get(as);
    if (source === undefined && this.#options.kinds.some(({ kind }) => kind === as))
      this.#sources.set(as, (source = cast({ ...this.#options, as })));
    return source;
  }
}
