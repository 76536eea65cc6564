// Owns: what a viewer sees of one actor, computed once per state. Does not own: the actors that it links to (link-graph.ts).

import { sha256Hex } from "../../core/platform/index.ts";
import {
  type ActorId,
  type Behaviour,
  type Clock,
  type Engine,
  type Message,
  type OfferRef,
  type Snapshot,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { isStatic, Lru } from "../../core/contract/internal.ts";
import { rootActor } from "./actor-access.ts";
import { sameJson } from "./json.ts";
import { offersOf } from "./names.ts";
import { ViewerDependencies } from "./viewers.ts";

/** A state of an actor. Its history may be in memory only. */
type Edition = Pick<ActorView, "seq" | "head"> & { readonly state?: unknown; readonly persistence?: Snapshot["persistence"] };

// The same object or another number is checked first, since the head of an actor in memory is hashed on demand. The state that an actor
// would begin with has neither, and may change.
export const sameState = (a: Edition, b: Edition): boolean =>
  (a.state !== undefined && a.state === b.state) || (a.seq === b.seq && (a.seq === 0 ? sameJson(a.state, b.state) : a.head === b.head));

/** Keeps only what identifies the state, so that a cache does not keep the states of actors in memory that have left it. */
const withoutState = (edition: Edition): Edition =>
  edition.seq === 0 || edition.persistence === "memory" ? edition : { seq: edition.seq, head: edition.head };

/** What a viewer sees of an actor: at its last durable state, or at the state that a root which does not exist yet would begin with. */
export class ActorView {
  readonly id: ActorId;
  readonly surface: Surface;
  /** Of the event that led to the state; 0 before the first. */
  readonly seq: number;
  #edition: Edition;

  constructor(id: ActorId, edition: Edition, surface: Surface) {
    this.id = id;
    this.surface = surface;
    this.seq = edition.seq;
    this.#edition = edition;
  }

  get state(): unknown {
    return this.#edition.state;
  }

  /** The id of that event; "" before the first. */
  get head(): string {
    return this.#edition.head;
  }

  /** From here on it only identifies its state. */
  dropState(): void {
    this.#edition = withoutState(this.#edition);
  }
}

/** Receives what a behaviour threw, and names and links that cannot be. */
export type OnFault = (error: unknown, actor: ActorId) => void;

/** Which actor is looked at, and as whom. */
export interface Look {
  readonly behaviour: Behaviour;
  readonly id: ActorId;
  readonly viewer: Viewer;
  /** A call would start the actor. */
  readonly begins: boolean;
  /** Collects what the view depends on. */
  readonly dependencies?: ViewerDependencies;
}

export interface ActorViewsOptions {
  readonly engine: Pick<Engine, "read" | "readNow">;
  readonly clock: Clock;
  readonly onFault: OnFault;
}

const EMPTY: Surface = { catalogue: { tools: [], resources: [], prompts: [], links: {} }, off: {} };
const MAX_ACTORS = 4_096;
const MAX_VIEWERS = 1_024;
/** The first state of an actor may depend on the time: it is computed once in this interval, however often a client requests it. */
const PREVIEW_MS = 1_000;

interface SeenActor {
  readonly edition: Edition;
  /** By what the surface depends on. */
  readonly surfaces: Map<string, Surface>;
  /** Those of the state before. */
  readonly before: ReadonlyMap<string, Surface> | undefined;
}

interface Preview extends Edition {
  readonly at: number;
}

/** Reads actors and caches their surfaces: each is computed once per state, for all viewers who agree in what it depends on. */
export class ActorViews {
  readonly #options: ActorViewsOptions;
  readonly #seen = new Lru<ActorId, SeenActor>(MAX_ACTORS);
  readonly #previews = new Lru<ActorId, Map<string, Preview>>(MAX_ACTORS);
  readonly #static = new Map<Behaviour, Surface>();
  /** The last reported reason why a kind's first state could not be made. */
  readonly #reported = new Map<Behaviour, string>();
  /** What each kind ever read of its viewers. It only grows. */
  readonly #dependencies = new Map<Behaviour, ViewerDependencies>();

  constructor(options: ActorViewsOptions) {
    this.#options = options;
  }

  /** Synchronous where the engine reads synchronously. Undefined: this viewer has no such actor. */
  see(look: Look): ActorView | undefined | Promise<ActorView | undefined> {
    const { engine } = this.#options;
    try {
      const read = engine.readNow === undefined ? engine.read(look.id) : engine.readNow(look.id);
      return read instanceof Promise ? this.#seeLater(read, look) : this.#viewOf(read, look);
    } catch (error) {
      return this.#noActor(look.id, error);
    }
  }

  async #seeLater(read: Promise<Snapshot | undefined>, look: Look): Promise<ActorView | undefined> {
    try {
      return this.#viewOf(await read, look);
    } catch (error) {
      return this.#noActor(look.id, error);
    }
  }

  /** The surface now, where the engine reads it synchronously. */
  surfaceNow(look: Look): Surface | undefined {
    const { engine } = this.#options;
    if (engine.readNow === undefined) return undefined;
    const read = engine.readNow(look.id);
    if (!(read instanceof Promise)) return this.#viewOf(read, look)?.surface;
    // The next look meets the same error.
    read.catch(() => undefined);
    return undefined;
  }

  // A behaviour that is not an actor() may link to what is not an id: there is no such actor, and its own lists are used.
  #noActor(id: ActorId, error: unknown): undefined {
    if (!(error instanceof TroupeError) || error.code !== "BAD_ID") throw error;
    this.#options.onFault(error, id);
  }

  #viewOf(snapshot: Snapshot | undefined, look: Look): ActorView | undefined {
    const { behaviour, id, viewer, begins, dependencies } = look;
    if (snapshot !== undefined && snapshot.status !== "stopped") {
      if (snapshot.owner !== undefined) {
        if (dependencies !== undefined) dependencies.principal = true;
        if (snapshot.owner !== viewer.principal) return undefined;
      }
      if (!isForeign(snapshot, behaviour)) return new ActorView(id, snapshot, this.#surface(snapshot, look));
      // The engine has reported why, when it loaded the state.
      dependencies?.add(this.#dependenciesOf(behaviour));
      return new ActorView(id, { state: null, seq: snapshot.seq, head: snapshot.head }, brokenSurface(behaviour));
    }
    if (!begins && behaviour.autoStart !== true) {
      if (dependencies !== undefined && behaviour.per === "user") dependencies.principal = true;
      if (rootActor(behaviour, viewer) !== id) return undefined;
    }
    try {
      const preview = this.#preview(look);
      return new ActorView(id, preview, this.#surface(preview, look));
    } catch (error) {
      this.#reportOnce(behaviour, id, error);
      dependencies?.add(this.#dependenciesOf(behaviour));
      return new ActorView(id, { state: null, seq: 0, head: "" }, brokenSurface(behaviour));
    }
  }

  // A kind that cannot make a first state fails at each look, for each actor.
  #reportOnce(behaviour: Behaviour, id: ActorId, error: unknown): void {
    const reason = String(error);
    if (this.#reported.get(behaviour) === reason) return;
    this.#reported.set(behaviour, reason);
    this.#options.onFault(error, id);
  }

  #surface(edition: Edition, look: Look): Surface {
    const { behaviour, id, viewer } = look;
    if (isStatic(behaviour)) return this.#staticSurface(edition, look);
    let seen = this.#seen.get(id);
    if (seen === undefined || !sameState(seen.edition, edition))
      this.#seen.set(id, (seen = { edition: withoutState(edition), surfaces: new Map(), before: seen?.surfaces }));
    const dependencies = this.#dependenciesOf(behaviour);
    let surface = seen.surfaces.get(dependencies.keyOf(viewer));
    if (surface === undefined) {
      const computed = this.#compute(look, edition.state, dependencies.track(viewer));
      // The key is computed again: the surface may depend on more than was known before.
      const key = dependencies.keyOf(viewer);
      // An equal surface is the same object, so that what was derived from it is found again.
      const before = seen.before?.get(key);
      surface = before !== undefined && isSameSurface(before, computed) ? before : computed;
      if (seen.surfaces.size >= MAX_VIEWERS) seen.surfaces.clear();
      seen.surfaces.set(key, surface);
    }
    look.dependencies?.add(dependencies);
    return surface;
  }

  #staticSurface({ state }: Edition, look: Look): Surface {
    let surface = this.#static.get(look.behaviour);
    if (surface === undefined) this.#static.set(look.behaviour, (surface = this.#compute(look, state, look.viewer)));
    return surface;
  }

  #dependenciesOf(behaviour: Behaviour): ViewerDependencies {
    let dependencies = this.#dependencies.get(behaviour);
    if (dependencies === undefined) this.#dependencies.set(behaviour, (dependencies = new ViewerDependencies()));
    return dependencies;
  }

  // A broken actor must not break the lists of everyone who can see it.
  #compute({ behaviour, id }: Look, state: unknown, viewer: Viewer): Surface {
    if (behaviour.surface === undefined) return { catalogue: behaviour.catalogue ?? EMPTY.catalogue, off: {} };
    try {
      return behaviour.surface(state, viewer, (error) => this.#options.onFault(error, id));
    } catch (error) {
      this.#options.onFault(error, id);
      return brokenSurface(behaviour);
    }
  }

  #preview({ behaviour, id, viewer }: Look): Edition {
    const dependencies = this.#dependenciesOf(behaviour);
    const now = this.#options.clock.now();
    let previews = this.#previews.get(id);
    const known = previews?.get(dependencies.keyOf(viewer));
    if (known !== undefined && now >= known.at && now - known.at < PREVIEW_MS) return known;
    const state = firstState(behaviour, id, dependencies.track(viewer), now);
    readWhole(state, dependencies);
    const preview = { state, seq: 0, head: "", at: now };
    if (previews === undefined) this.#previews.set(id, (previews = new Map()));
    else if (previews.size >= MAX_VIEWERS) previews.clear();
    previews.set(dependencies.keyOf(viewer), preview);
    return preview;
  }
}

