import type { ContentOf, Dirty, Viewer, Bag, OfferRef } from "../../core/contract/index.ts";
import type { MountedServer } from "./mounted-server.ts";
import { uriOf } from "./calls.ts";

// Owns: who listens to mounted servers, and what the servers are subscribed to.

export interface Listener {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  readonly only: ContentOf | undefined;
  readonly contents: boolean;
}

interface Attached {
  readonly to: MountedServer;
  undo(): void;
}

/** Who listens, by the server they would hear: also while there is none. */
export class ServerListeners {
  readonly #by = new Map<string, Map<Listener, Attached | undefined>>();

  has(key: string): boolean {
    return this.#by.has(key);
  }

  add(key: string, listener: Listener, to: MountedServer | undefined): void {
    const among = this.#by.get(key) ?? new Map<Listener, Attached | undefined>();
    this.#by.set(key, among);
    among.set(listener, to && this.#attached(listener, to));
  }

  remove(key: string, listener: Listener): void {
    const among = this.#by.get(key);
    const attached = among?.get(listener);
    if (among?.delete(listener) !== true) return;
    if (among.size === 0) this.#by.delete(key);
    if (attached?.to.closed === false) attached.undo();
  }

  /** A new server is there. Who heard another is told to look: what changed in between nobody can say. */
  attach(key: string, to: MountedServer): void {
    const among = this.#by.get(key);
    for (const [listener, before] of among ?? []) {
      among?.set(listener, this.#attached(listener, to));
      if (before !== undefined) listener.dirty(listener.only?.ref);
    }
  }

  // What the server before still says in its closing is nobody's.
  #attached(listener: Listener, to: MountedServer): Attached {
    const { viewer, dirty, only, contents } = listener;
    const attached: Attached = { to, undo: () => undo() };
    const undo = to.watch(viewer, (ref) => !to.closed && dirty(ref), only, contents);
    return attached;
  }
}

export interface SubscriptionsOptions {
  /** Whether the server takes subscriptions; where not, what it tells of its own accord is all there is. */
  readonly subscribes: () => boolean;
  readonly ask: (method: string, params: Bag, viewer: Viewer) => Promise<unknown>;
  readonly ready: () => Promise<void>;
  readonly fault: (error: unknown) => void;
}

interface ResourceListener {
  readonly dirty: Dirty;
  readonly only: { readonly ref: OfferRef; readonly uri: string } | undefined;
  readonly contents: boolean;
}

/** Who listens to a server. It is subscribed to a URI once, whoever and however many listen. */
export class Subscriptions {
  readonly #own: SubscriptionsOptions;
  readonly #listeners = new Set<ResourceListener>();
  readonly #counts = new Map<string, number>();

  constructor(own: SubscriptionsOptions) {
    this.#own = own;
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    const listener: ResourceListener = { dirty, contents, only: only && { ref: only.ref, uri: uriOf(only.ref, only.args) } };
    this.#listeners.add(listener);
    if (listener.only !== undefined) this.#count(listener.only.uri, 1, viewer);
    return () => {
      if (this.#listeners.delete(listener) && listener.only !== undefined) this.#count(listener.only.uri, -1, viewer);
    };
  }

  updated(uri: string): void {
    for (const { dirty, only, contents } of this.#listeners) {
      if (only?.uri === uri) dirty(only.ref);
      else if (only === undefined && contents) dirty(`resources/${uri}`);
    }
  }

  changed(): void {
    for (const { dirty, only } of this.#listeners) if (only === undefined) dirty();
  }

  #count(uri: string, by: 1 | -1, viewer: Viewer): void {
    const before = this.#counts.get(uri) ?? 0;
    const count = before + by;
    if (count === 0) this.#counts.delete(uri);
    else this.#counts.set(uri, count);
    if (before === 0) this.#tell("resources/subscribe", uri, viewer);
    else if (count === 0) this.#tell("resources/unsubscribe", uri, viewer);
  }

  #tell(method: string, uri: string, viewer: Viewer): void {
    const tell = async (): Promise<void> => {
      await this.#own.ready();
      if (this.#own.subscribes()) await this.#own.ask(method, { uri }, viewer);
    };
    tell().catch(this.#own.fault);
  }
}
