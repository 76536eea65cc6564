import type { ActorId, Engine, Receipt, Surface } from "../../core/contract/index.ts";
import { MultiMap } from "../../core/contract/internal.ts";
import { CastWatch } from "./cast-watch.ts";
import { ContentMarks, type Stand } from "./content-marks.ts";
import type { Closures } from "./closure.ts";
import type { Ear } from "./ears.ts";
import type { Posture } from "./posture.ts";
import { Reads, type Standing } from "./viewers.ts";
import type { OnFault } from "./sight.ts";

export interface WatchesOptions {
  readonly engine: Pick<Engine, "watch" | "readNow">;
  readonly posture: Posture;
  readonly closures: Closures;
  readonly onFault: OnFault;
}

/** Who listens. Viewers with the same roots who agree in all that was ever looked at share one watch: a change is looked at once for all of them. */
export class Watches {
  readonly #options: WatchesOptions;
  /** It only grows: at most twice, those who shared part. */
  readonly #reads = new Reads();
  readonly #marks = new ContentMarks();
  readonly #alike = new Map<string, CastWatch>();
  /** By principal, or by the actor behind a handle. */
  readonly #named = new MultiMap<string, Ear>();

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  /** `name`: whose replies wait until it has been flagged. */
  listen(ear: Ear, name: string | undefined): () => void {
    this.#join(ear);
    if (name !== undefined) this.#named.put(name, ear);
    return () => {
      this.#leave(ear);
      if (name !== undefined) this.#named.take(name, ear);
    };
  }

  // C8: on one ordered stream the flag goes before the reply, however late the engine's announcement comes.
  flagFirst(name: string, receipt: Receipt): Promise<unknown> | undefined {
    const named = this.#named.get(name);
    if (named === undefined) return undefined;
    let flagged: Promise<void>[] | undefined;
    for (const ear of named) {
      const settled = this.#settled(ear, receipt);
      if (settled !== undefined) (flagged ??= []).push(settled);
    }
    return flagged && Promise.all(flagged);
  }

  #settled(ear: Ear, receipt: Receipt): Promise<void> | undefined {
    const { watch } = ear;
    const settled = watch?.settled(receipt.actor, receipt.seq);
    return settled && this.#settledBy(watch, settled, ear, receipt);
  }

  // What it waits for may part it from the others: then another watch flags it.
  async #settledBy(watch: CastWatch | undefined, settled: Promise<void>, ear: Ear, receipt: Receipt): Promise<void> {
    await settled;
    if (ear.watch !== watch) await this.#settled(ear, receipt);
  }

  /** That viewer was given this surface. */
  gave(standing: Standing, surface: Surface): void {
    if (this.#alike.size > 0) this.#alike.get(this.#keyOf(standing))?.gave(surface);
  }

  #keyOf({ viewer, roots }: Standing): string {
    return `${this.#reads.keyOf(viewer)} ${[...roots.values()].join(" ")}`;
  }

  #join(ear: Ear, parted?: CastWatch): void {
    const key = this.#keyOf(ear.standing);
    let watch = this.#alike.get(key);
    if (watch === undefined) {
      watch = this.#make(ear.standing, parted);
      this.#alike.set(key, watch);
    }
    watch.add(ear);
    ear.watch = watch;
  }

  #leave(ear: Ear): void {
    const { watch } = ear;
    if (watch === undefined) return;
    ear.watch = undefined;
    watch.ears.delete(ear);
    if (watch.ears.none) this.#end(watch);
  }

  #end(watch: CastWatch): void {
    watch.close();
    const key = this.#keyOf(watch.standing);
    if (this.#alike.get(key) === watch) this.#alike.delete(key);
  }

  #make(standing: Standing, parted: CastWatch | undefined): CastWatch {
    const { engine, posture, closures, onFault } = this.#options;
    return new CastWatch(
      {
        engine,
        posture,
        standing,
        marks: this.#marks,
        standNow: engine.readNow === undefined ? undefined : (id) => standNow(engine, id),
        walk: (onActor) => closures.of(standing, onActor),
        // Where more is looked at than was known, those who share this watch may part: that takes a look at all.
        isAsSeen: (part) => {
          const reads = new Reads();
          return closures.isAsSeen(part, standing, reads) && this.#reads.has(reads);
        },
        onWalked: ({ reads }) => {
          if (this.#reads.add(reads)) this.#part();
        },
        onFault,
      },
      parted,
    );
  }

  /** More was looked at than before: who shared a watch may not see the same any more. */
  #part(): void {
    const watches = [...this.#alike.values()];
    this.#alike.clear();
    for (const watch of watches) this.#alike.set(this.#keyOf(watch.standing), watch);
    for (const watch of watches) {
      for (const ear of watch.ears.all()) {
        if (ear.watch !== watch || this.#alike.get(this.#keyOf(ear.standing)) === watch) continue;
        watch.ears.delete(ear);
        this.#join(ear, watch);
      }
      if (watch.ears.none) this.#end(watch);
    }
  }
}

function standNow(engine: Pick<Engine, "readNow">, id: ActorId): Stand | undefined {
  const read = engine.readNow?.(id);
  if (!(read instanceof Promise)) return read?.status === "live" ? read : undefined;
  // Whoever looks meets its fault.
  read.catch(() => undefined);
  return undefined;
}
