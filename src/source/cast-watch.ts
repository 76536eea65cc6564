import type { ActorId, Engine, OfferRef, Surface } from "../contract/index.ts";
import { type Closure, offNow } from "./closure.ts";
import { changedLists, type Posture } from "./posture.ts";
import { sameState, type Sight } from "./sight.ts";

export interface WatchOptions {
  readonly engine: Pick<Engine, "watch">;
  readonly posture: Posture;
  /** Told of every actor before it is read. */
  readonly walk: (onActor: (id: ActorId) => void) => Promise<Closure>;
  readonly roots: readonly ActorId[];
  readonly dirty: (ref?: OfferRef) => void;
  /** Only this offer's content, never the lists. */
  readonly only?: OfferRef;
  readonly onFault?: (error: unknown, actor: ActorId) => void;
}

/**
 * One viewer's ear. C8: it holds what the viewer saw last and which actors to listen to, nothing per change; however
 * many changes arrive while it looks, it looks once more.
 */
export class CastWatch {
  readonly #options: WatchOptions;
  readonly #topics = new Map<ActorId, () => void>();
  readonly #changed = new Set<ActorId>();
  #last: Closure | undefined;
  /** Seqs at the first look, until something later is announced. */
  readonly #first = new Map<ActorId, number>();
  /** Announced after the first look, which has it already: an engine may announce late. Whoever listens has seen nothing of it. */
  readonly #late = new Set<ActorId>();
  #wanted = true;
  /** For a look that begins from now on. */
  #waiting: (() => void)[] = [];
  /** For the look that is under way. */
  #ending: (() => void)[] = [];
  #looking = false;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    for (const id of options.roots) this.#listen(id);
    void this.#look();
  }

  /**
   * Settles when this commit has been flagged, or cannot be seen from here: a reply waits for it, so that the flag goes
   * first, also where the engine announces late.
   */
  async settled(actor: string, seq: number): Promise<void> {
    const topics: ReadonlyMap<string, unknown> = this.#topics;
    if (this.#closed || !topics.has(actor)) return;
    if (this.#looking) await new Promise<void>((resolve) => this.#ending.push(resolve));
    if (this.#isClosed() || this.#last?.parts.some(({ sight }) => sight.id === actor && sight.seq === seq) === true) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#wanted = true;
      void this.#look();
    });
  }

  close(): void {
    this.#closed = true;
    for (const undo of this.#topics.values()) undo();
    this.#topics.clear();
    this.#release(this.#waiting.splice(0));
    this.#release(this.#ending.splice(0));
  }

  readonly #listen = (id: ActorId): void => {
    if (this.#closed || this.#topics.has(id)) return;
    const undo = this.#options.engine.watch(id, ({ seq }) => {
      this.#changed.add(id);
      const first = this.#first.get(id);
      if (first !== undefined) {
        if (seq <= first) this.#late.add(id);
        if (seq >= first) this.#first.delete(id);
      }
      this.#wanted = true;
      void this.#look();
    });
    this.#topics.set(id, undo);
  };

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    while (this.#wanted && !this.#closed) {
      this.#wanted = false;
      const waiting = this.#waiting;
      this.#waiting = [];
      // Whatever is announced from here on may or may not be in what is read: before the first look that counts as changed.
      const unsure = this.#last === undefined ? this.#changed : undefined;
      if (unsure === undefined) this.#changed.clear();
      try {
        const met = new Set<ActorId>();
        const now = await this.#options.walk((id) => {
          met.add(id);
          this.#listen(id);
        });
        this.#forget(met);
        if (!this.#isClosed()) this.#compare(now, unsure);
      } catch (error) {
        // What the viewer holds may be stale now: it is told to ask, and hears the fault then.
        this.#last = undefined;
        this.#options.onFault?.(error, this.#options.roots[0] ?? "cast/none");
        if (!this.#isClosed()) this.#options.dirty(this.#options.only);
      }
      this.#release(waiting);
      this.#release(this.#ending.splice(0));
    }
    this.#looking = false;
  }

  #isClosed(): boolean {
    return this.#closed;
  }

  #release(waiting: readonly (() => void)[]): void {
    for (const resolve of waiting) resolve();
  }

  #forget(met: ReadonlySet<ActorId>): void {
    for (const [id, undo] of this.#topics) {
      if (met.has(id) || this.#options.roots.includes(id)) continue;
      undo();
      this.#topics.delete(id);
    }
  }

  #compare(now: Closure, unsure: ReadonlySet<ActorId> | undefined): void {
    const before = this.#last;
    this.#last = now;
    const { dirty, only, posture } = this.#options;
    if (unsure !== undefined) {
      for (const { sight } of now.parts) if (!unsure.has(sight.id)) this.#first.set(sight.id, sight.seq);
      const moved = now.parts.filter(({ sight }) => unsure.has(sight.id));
      this.#changed.clear();
      if (moved.length === 0) return;
      this.#flagAll(now, unsure);
      return;
    }
    if (this.#late.size > 0) this.#flagAll(now, this.#late);
    this.#late.clear();
    if (before === undefined) return;
    if (only === undefined && changedLists(before.surface, now.surface, posture).length > 0) dirty();
    for (const ref of new Set([...contents(before), ...contents(now)])) {
      const [was, is] = [shownBy(before, ref), shownBy(now, ref)];
      if (was?.id !== is?.id || (was !== undefined && is !== undefined && !sameState(was, is))) this.#flag(ref);
    }
  }

  /** Everything these actors show. */
  #flagAll(now: Closure, ids: ReadonlySet<ActorId>): void {
    if (this.#options.only === undefined) this.#options.dirty();
    for (const ref of contents(now)) if (ids.has(shownBy(now, ref)?.id ?? "none/none")) this.#flag(ref);
  }

  #flag(ref: OfferRef): void {
    const { only, dirty } = this.#options;
    if (only === undefined || only === ref) dirty(ref);
  }
}

function contents(closure: Closure): readonly OfferRef[] {
  return closure.surface.catalogue.resources.map((offer): OfferRef => `resources/${offer.name}`);
}

/** What of which actor a resource shows; undefined where it is off. */
function shownBy(closure: Closure, ref: OfferRef): Sight | undefined {
  for (const { place, inner } of closure.offers.get(ref)?.ways ?? []) {
    const sight = closure.at.get(place);
    if (sight !== undefined) return isOn(sight.surface, inner) ? sight : undefined;
  }
  return undefined;
}

function isOn(surface: Surface, inner: OfferRef): boolean {
  return offNow(surface, inner) === undefined;
}
