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
import { isStatic } from "../../core/contract/internal.ts";
import { rootActor } from "./access.ts";
import { Lru } from "./lru.ts";
import { Reads } from "./viewers.ts";
import { offersOf } from "./offers.ts";
import { sameJson } from "./json.ts";

/** What a viewer sees of one actor: its last durable state, or for a root that has not begun the state it would begin with. */
export interface Sight {
  readonly id: ActorId;
  readonly state: unknown;
  /** Of the event the state is of; 0 before the first. */
  readonly seq: number;
  /** Its id; "" before the first. */
  readonly head: string;
  readonly surface: Surface;
  /** From now on it only tells what it was a sight of. */
  rest(): void;
}

/** Without its state: it is not held. */
type Edition = Pick<Sight, "seq" | "head"> & { readonly state?: unknown; readonly persistence?: Snapshot["persistence"] };

// Asking an actor in memory for its head has its event hashed: the same object, or another number, says enough.
// How an actor would begin has neither, and may be another later.
export const sameState = (a: Edition, b: Edition): boolean =>
  (a.state !== undefined && a.state === b.state) || (a.seq === b.seq && (a.seq === 0 ? sameJson(a.state, b.state) : a.head === b.head));

/** Enough to know it by. Its state would stay in memory, however large it is, when its actor has left that long ago. */
const withoutState = (edition: Edition): Edition =>
  edition.seq === 0 || edition.persistence === "memory" ? edition : { seq: edition.seq, head: edition.head };

/** A behaviour threw, or what it named cannot be. */
export type OnFault = (error: unknown, actor: ActorId) => void;

export interface SightOptions {
  readonly engine: Pick<Engine, "read" | "readNow">;
  readonly clock: Clock;
  readonly onFault: OnFault;
}

const EMPTY: Surface = { catalogue: { tools: [], resources: [], prompts: [], links: {} }, off: {} };
const ACTORS_KEPT = 4_096;
const VIEWERS_KEPT = 1_024;
/** How it would begin may depend on when: for a client that asks again and again it is still begun once. */
const PREVIEW_MS = 1_000;

interface Kept {
  readonly edition: Edition;
  readonly surfaces: Map<string, Surface>;
  /** Of the edition before. */
  readonly before: ReadonlyMap<string, Surface> | undefined;
}

interface Preview extends Edition {
  readonly at: number;
}

/** Reads actors and keeps what each state shows to whom, so that a surface is computed once per state, for all viewers who agree in what it looks at. */
export class Sights {
  readonly #options: SightOptions;
  readonly #seen = new Lru<ActorId, Kept>(ACTORS_KEPT);
  readonly #previews = new Lru<ActorId, Map<string, Preview>>(ACTORS_KEPT);
  readonly #constant = new Map<Behaviour, Surface>();
  /** Why a kind's first state could not be made, as it was told last. */
  readonly #unbegun = new Map<Behaviour, string>();
  /** What each kind ever looked at of its viewers: it only grows. */
  readonly #reads = new Map<Behaviour, Reads>();

  constructor(options: SightOptions) {
    this.#options = options;
  }

  /**
   * On the spot where the actor is read on the spot. Undefined: there is no such actor for this viewer. `begins`: a call would start
   * it. `reads` is told what of the viewer counted.
   */
  see(behaviour: Behaviour, id: ActorId, viewer: Viewer, begins: boolean, reads?: Reads): Sight | undefined | Promise<Sight | undefined> {
    const { engine } = this.#options;
    let read: ReturnType<NonNullable<Engine["readNow"]>>;
    try {
      read = engine.readNow === undefined ? engine.read(id) : engine.readNow(id);
    } catch (error) {
      return this.#nobody(id, error);
    }
    if (read instanceof Promise) return this.#seeLate(read, behaviour, id, viewer, begins, reads);
    return this.#sight(read, behaviour, id, viewer, begins, reads);
  }

