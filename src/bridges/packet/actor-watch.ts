// Owns: notifying viewers when actors of capabilities start, stop or change. Does not own: reading their states (actors.ts).
import type { ActorId, Engine, Log, Status, Viewer } from "../../core/contract/index.ts";

/** A kind of actor, and whether all users share its actors. */
export interface WatchedKind {
  readonly kind: string;
  readonly shared: boolean;
}

interface Listener {
  readonly principal: string | undefined;
  readonly dirty: () => void;
}

// When the set is full it is cleared: each actor may then cause one extra notification.
const MAX_SEEN = 10_000;

/** Notifies viewers of changes to their own and to shared actors only (C8). Watches the engine only while there are listeners. */
export class ActorWatch implements Disposable {
  readonly #engine: Pick<Engine, "read" | "watch">;
  readonly #log: Log;
  readonly #listeners = new Set<Listener>();
  /** Actors whose start has been notified. */
  readonly #seen = new Set<ActorId>();
  #kinds: readonly WatchedKind[];
  #undos: readonly (() => void)[] = [];

  constructor(engine: Pick<Engine, "read" | "watch">, kinds: readonly WatchedKind[], log: Log) {
    this.#engine = engine;
    this.#kinds = kinds;
    this.#log = log;
  }

  setKinds(kinds: readonly WatchedKind[]): void {
    this.#kinds = kinds;
    this.#stop();
    if (this.#listeners.size > 0) this.#start();
  }

  /** Notifies when actors of the viewer start or stop. Returns a function that unsubscribes. */
  watchList({ principal }: Viewer, dirty: () => void): () => void {
    const listener: Listener = { principal, dirty };
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#stop();
    };
  }

  /** Notifies when the actor changes, as long as it belongs to the viewer. Returns a function that unsubscribes. */
  watchActor(id: ActorId, shared: boolean, { principal }: Viewer, dirty: () => void): () => void {
    // Look up the owner ahead of the first change: then the notification can precede the reply of the call that caused it.
    let isOwn = shared;
    const checkOwner = (then: () => void): void =>
      this.#ownerOf(id, (owner, status) => {
        isOwn = owner === principal && status !== "stopped";
        if (owner === principal) then();
      });
    if (!shared) checkOwner(() => undefined);
    return this.#engine.watch(id, (change) => {
      const { status } = change;
      // The id of an actor with the key `*` is also the topic of its whole kind.
      if (change.id !== id) return;
      if (!isOwn) return checkOwner(dirty);
      dirty();
      // The next life may have another owner.
      if (status === "stopped") isOwn = shared;
    });
  }

  [Symbol.dispose](): void {
    this.#listeners.clear();
    this.#stop();
  }

  #start(): void {
    this.#undos = this.#kinds.map(({ kind, shared }) =>
      this.#engine.watch(`${kind}/*`, ({ id, status }) => {
        // The first change of an actor counts as its start. An actor that started earlier causes one extra notification.
        if (status === "stopped") this.#seen.delete(id);
        else if (this.#seen.has(id)) return;
        else this.#remember(id);
        if (shared) this.#notify(() => true);
        else this.#ownerOf(id, (owner) => this.#notify((principal) => principal === owner));
      }),
    );
  }

  #remember(id: ActorId): void {
    if (this.#seen.size >= MAX_SEEN) this.#seen.clear();
    this.#seen.add(id);
  }

  #notify(isAffected: (principal: string | undefined) => boolean): void {
    for (const { principal, dirty } of Array.from(this.#listeners)) if (isAffected(principal)) dirty();
  }

  #stop(): void {
    for (const undo of this.#undos) undo();
    this.#undos = [];
    this.#seen.clear();
  }

  // Only the snapshot knows the owner. Actors without an owner notify no one.
  #ownerOf(id: ActorId, onOwner: (owner: string, status: Status) => void): void {
    const read = async (): Promise<void> => {
      const snapshot = await this.#engine.read(id);
      if (snapshot?.owner !== undefined) onOwner(snapshot.owner, snapshot.status);
    };
    read().catch(() => this.#log("warning", { event: "actor-watch-failed", actor: id }));
  }
}
