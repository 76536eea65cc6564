import type { ActorId, Engine, Log, Status, Viewer } from "../../core/contract/index.ts";

/** A kind of actor, and whether its actors are everybody's. */
export interface WatchedKind {
  readonly kind: string;
  readonly shared: boolean;
}

interface Listener {
  readonly principal: string | undefined;
  readonly dirty: () => void;
}

// Forgotten, an actor is told of once more.
const MAX_SEEN = 10_000;

/** Tells viewers when their own actors begin, end and change, and of nobody else's (C8). The engine is watched while somebody listens. */
export class ActorWatch implements Disposable {
  readonly #engine: Pick<Engine, "read" | "watch">;
  readonly #log: Log;
  readonly #listeners = new Set<Listener>();
  /** Actors that live, as far as was told. */
  readonly #seen = new Set<ActorId>();
  #kinds: readonly WatchedKind[];
  #undos: readonly (() => void)[] = [];

  constructor(engine: Pick<Engine, "read" | "watch">, kinds: readonly WatchedKind[], log: Log) {
    this.#engine = engine;
    this.#kinds = kinds;
    this.#log = log;
  }

  /** Other kinds are there now. */
  setKinds(kinds: readonly WatchedKind[]): void {
    this.#kinds = kinds;
    this.#stop();
    if (this.#listeners.size > 0) this.#start();
  }

  /** The actors of a viewer begin and end. Returns its undo. */
  watchList({ principal }: Viewer, dirty: () => void): () => void {
    const listener: Listener = { principal, dirty };
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#start();
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#stop();
    };
  }

  /** One actor changes, as long as it is the viewer's. Returns its undo. */
  watchActor(id: ActorId, shared: boolean, { principal }: Viewer, dirty: () => void): () => void {
    // Known before it changes, what it was is told of at once: a notification precedes the reply of the call that caused it.
    let isOwn = shared;
    const checkOwner = (then: () => void): void =>
      this.#ownerOf(id, (owner, status) => {
        isOwn = owner === principal && status !== "stopped";
        if (owner === principal) then();
      });
    if (!shared) checkOwner(() => undefined);
    return this.#engine.watch(id, (change) => {
      const { status } = change;
      // An actor with the key `*` has the id that is the topic of all actors of its kind.
      if (change.id !== id) return;
      if (!isOwn) return checkOwner(dirty);
      dirty();
      // Who begins its next life may be another.
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
        // A beginning is a first sight: told once too often for what began before, never too little.
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

  // Only its snapshot knows whose it is. What is nobody's is told of to nobody.
  #ownerOf(id: ActorId, onOwner: (owner: string, status: Status) => void): void {
    const read = async (): Promise<void> => {
      const snapshot = await this.#engine.read(id);
      if (snapshot?.owner !== undefined) onOwner(snapshot.owner, snapshot.status);
    };
    read().catch(() => this.#log("warning", { event: "actor-watch-failed", actor: id }));
  }
}