/** The state that an actor would begin with. Throws what `initial` throws. */
export function firstState(behaviour: Behaviour, id: ActorId, viewer: Viewer, at: number): unknown {
  const seed = sha256Hex(id).slice(0, 32);
  const first: Message = { id: "preview", to: id, action: "preview", args: null, at, seed, viewer, start: null };
  return behaviour.initial(decodeURIComponent(id.slice(id.indexOf("/") + 1)), first);
}

// The first state may hold the tracked viewer, or the message with it: then all of the viewer counts, though nothing has read it yet.
function readWhole(state: unknown, dependencies: ViewerDependencies): void {
  try {
    JSON.stringify(state);
  } catch {
    dependencies.principal = dependencies.self = dependencies.scopes = dependencies.claims = true;
  }
}

/** Whether the state is of newer code, or could not be migrated: then none of this code runs on it. */
function isForeign({ version, status }: Snapshot, behaviour: Behaviour): boolean {
  return version !== behaviour.version && (version > behaviour.version || status === "failed");
}

export function isSameSurface(one: Surface, other: Surface): boolean {
  if (one === other) return true;
  return (
    one.catalogue === other.catalogue &&
    sameJson(one.off, other.off) &&
    sameJson(one.choices, other.choices) &&
    sameJson(one.links, other.links) &&
    sameJson(one.linkKeys, other.linkKeys) &&
    sameJson(one.linksOff, other.linksOff)
  );
}

function brokenSurface(behaviour: Behaviour): Surface {
  const { catalogue } = behaviour;
  if (catalogue === undefined) return EMPTY;
  const off: Record<OfferRef, string> = {};
  for (const ref of offersOf(catalogue).keys()) off[ref] = `This ${behaviour.kind} is out of order.`;
  return { catalogue, off };
}
