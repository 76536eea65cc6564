import type { Catalogue, Clock, Offer, Surface } from "../../../core/contract/index.ts";
import { type Stage, type StageActor, type StageChange, StageError } from "../stage.ts";
import type { Hints } from "./hints.ts";
import { actorUri } from "./shown.ts";

// With more actors than are listed, most that start do not affect the list: it is read again at most this often.
const FULL_MS = 1_000;
// Authors choose names. Bounded, so that a list of a thousand actors has a sensible size.
const NAME_LENGTH = 256;

/** The name of an actor's own resource is `actor/<id>`. */
export const ENTRY = "actor/";

const shownName = ({ given, name }: StageActor): string => (given ?? name).slice(0, NAME_LENGTH);

function offerOf(actor: StageActor): Offer {
  const { id } = actor;
  const shown = shownName(actor);
  const definition = {
    uri: actorUri(id),
    name: shown,
    description: `Details of the actor ${shown}: status, manifest, metrics, and where its state and events are.`,
    mimeType: "application/json",
  };
  return Object.freeze({ name: ENTRY + id, action: "actor", readOnly: true, definition: Object.freeze(definition) });
}

// Links, although there are none, mark a list that may change at any time, so that no client caches it for long.
const surfaceOf = (catalogue: Catalogue): Surface => ({ catalogue, off: {}, links: {} });

/** The surface with a resource for each actor, at most `limit`. One for all viewers; read again when actors start or end. */
export class Listing {
  readonly #stage: Pick<Stage, "list">;
  readonly #hints: Hints;
  readonly #base: Catalogue;
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #watchers = new Set<() => void>();
  #undo: (() => void) | undefined;
  #due: (() => void) | undefined;
  #offers: ReadonlyMap<string, Offer> = new Map();
  #surface: Surface;
  #stale = true;
  #asking: Promise<Surface> | undefined;
  #asked = 0;
  #answered = 0;

  constructor(
    stage: Pick<Stage, "list">,
    hints: Hints,
    base: Catalogue,
    { limit, clock }: { readonly limit: number; readonly clock: Clock },
  ) {
    this.#stage = stage;
    this.#hints = hints;
    this.#base = base;
    this.#limit = limit;
    this.#clock = clock;
    this.#surface = surfaceOf(base);
  }

  surface(): Surface | Promise<Surface> {
    // Without watchers there are no hints, so the last list may be outdated.
    if (this.#undo !== undefined && !this.#stale && this.#asking === undefined) return this.#surface;
    if (this.#asking === undefined || this.#stale) this.#ask();
    return this.#asking ?? this.#surface;
  }

  /** Calls `dirty` when the lists may have changed. Returns a function that removes it. */
  watch(dirty: () => void): () => void {
    const own = (): void => dirty();
    this.#watchers.add(own);
    if (this.#undo === undefined) {
      this.#stale = true;
      this.#undo = this.#hints.all((change) => this.#hear(change));
    }
    return () => {
      this.#watchers.delete(own);
      if (this.#watchers.size > 0) return;
      this.#undo?.();
      this.#due?.();
      this.#undo = this.#due = undefined;
    };
  }

  /** An actor started or ended through a tool call. Reported at once, although the stage's own hint may come later. */
  note(actor: string, what: "began" | "ended"): void {
    this.#hear({ actor, what });
  }

  #hear({ actor, what }: StageChange): void {
    if (what === "changed") return;
    const unsure = this.#stale || this.#asking !== undefined;
    if (unsure || this.#offers.has(actor) === (what === "ended")) this.#doubt(unsure || what === "ended");
  }

  #doubt(atOnce: boolean): void {
    if (!atOnce && this.#offers.size >= this.#limit) {
      if (this.#undo !== undefined) this.#due ??= this.#clock.after(FULL_MS, () => this.#doubt(true));
      return;
    }
    this.#due?.();
    this.#due = undefined;
    this.#stale = true;
    for (const dirty of Array.from(this.#watchers)) dirty();
  }

  #ask(): void {
    const asking = this.#list().finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    this.#asking = asking;
  }

  async #list(): Promise<Surface> {
    this.#stale = false;
    this.#asked += 1;
    const asked = this.#asked;
    try {
      const actors = await this.#stage.list(this.#limit);
      // Two requests may be in flight: the later one has the later answer.
      if (asked > this.#answered) {
        this.#answered = asked;
        this.#take(actors.slice(0, this.#limit));
      }
    } catch (error) {
      if (!(error instanceof StageError)) throw error;
      // Tools work whether or not the actors can be listed. Reading theater://actors reports the error.
      this.#stale = true;
    }
    return this.#surface;
  }

  #take(actors: readonly StageActor[]): void {
    const offers = new Map(
      actors.map((actor) => {
        const known = this.#offers.get(actor.id);
        return [actor.id, known?.definition["name"] === shownName(actor) ? known : offerOf(actor)];
      }),
    );
    const same = offers.size === this.#offers.size && [...offers].every(([id, offer]) => this.#offers.get(id) === offer);
    if (same) return;
    this.#offers = offers;
    const { tools, resources, prompts } = this.#base;
    this.#surface = surfaceOf({ tools, resources: [...resources, ...offers.values()], prompts });
  }
}
