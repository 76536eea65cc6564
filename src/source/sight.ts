import { sha256Hex } from "../platform/index.ts";
import type { ActorId, Behaviour, Clock, Engine, Message, OfferRef, Surface, Viewer } from "../contract/index.ts";
import { rootActor, viewerKey } from "./identity.ts";
import { Lru } from "./lru.ts";
import { offersOf } from "./refs.ts";

/** What a viewer sees of one actor: its last durable state, or for a root that has not begun the state it would begin with. */
export interface Sight {
  readonly id: ActorId;
  readonly state: unknown;
  /** Of the event the state is of; 0 before the first. */
  readonly seq: number;
  /** Its id; "" before the first. */
  readonly head: string;
  readonly surface: Surface;
}

type Edition = Pick<Sight, "state" | "seq" | "head">;

// Asking an actor in memory for its head has its event hashed: the same object, or another number, says enough.
export const sameState = (a: Edition, b: Edition): boolean => a.state === b.state || (a.seq === b.seq && a.head === b.head);

export interface SightOptions {
  readonly engine: Pick<Engine, "read">;
  readonly clock: Clock;
  readonly onFault?: (error: unknown, actor: ActorId) => void;
}

const EMPTY: Surface = { catalogue: { tools: [], resources: [], prompts: [], links: {} }, off: {} };
const ACTORS_KEPT = 4_096;
const VIEWERS_KEPT = 1_024;

interface Kept {
  readonly edition: Edition;
  readonly surfaces: Map<string, Surface>;
}

/** Reads actors and keeps what each state shows to each viewer, so that a surface is computed once per state however often it is asked for. */
export class Sights {
  readonly #options: SightOptions;
  readonly #seen = new Lru<ActorId, Kept>(ACTORS_KEPT);

  constructor(options: SightOptions) {
    this.#options = options;
  }

  /** Undefined: there is no such actor for this viewer. `begins`: a call would start it. */
  async see(behaviour: Behaviour, id: ActorId, viewer: Viewer, begins: boolean): Promise<Sight | undefined> {
    const snapshot = await this.#options.engine.read(id);
    if (snapshot !== undefined && snapshot.status !== "stopped") {
      if (snapshot.owner !== undefined && snapshot.owner !== viewer.principal) return undefined;
      return sightOf(id, snapshot, this.#surface(behaviour, id, snapshot, viewer));
    }
    if (!begins && behaviour.begins !== true && rootActor(behaviour, viewer) !== id) return undefined;
    try {
      const state = this.#initial(behaviour, id, viewer);
      const unborn = { state, seq: 0, head: "" };
      return sightOf(id, unborn, this.#surface(behaviour, id, unborn, viewer));
    } catch (error) {
      this.#options.onFault?.(error, id);
      return sightOf(id, { state: null, seq: 0, head: "" }, brokenSurface(behaviour));
    }
  }

  #surface(behaviour: Behaviour, id: ActorId, edition: Edition, viewer: Viewer): Surface {
    let seen = this.#seen.get(id);
    if (seen === undefined || !sameState(seen.edition, edition)) {
      seen = { edition, surfaces: new Map() };
      this.#seen.set(id, seen);
    }
    const key = viewerKey(viewer);
    let surface = seen.surfaces.get(key);
    if (surface === undefined) {
      surface = this.#compute(behaviour, id, edition.state, viewer);
      if (seen.surfaces.size >= VIEWERS_KEPT) seen.surfaces.clear();
      seen.surfaces.set(key, surface);
    }
    return surface;
  }

  // One broken actor must not take away the lists of everybody who can see it.
  #compute(behaviour: Behaviour, id: ActorId, state: unknown, viewer: Viewer): Surface {
    if (behaviour.surface === undefined) return { catalogue: behaviour.catalogue ?? EMPTY.catalogue, off: {} };
    try {
      return behaviour.surface(state, viewer, (error) => this.#options.onFault?.(error, id));
    } catch (error) {
      this.#options.onFault?.(error, id);
      return brokenSurface(behaviour);
    }
  }

  #initial(behaviour: Behaviour, id: ActorId, viewer: Viewer): unknown {
    const first: Message = {
      id: "preview",
      to: id,
      action: "preview",
      args: null,
      at: this.#options.clock.now(),
      seed: sha256Hex(id).slice(0, 32),
      viewer,
      start: null,
    };
    return behaviour.initial(decodeURIComponent(id.slice(id.indexOf("/") + 1)), first);
  }
}

/** A class: an object literal with a getter would get a hidden class of its own, and looks are many. */
class Seen implements Sight {
  readonly id: ActorId;
  readonly surface: Surface;
  readonly state: unknown;
  readonly seq: number;
  readonly #edition: Edition;

  constructor(id: ActorId, edition: Edition, surface: Surface) {
    this.id = id;
    this.surface = surface;
    this.state = edition.state;
    this.seq = edition.seq;
    this.#edition = edition;
  }

  get head(): string {
    return this.#edition.head;
  }
}

const sightOf = (id: ActorId, edition: Edition, surface: Surface): Sight => new Seen(id, edition, surface);

function brokenSurface(behaviour: Behaviour): Surface {
  const { catalogue } = behaviour;
  if (catalogue === undefined) return EMPTY;
  const off: Record<OfferRef, string> = {};
  for (const ref of offersOf(catalogue).keys()) off[ref] = `This ${behaviour.kind} is out of order.`;
  return { catalogue, off };
}
