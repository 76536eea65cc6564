// Owns: the surface with a resource for each actor, and when it changes. Does not own: the resources' content (resources.ts).
import type { Catalogue, Clock, Offer, Surface } from "../../../core/contract/index.ts";
import { type Stage, type StageActor, type StageChange, StageError } from "../stage.ts";
import { actorUri } from "./actor-json.ts";
import type { ChangeHints } from "./change-hints.ts";

// With more actors than are listed, most that start do not affect the list: it is read again at most this often.
const FULL_LIST_MS = 1_000;
// Authors choose names. Bounded, so that a list of a thousand actors has a sensible size.
const NAME_LENGTH = 256;

/** The name of an actor's own resource is `actor/<id>`. */
export const ACTOR_RESOURCE = "actor/";

const displayName = ({ given, name }: StageActor): string => (given ?? name).slice(0, NAME_LENGTH);

function actorOffer(actor: StageActor): Offer {
  const { id } = actor;
  const label = displayName(actor);
  const definition = {
    uri: actorUri(id),
    name: label,
    description: `Details of the actor ${label}: status, manifest, metrics, and where its state and events are.`,
    mimeType: "application/json",
  };
  return Object.freeze({ name: ACTOR_RESOURCE + id, action: "actor", readOnly: true, definition: Object.freeze(definition) });
}

// Links, although there are none, mark a list that may change at any time, so that no client caches it for long.
const listSurface = (catalogue: Catalogue): Surface => ({ catalogue, off: {}, links: {} });

/** The surface with a resource for each actor, at most `limit`. One for all viewers; read again when actors start or end. */
export class ActorListing {
  readonly #stage: Pick<Stage, "list">;
  readonly #hints: ChangeHints;
  readonly #base: Catalogue;
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #watchers = new Set<() => void>();
  #undo: (() => void) | undefined;
  #timer: (() => void) | undefined;
  #offers: ReadonlyMap<string, Offer> = new Map();
  #surface: Surface;
  #stale = true;
  #pending: Promise<Surface> | undefined;
  #requested = 0;
  #latestAnswer = 0;

  constructor(
    stage: Pick<Stage, "list">,
    hints: ChangeHints,
    base: Catalogue,
    { limit, clock }: { readonly limit: number; readonly clock: Clock },
  ) {
    this.#stage = stage;
    this.#hints = hints;
    this.#base = base;
    this.#limit = limit;
    this.#clock = clock;
    this.#surface = listSurface(base);
  }

  surface(): Surface | Promise<Surface> {
    // Without watchers there are no hints, so the last list may be outdated.
    if (this.#undo !== undefined && !this.#stale && this.#pending === undefined) return this.#surface;
    if (this.#pending === undefined || this.#stale) this.#refresh();
    return this.#pending ?? this.#surface;
  }

  /** Calls `dirty` when the lists may have changed. Returns a function that removes it. */
  watch(dirty: () => void): () => void {
    const own = (): void => dirty();
    this.#watchers.add(own);
    if (this.#undo === undefined) {
      this.#stale = true;
      this.#undo = this.#hints.forAll((change) => this.#onChange(change));
    }
    return () => {
      this.#watchers.delete(own);
      if (this.#watchers.size > 0) return;
      this.#undo?.();
      this.#timer?.();
      this.#undo = this.#timer = undefined;
    };
  }

  /** An actor started or ended through a tool call. Reported at once, although the stage's own hint may come later. */
  report(actor: string, what: "began" | "ended"): void {
    this.#onChange({ actor, what });
  }

  #onChange({ actor, what }: StageChange): void {
    if (what === "changed") return;
    const isUncertain = this.#stale || this.#pending !== undefined;
    if (isUncertain || this.#offers.has(actor) === (what === "ended")) this.#markStale(isUncertain || what === "ended");
  }

  #markStale(immediately: boolean): void {
    if (!immediately && this.#offers.size >= this.#limit) {
      if (this.#undo !== undefined) this.#timer ??= this.#clock.after(FULL_LIST_MS, () => this.#markStale(true));
      return;
    }
    this.#timer?.();
    this.#timer = undefined;
    this.#stale = true;
    for (const dirty of Array.from(this.#watchers)) dirty();
  }

  #refresh(): void {
    const pending = this.#list().finally(() => {
      if (this.#pending === pending) this.#pending = undefined;
    });
    this.#pending = pending;
  }

  async #list(): Promise<Surface> {
    this.#stale = false;
    this.#requested += 1;
    const request = this.#requested;
    try {
      const actors = await this.#stage.list(this.#limit);
      // Two requests may be in flight: the later one has the later answer.
      if (request > this.#latestAnswer) {
        this.#latestAnswer = request;
        this.#update(actors.slice(0, this.#limit));
      }
    } catch (error) {
      if (!(error instanceof StageError)) throw error;
      // Tools work whether or not the actors can be listed. Reading theater://actors reports the error.
      this.#stale = true;
    }
    return this.#surface;
  }

  #update(actors: readonly StageActor[]): void {
    const offers = new Map(
      actors.map((actor) => {
        const known = this.#offers.get(actor.id);
        return [actor.id, known?.definition["name"] === displayName(actor) ? known : actorOffer(actor)];
      }),
    );
    const isSame = offers.size === this.#offers.size && [...offers].every(([id, offer]) => this.#offers.get(id) === offer);
    if (isSame) return;
    this.#offers = offers;
    const { tools, resources, prompts } = this.#base;
    this.#surface = listSurface({ tools, resources: [...resources, ...offers.values()], prompts });
  }
}
