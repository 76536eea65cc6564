// Owns: actors as a source, and calls as one given actor. Does not own: the way of a call (acts.ts), links (closure.ts), notification (watches.ts).

import {
  type ActorId,
  type Bag,
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
  isBag,
  type Json,
  type OfferRef,
  type OptionRule,
  type OptionTable,
  type Receipt,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  systemEntropy,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { checkNeeded, hasOwn, KINDS, getOwn, kindOf } from "../../core/contract/internal.ts";
import { lacksScope, scopeRefusal } from "./access.ts";
import { Acts } from "./acts.ts";
import { Closures, offNow, rootsOf, selfAsRoot } from "./closure.ts";
import { Content } from "./content-marks.ts";
import { Ear } from "./ears.ts";
import { Handles } from "./handles.ts";
import { dotted, type Names } from "./names.ts";
import { makePlan, type Place, type Plan, type Planned, rootOf } from "./plan.ts";
import type { Posture } from "./posture.ts";
import { unknownOffer, offersOf } from "./offers.ts";
import { type OnFault, Sights } from "./sight.ts";
import { describeSource } from "./source-description.ts";
import { Standing, Standings } from "./viewers.ts";
import { Watches } from "./watches.ts";

export interface CastOptions {
  readonly engine: Engine;
  /** All kinds a viewer may meet: roots (`per` other than "link") and whatever they link to. */
  readonly kinds: readonly Behaviour[];
  /** Of this kind alone are its roots, whatever its `per`, and a viewer acts as the one that its `self` names. For doors that reach actors by their ids. */
  readonly as?: string;
  /** Of this kind alone are its roots. For transports where a caller names the kind. */
  readonly only?: string;
  /** Default `dynamic`. Under `gated` lists change only in what is hidden. */
  readonly posture?: Posture;
  /** Default `dotted`. */
  readonly names?: Names;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** `expireMs` (default 24 hours): how long a handle, and what a session without a name began, is kept without a call, where the kind's policy does not say. `secret`: share it between processes that serve one set of actors, and keep it over restarts (default: random, so that a handle not used yet ends with the process). */
  readonly handles?: { readonly expireMs?: number; readonly secret?: Uint8Array };
  readonly instructions?: string;
  /** A behaviour that threw in `surface` or `initial`, a name that could not join. Default: nobody is told. */
  readonly onFault?: (error: unknown, actor: ActorId) => void;
}

const COMPLETIONS = 100;

const ENGINE: OptionRule = [
  "an engine: await LocalEngine.start({ kinds, store })",
  (value) => isBag(value) && typeof value["call"] === "function",
];

const OPTIONS: OptionTable<CastOptions> = {
  engine: ENGINE,
  kinds: KINDS,
  as: true,
  only: true,
  posture: true,
  names: true,
  clock: true,
  entropy: true,
  handles: true,
  instructions: true,
  onFault: FUNCTION,
};

/**
 * The actors a viewer meets, as a source: its roots and the closure of their links. Throws `NAME_COLLISION`, `BAD_NAME`
 * or `BAD_DEFINITION` where the kinds do not fit together, `DOOR_OPTION` where an option cannot work.
 */
export function cast(options: CastOptions): Source {
  checkOptions("cast", options, OPTIONS);
  checkNeeded("engine", options.engine, ENGINE);
  checkNeeded("kinds", options.kinds, KINDS);
  const source = new Cast(options);
  describeSource(source, `the cast of ${options.kinds.map(({ kind }) => kind).join(", ")}`);
  return source;
}

/** What viewers with a principal, or those without, can meet. */
interface Meeting {
  readonly plan: Plan;
  readonly closures: Closures;
  readonly standings: Standings;
  readonly watches: Watches;
}

class Cast implements Source {
  readonly instructions?: string;
  readonly #onFault: OnFault;
  readonly #kinds: ReadonlyMap<string, Behaviour>;
  readonly #sights: Sights;
  readonly #handles: Handles;
  readonly #acts: Acts;
  readonly #known: Meeting;
  readonly #unknown: Meeting;

  constructor(options: CastOptions) {
    const {
      engine,
      kinds,
      as,
      only,
      clock = systemClock,
      entropy = systemEntropy,
      names = dotted,
      posture = "dynamic",
      handles = {},
    } = options;
    const onFault = (this.#onFault = options.onFault ?? (() => undefined));
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#kinds = new Map(kinds.map((behaviour) => [behaviour.kind, behaviour]));
    if (this.#kinds.size < kinds.length)
      throw new TroupeError(
        "NAME_COLLISION",
        `Two of the kinds ${[...kinds].map(({ kind }) => kind).join(", ")} have the same name: rename one.`,
      );
    const expireMs = handles.expireMs ?? 86_400_000;
    this.#sights = new Sights({ engine, clock, onFault });
    this.#handles = new Handles({ engine, clock, entropy, expireMs, secret: handles.secret });
    // C8: on one ordered stream the flag goes before the reply.
    const flagFirst = (viewer: Viewer, self: ActorId, receipt: Receipt): Promise<unknown> | undefined =>
      this.#for(viewer).watches.flagFirst(viewer.principal ?? self, receipt);
    this.#acts = new Acts({ engine, clock, sights: this.#sights, handles: this.#handles, flagFirst, onFault });
    const perUser = as === undefined && kinds.some(({ kind, per }) => per === "user" && (only === undefined || kind === only));
    const planFor = (known: boolean): Meeting => {
      const plan = makePlan({ kinds: this.#kinds, names, expireMs, known, as, only });
      const closures = new Closures(plan, { kinds: this.#kinds, names, sights: this.#sights, onFault });
      const shared = perUser || as !== undefined ? undefined : rootsOf(plan, { scopes: [] });
      const standingFor = (viewer: Viewer): ReadonlyMap<Place, ActorId> =>
        as === undefined ? rootsOf(plan, viewer) : selfAsRoot(plan, viewer);
      return {
        plan,
        closures,
        standings: new Standings((viewer) => shared ?? standingFor(viewer)),
        watches: new Watches({ engine, posture, closures, onFault }),
      };
    };
    this.#known = planFor(true);
    // Without a kind per user, everybody meets the same catalogue: one object, so that one list serves all.
    this.#unknown = perUser ? planFor(false) : this.#known;
  }

  surface(viewer: Viewer): Surface | Promise<Surface> {
    const meeting = this.#for(viewer);
    const standing = meeting.standings.of(viewer);
    const surface = meeting.closures.surfaceFor(standing);
    if (surface instanceof Promise) return this.#surfaceLate(meeting, standing, surface);
    meeting.watches.gave(standing, surface);
    return surface;
  }

  async #surfaceLate({ watches }: Meeting, standing: Standing, late: Promise<Surface>): Promise<Surface> {
    const surface = await late;
    watches.gave(standing, surface);
    return surface;
  }

  catalogue(viewer: Viewer): Catalogue | undefined {
    const { plan } = this.#for(viewer);
    return plan.open ? undefined : plan.catalogue;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.actNow(viewer, ref, args, options);
  }

  // The common call waits for nothing here: what is planned and stands under a root goes straight on.
  actNow(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const { plan, standings } = this.#for(viewer);
    const planned = plan.offers.get(ref);
    if (planned === undefined || planned.ways[0]?.place.handled !== false || lacksScope(planned.scopes, viewer))
      return this.#actElsewhere(viewer, ref, args, options);
    return this.#acts.act(standings.of(viewer), planned, args, options);
  }

  /** What mints and ends handles, what stands under one, and what only the links as they are now can tell. */
  async #actElsewhere(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    const { plan, standings } = this.#for(viewer);
    const minting = plan.handleTools.get(ref);
    if (minting !== undefined) {
      const { behaviour } = minting.root;
      return minting.does === "start" ? this.#handles.start(behaviour, viewer, options.peer) : this.#handles.end(behaviour, viewer, args);
    }
    const planned = plan.offers.get(ref) ?? (plan.open ? await this.#findOpen(viewer, ref) : undefined);
    const first = planned?.ways[0];
    if (planned === undefined || first === undefined) return unknownOffer;
    const lacks = lacksScope(planned.scopes, viewer);
    if (!first.place.handled) {
      const standing = standings.of(viewer);
      return lacks ? this.#refuseScopes(standing, planned) : this.#acts.act(standing, planned, args, options);
    }
    const root = rootOf(first.place);
    const found = await this.#handles.find(root.behaviour, viewer, args);
    if (hasOwn(found, "refused")) {
      // Which actor is meant cannot be found out, so nothing can be hidden.
      if (lacks) return scopeRefusal(planned.scopes, viewer);
      return planned.list === "resources" && found.refused.code === "HANDLE" ? unknownOffer : found;
    }
    const standing = new Standing(viewer, new Map([[root, found.id]]));
    return lacks ? this.#refuseScopes(standing, planned) : this.#acts.act(standing, planned, found.args, options);
  }

  /** Law 3: a hidden offer is unknown, whatever scopes it needs. */
  async #refuseScopes(standing: Standing, planned: Planned): Promise<Reply> {
    const target = await this.#acts.resolve(standing, planned, true);
    if (typeof target === "string") return scopeRefusal(planned.scopes, standing.viewer);
    const hidden = target?.sight === undefined || offNow(target.sight.surface, target.way.inner) === true;
    return hidden ? unknownOffer : scopeRefusal(planned.scopes, standing.viewer);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    const { plan, standings, watches } = this.#for(viewer);
    const planned = only && plan.offers.get(only.ref);
    if (planned !== undefined && lacksScope(planned.scopes, viewer)) return () => undefined;
    const place = planned?.ways[0]?.place;
    if (only !== undefined && place?.handled === true) return this.#watchHandle(viewer, dirty, only, rootOf(place));
    const one = only === undefined ? undefined : { ref: only.ref, content: new Content(only.args) };
    return watches.listen(new Ear(standings.of(viewer), dirty, one, contents), viewer.principal);
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: Bag): Promise<readonly string[]> {
    const { plan, standings } = this.#for(viewer);
    const planned = plan.offers.get(ref) ?? (plan.open ? await this.#findOpen(viewer, ref) : undefined);
    const first = planned?.ways[0];
    if (planned === undefined || first === undefined) return [];
    if (lacksScope(planned.scopes, viewer)) return [];
    let standing = standings.of(viewer);
    if (first.place.handled) {
      const root = rootOf(first.place);
      const found = await this.#handles.find(root.behaviour, viewer, others);
      if (hasOwn(found, "refused")) return [];
      standing = new Standing(viewer, new Map([[root, found.id]]));
    }
    const target = await this.#acts.resolve(standing, planned, true);
    if (typeof target !== "object" || target.sight === undefined || offNow(target.sight.surface, target.way.inner) !== undefined) return [];
    const values = getOwn(getOwn(target.sight.surface.choices, target.way.inner), argument) ?? [];
    const typed = value.toLowerCase();
    return values.filter((one) => one.toLowerCase().startsWith(typed)).slice(0, COMPLETIONS);
  }

  #for(viewer: Viewer): Meeting {
    return viewer.principal === undefined ? this.#unknown : this.#known;
  }

  async #findOpen(viewer: Viewer, ref: OfferRef): Promise<Planned | undefined> {
    const { closures, standings } = this.#for(viewer);
    return (await closures.of(standings.of(viewer))).offers.get(ref);
  }

  #watchHandle(viewer: Viewer, dirty: Dirty, only: ContentOf, root: Place): () => void {
    let undo: (() => void) | undefined;
    let closed = false;
    const { watches } = this.#for(viewer);
    const begin = async (): Promise<void> => {
      const found = await this.#handles.find(root.behaviour, viewer, only.args);
      if (closed || hasOwn(found, "refused")) return;
      const standing = new Standing(viewer, new Map([[root, found.id]]));
      const one = { ref: only.ref, content: new Content(found.args) };
      undo = watches.listen(new Ear(standing, dirty, one), viewer.principal ?? found.id);
    };
    begin().catch((error: unknown) => this.#onFault(error, `${root.behaviour.kind}/unread`));
    return () => {
      closed = true;
      undo?.();
    };
  }
}

/**
 * Acts as one actor or another: by what each offers itself, and by what it is offered through its links as they are now. For doors
 * that name actors by their ids; who may act as whom, the door knows.
 */
export class Acting {
  readonly #options: Omit<CastOptions, "as">;
  /** By kind: each is a plan of its own, so that kinds whose names meet do not meet here. */
  readonly #casts = new Map<string, Source>();

  constructor(options: Omit<CastOptions, "as">) {
    this.#options = options;
  }

  /** False: whatever becomes of that actor, it is never offered this. Throws what `cast` throws, like `act`. */
  mayOffer(self: ActorId, ref: OfferRef): boolean {
    const source = this.#castOf(self);
    if (source === undefined) return false;
    const catalogue = source.catalogue?.({ self, scopes: [] });
    return catalogue === undefined || offersOf(catalogue).has(ref);
  }

  /** Refuses with `UNKNOWN` what this actor is not offered, with `SCOPE` what the viewer's token does not allow. */
  async act(self: ActorId, viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    const source = this.#castOf(self);
    if (source === undefined) return unknownOffer;
    return source.act({ ...viewer, self }, ref, args, options);
  }

  #castOf(self: ActorId): Source | undefined {
    const as = kindOf(self);
    const known = this.#casts.get(as);
    if (known !== undefined || !this.#options.kinds.some(({ kind }) => kind === as)) return known;
    const made = cast({ ...this.#options, as });
    this.#casts.set(as, made);
    return made;
  }
}
