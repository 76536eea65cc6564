// Owns: listeners of mounted servers, and the subscriptions of the servers.
import type { ContentOf, Dirty, Viewer, JsonObject, OfferRef } from "../../core/contract/index.ts";
import type { MountedServer } from "./mounted-server.ts";
import { uriOf } from "./calls.ts";

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

/** Listeners by the key of their server, also while that server does not exist. */
export class ServerListeners {
  readonly #byServer = new Map<string, Map<Listener, Attached | undefined>>();

  has(key: string): boolean {
    return this.#byServer.has(key);
  }

  add(key: string, listener: Listener, to: MountedServer | undefined): void {
    const listeners = this.#byServer.get(key) ?? new Map<Listener, Attached | undefined>();
    this.#byServer.set(key, listeners);
    listeners.set(listener, to && this.#attached(listener, to));
  }

  remove(key: string, listener: Listener): void {
    const listeners = this.#byServer.get(key);
    const attached = listeners?.get(listener);
    if (listeners?.delete(listener) !== true) return;
    if (listeners.size === 0) this.#byServer.delete(key);
    if (attached?.to.closed === false) attached.undo();
  }

  /** A new server exists. Listeners of an earlier one are notified, since they may have missed changes in between. */
  attach(key: string, to: MountedServer): void {
    const listeners = this.#byServer.get(key);
    for (const [listener, before] of listeners ?? []) {
      listeners?.set(listener, this.#attached(listener, to));
      if (before !== undefined) listener.dirty(listener.only?.ref);
    }
  }

  // Notifications of an earlier server that is being closed are ignored.
  #attached(listener: Listener, to: MountedServer): Attached {
    const { viewer, dirty, only, contents } = listener;
    const attached: Attached = { to, undo: () => undo() };
    const undo = to.watch(viewer, (ref) => !to.closed && dirty(ref), only, contents);
    return attached;
  }
}

export interface SubscriptionsOptions {
  /** Whether the server has that resource and supports subscriptions; if not, it may still send notifications. */
  readonly subscribes: (ref: OfferRef) => Promise<boolean>;
  readonly ask: (method: string, params: JsonObject, viewer: Viewer) => Promise<unknown>;
  readonly fault: (error: unknown) => void;
}

interface ResourceListener {
  readonly dirty: Dirty;
  readonly only: { readonly ref: OfferRef; readonly uri: string } | undefined;
  readonly contents: boolean;
}

interface Subscription {
  readonly uri: string;
  readonly ref: OfferRef;
  listeners: number;
  /** The server has accepted it. */
  accepted: boolean;
  /** Requests for one URI are sent one after the other. */
  tail: Promise<void>;
}

/** The listeners of one server. A URI is subscribed to once, however many listeners it has. */
export class Subscriptions {
  readonly #own: SubscriptionsOptions;
  readonly #listeners = new Set<ResourceListener>();
  readonly #subscriptions = new Map<string, Subscription>();

  constructor(own: SubscriptionsOptions) {
    this.#own = own;
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    const listener: ResourceListener = { dirty, contents, only: only && { ref: only.ref, uri: uriOf(only.ref, only.args) } };
    this.#listeners.add(listener);
    if (listener.only !== undefined) this.#count(listener.only, 1, viewer);
    return () => {
      if (this.#listeners.delete(listener) && listener.only !== undefined) this.#count(listener.only, -1, viewer);
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

  #count({ ref, uri }: NonNullable<ResourceListener["only"]>, by: 1 | -1, viewer: Viewer): void {
    const known = this.#subscriptions.get(uri);
    const subscription = known ?? { uri, ref, listeners: 0, accepted: false, tail: Promise.resolve() };
    if (known === undefined) this.#subscriptions.set(uri, subscription);
    subscription.listeners += by;
    subscription.tail = subscription.tail.then(() => this.#request(subscription, viewer)).catch(this.#own.fault);
  }

  /** Subscribes or unsubscribes, if that is due. What the server has refused is requested again for the next listener. */
  async #request(subscription: Subscription, viewer: Viewer): Promise<void> {
    const { uri, ref, listeners, accepted } = subscription;
    try {
      if (listeners > 0 && !accepted && (await this.#own.subscribes(ref))) {
        await this.#own.ask("resources/subscribe", { uri }, viewer);
        subscription.accepted = true;
      } else if (listeners === 0 && accepted) {
        subscription.accepted = false;
        await this.#own.ask("resources/unsubscribe", { uri }, viewer);
      }
    } finally {
      const isUnused = subscription.listeners === 0 && !subscription.accepted;
      if (isUnused && this.#subscriptions.get(uri) === subscription) this.#subscriptions.delete(uri);
    }
  }
}
