import type { Bag, ContentOf, Dirty, OfferRef, Viewer } from "../../core/contract/index.ts";
import { uriOf } from "./uri.ts";

export interface SubscriptionsOptions {
  /** Whether the server takes subscriptions; where not, what it tells of its own accord is all there is. */
  readonly subscribes: () => boolean;
  readonly ask: (method: string, params: Bag, viewer: Viewer) => Promise<unknown>;
  readonly ready: () => Promise<void>;
  readonly fault: (error: unknown) => void;
}

interface Listener {
  readonly dirty: Dirty;
  readonly only: { readonly ref: OfferRef; readonly uri: string } | undefined;
  readonly contents: boolean;
}

/** Who listens to a server. It is subscribed to a URI once, whoever and however many listen. */
export class Subscriptions {
  readonly #own: SubscriptionsOptions;
  readonly #listeners = new Set<Listener>();
  readonly #counts = new Map<string, number>();

  constructor(own: SubscriptionsOptions) {
    this.#own = own;
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    const listener: Listener = { dirty, contents, only: only && { ref: only.ref, uri: uriOf(only.ref, only.args) } };
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
