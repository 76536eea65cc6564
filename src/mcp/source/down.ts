import type { Source, TroupeError, Viewer } from "../../core/contract/index.ts";
import { MultiMap } from "../../core/contract/internal.ts";

type Dirty = () => void;

/** Which sources of several could not say what they offer when they were asked last, and who was shown less for it. */
export class Down {
  readonly #faults = new Map<Source, TroupeError>();
  readonly #watchers = new MultiMap<string, Dirty>();
  /** How many sources were missing in what it was shown last. */
  readonly #short = new Map<Dirty, number>();

  /** Undefined: it could say, or was never asked. */
  fault(source: Source): TroupeError | undefined {
    return this.#faults.get(source);
  }

  /** The same fault again is the same object: what hangs on it is kept. */
  add(source: Source, fault: TroupeError): TroupeError {
    const known = this.#faults.get(source);
    if (known !== undefined && known.code === fault.code && known.message === fault.message) return known;
    this.#faults.set(source, fault);
    return fault;
  }

  up(source: Source): void {
    this.#faults.delete(source);
  }

  /** A source that is there again need not say so itself: who was shown less is told to look. */
  shown(viewer: Viewer, missing: number): void {
    if (missing === 0 && this.#short.size === 0) return;
    for (const dirty of this.#watchers.get(keyOf(viewer)) ?? []) {
      const before = this.#short.get(dirty) ?? 0;
      if (missing === 0) this.#short.delete(dirty);
      else this.#short.set(dirty, missing);
      if (missing < before) dirty();
    }
  }

  watch(viewer: Viewer, told: Dirty): () => void {
    const key = keyOf(viewer);
    // Its own, whoever else gave the same function.
    const dirty: Dirty = () => told();
    this.#watchers.put(key, dirty);
    return () => {
      this.#short.delete(dirty);
      this.#watchers.take(key, dirty);
    };
  }
}

const keyOf = ({ principal, scopes }: Viewer): string => JSON.stringify([principal ?? null, scopes]);