  /** What is seen of it now, where that can be said on the spot. */
  surfaceNow(behaviour: Behaviour, id: ActorId, viewer: Viewer, begins: boolean, reads: Reads): Surface | undefined {
    const { engine } = this.#options;
    if (engine.readNow === undefined) return undefined;
    const read = engine.readNow(id);
    if (!(read instanceof Promise)) return this.#sight(read, behaviour, id, viewer, begins, reads)?.surface;
    // Whoever looks again meets its fault.
    read.catch(() => undefined);
    return undefined;
  }

  async #seeLate(
    read: Promise<Snapshot | undefined>,
    ...rest: readonly [behaviour: Behaviour, id: ActorId, viewer: Viewer, begins: boolean, reads: Reads | undefined]
  ): Promise<Sight | undefined> {
    let snapshot: Snapshot | undefined;
    try {
      snapshot = await read;
    } catch (error) {
      return this.#nobody(rest[1], error);
    }
    return this.#sight(snapshot, ...rest);
  }

  // A link of a behaviour by hand may be no id at all: nobody is there, and its own actor's lists stay.
  #nobody(id: ActorId, error: unknown): undefined {
    if (!(error instanceof TroupeError) || error.code !== "BAD_ID") throw error;
    this.#options.onFault(error, id);
  }

  #sight(
    snapshot: Snapshot | undefined,
    behaviour: Behaviour,
    id: ActorId,
    viewer: Viewer,
    begins: boolean,
    reads: Reads | undefined,
  ): Sight | undefined {
    if (snapshot !== undefined && snapshot.status !== "stopped") {
      if (snapshot.owner !== undefined) {
        if (reads !== undefined) reads.principal = true;
        if (snapshot.owner !== viewer.principal) return undefined;
      }
      if (isForeign(snapshot, behaviour)) return this.#unread(behaviour, id, snapshot, reads);
      return sightOf(id, snapshot, this.#surface(behaviour, id, snapshot, viewer, reads));
    }
    if (!begins && behaviour.begins !== true) {
      if (reads !== undefined && behaviour.per === "user") reads.principal = true;
      if (rootActor(behaviour, viewer) !== id) return undefined;
    }
    try {
      const unborn = this.#preview(behaviour, id, viewer);
      return sightOf(id, unborn, this.#surface(behaviour, id, unborn, viewer, reads));
    } catch (error) {
      this.#tellOnce(behaviour, id, error);
      reads?.add(this.#readsOf(behaviour));
      return sightOf(id, { state: null, seq: 0, head: "" }, brokenSurface(behaviour));
    }
  }

  /** What makes no first state makes none at each look, of each actor. */
  #tellOnce(behaviour: Behaviour, id: ActorId, error: unknown): void {
    const said = String(error);
    if (this.#unbegun.get(behaviour) === said) return;
    this.#unbegun.set(behaviour, said);
    this.#options.onFault(error, id);
  }

  /** Its engine has said why, where the state was loaded. */
  #unread(behaviour: Behaviour, id: ActorId, { seq, head }: Snapshot, reads: Reads | undefined): Sight {
    reads?.add(this.#readsOf(behaviour));
    return sightOf(id, { state: null, seq, head }, brokenSurface(behaviour));
  }

  #surface(behaviour: Behaviour, id: ActorId, edition: Edition, viewer: Viewer, reads: Reads | undefined): Surface {
    if (isStatic(behaviour)) return this.#constantly(behaviour, id, edition, viewer);
    let seen = this.#seen.get(id);
    if (seen === undefined || !sameState(seen.edition, edition)) {
      seen = { edition: withoutState(edition), surfaces: new Map(), before: seen?.surfaces };
      this.#seen.set(id, seen);
    }
    const looked = this.#readsOf(behaviour);
    let surface = seen.surfaces.get(looked.keyOf(viewer));
    if (surface === undefined) {
      const made = this.#compute(behaviour, id, edition.state, looked.noticed(viewer));
      // By what was looked at now: it may be more than was known before.
      const key = looked.keyOf(viewer);
      // What shows the same is the same object: whatever was made of it need not be made again.
      const before = seen.before?.get(key);
      surface = before !== undefined && isAlike(before, made) ? before : made;
      if (seen.surfaces.size >= VIEWERS_KEPT) seen.surfaces.clear();
      seen.surfaces.set(key, surface);
    }
    reads?.add(looked);
    return surface;
  }

  #constantly(behaviour: Behaviour, id: ActorId, { state }: Edition, viewer: Viewer): Surface {
    let surface = this.#constant.get(behaviour);
    if (surface === undefined) {
      surface = this.#compute(behaviour, id, state, viewer);
      this.#constant.set(behaviour, surface);
    }
    return surface;
  }

  #readsOf(behaviour: Behaviour): Reads {
    let reads = this.#reads.get(behaviour);
    if (reads === undefined) {
      reads = new Reads();
      this.#reads.set(behaviour, reads);
    }
    return reads;
  }

  // One broken actor must not take away the lists of everybody who can see it.
  #compute(behaviour: Behaviour, id: ActorId, state: unknown, viewer: Viewer): Surface {
    if (behaviour.surface === undefined) return { catalogue: behaviour.catalogue ?? EMPTY.catalogue, off: {} };
    try {
      return behaviour.surface(state, viewer, (error) => this.#options.onFault(error, id));
    } catch (error) {
      this.#options.onFault(error, id);
      return brokenSurface(behaviour);
    }
  }

  #preview(behaviour: Behaviour, id: ActorId, viewer: Viewer): Edition {
    const reads = this.#readsOf(behaviour);
    const now = this.#options.clock.now();
    let kept = this.#previews.get(id);
    const known = kept?.get(reads.keyOf(viewer));
    if (known !== undefined && now >= known.at && now - known.at < PREVIEW_MS) return known;
    const state = this.#initial(behaviour, id, reads.noticed(viewer), now);
    lookThrough(state, reads);
    const preview = { state, seq: 0, head: "", at: now };
    if (kept === undefined) this.#previews.set(id, (kept = new Map()));
    else if (kept.size >= VIEWERS_KEPT) kept.clear();
    kept.set(reads.keyOf(viewer), preview);
    return preview;
  }

  #initial(behaviour: Behaviour, id: ActorId, viewer: Viewer, at: number): unknown {
    const first: Message = {
      id: "preview",
      to: id,
      action: "preview",
      args: null,
      at,
      seed: sha256Hex(id).slice(0, 32),
      viewer,
      start: null,
    };
    return behaviour.initial(decodeURIComponent(id.slice(id.indexOf("/") + 1)), first);
  }
}

