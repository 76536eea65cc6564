import { MultiMap } from "../../../core/contract/internal.ts";
import type { Stage, StageChange } from "../stage.ts";

type Listener = (change: StageChange) => void;

/** Shares one watch of the stage among all listeners. It lasts only while there are any, since a remote stage polls while watched. */
export class ChangeHints {
  readonly #stage: Pick<Stage, "watch">;
  readonly #all = new Set<Listener>();
  readonly #byActor = new MultiMap<string, Listener>();
  #undo: (() => void) | undefined;

  constructor(stage: Pick<Stage, "watch">) {
    this.#stage = stage;
  }

  /** Listens to changes of every actor. Returns a function that removes the listener. */
  forAll(listener: Listener): () => void {
    const own: Listener = (change) => listener(change);
    this.#all.add(own);
    this.#start();
    return () => {
      this.#all.delete(own);
      this.#stopIfUnused();
    };
  }

  /** Listens to changes of one actor, by its id. Returns a function that removes the listener. */
  forActor(actor: string, listener: Listener): () => void {
    const own: Listener = (change) => listener(change);
    this.#byActor.put(actor, own);
    this.#start();
    return () => {
      this.#byActor.take(actor, own);
      this.#stopIfUnused();
    };
  }

  close(): void {
    this.#all.clear();
    this.#byActor.clear();
    this.#stopIfUnused();
  }

  #start(): void {
    this.#undo ??= this.#stage.watch((change) => {
      for (const listener of Array.from(this.#all)) listener(change);
      for (const listener of Array.from(this.#byActor.get(change.actor) ?? [])) listener(change);
    });
  }

  #stopIfUnused(): void {
    if (this.#all.size > 0 || this.#byActor.size > 0) return;
    this.#undo?.();
    this.#undo = undefined;
  }
}
