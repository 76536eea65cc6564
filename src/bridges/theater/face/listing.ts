import type { Catalogue, Clock, Offer, Surface } from "../../../core/contract/index.ts";
import { type Stage, type StageActor, type StageChange, StageError } from "../stage.ts";
import type { Hints } from "./hints.ts";
import { actorUri } from "./shown.ts";

// Of a hundred thousand actors most come and go beyond what is listed: a full list is asked for again this long after one began.
const FULL_MS = 1_000;
// A name is its author's: a list of a thousand stays a list.
const NAME_LENGTH = 256;

/** `actor/<id>`: a resource for each actor that is listed. */
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

// Links, though none: who will be there nobody knows ahead, and no client may keep the list for long.
const surfaceOf = (catalogue: Catalogue): Surface => ({ catalogue, off: {}, links: {} });

/** The surface with an entry for each actor, at most `limit`: asked for again when actors come and go, and one for all viewers. */
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
    // Unheard, what was listed may be long gone.
    if (this.#undo !== undefined && !this.#stale && this.#asking === undefined) return this.#surface;
    if (this.#asking === undefined || this.#stale) this.#ask();
    return this.#asking ?? this.#surface;
  }

  /** Told when the lists may differ. Returns its undo. */
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

  /** An actor began or ended by a call through here: told though the stage's own hint may come later. */
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
      // Two may be under way: the later question has the later answer.
      if (asked > this.#answered) {
        this.#answered = asked;
        this.#take(actors.slice(0, this.#limit));
      }
    } catch (error) {
      if (!(error instanceof StageError)) throw error;
      // Tools can be called whether or not the actors can be had; reading theater://actors says why not.
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