/** Of newer code, or one that could not be migrated: nothing of this code is run on it, whatever of it can be read. */
function isForeign({ version, status }: Snapshot, behaviour: Behaviour): boolean {
  return version !== behaviour.version && (version > behaviour.version || status === "failed");
}

export function isAlike(one: Surface, other: Surface): boolean {
  if (one === other) return true;
  return (
    one.catalogue === other.catalogue &&
    sameJson(one.off, other.off) &&
    sameJson(one.choices, other.choices) &&
    sameJson(one.links, other.links) &&
    sameJson(one.linksOff, other.linksOff)
  );
}

/** A class: an object literal with a getter would get a hidden class of its own, and looks are many. */
class Seen implements Sight {
  readonly id: ActorId;
  readonly surface: Surface;
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

  get head(): string {
    return this.#edition.head;
  }

  rest(): void {
    this.#edition = withoutState(this.#edition);
  }
}

const sightOf = (id: ActorId, edition: Edition, surface: Surface): Sight => new Seen(id, edition, surface);

// A beginning may keep its viewer, or its whole message, in its state: then all of the viewer is in what it shows, looked at or not.
function lookThrough(state: unknown, reads: Reads): void {
  try {
    JSON.stringify(state);
  } catch {
    reads.principal = reads.self = reads.scopes = true;
  }
}

function brokenSurface(behaviour: Behaviour): Surface {
  const { catalogue } = behaviour;
  if (catalogue === undefined) return EMPTY;
  const off: Record<OfferRef, string> = {};
  for (const ref of offersOf(catalogue).keys()) off[ref] = `This ${behaviour.kind} is out of order.`;
  return { catalogue, off };
}
