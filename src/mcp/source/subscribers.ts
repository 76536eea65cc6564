// Owns: who subscribes, and which subscribers share one watch. Does not own: what they are notified of (surface-watch.ts).

import type { Dirty, OfferRef, SurfaceNow, Surface } from "../../core/contract/index.ts";
import { Listeners, MultiMap, notify, safeCall } from "../../core/contract/internal.ts";
import { ContentMarks, type SubscribedContent } from "./content-marks.ts";
import { SurfaceWatch, type WatchContext } from "./surface-watch.ts";
import { ViewerDependencies, type ViewerRoots } from "./viewers.ts";

const NONE: readonly SubscribedContent[] = [];

/** One subscription, as one viewer. It refers to its watch itself: each call needs it, and a table of very many would be slower. */
export class Subscriber {
  readonly roots: ViewerRoots;
  readonly dirty: Dirty;
  /** The one resource it subscribes to; undefined: it subscribes to the lists. */
  readonly content: SubscribedContent | undefined;
  /** Whether it is notified of contents: of its one resource, or of all. */
  readonly contents: boolean;
  watch: SurfaceWatch | undefined;
  /** How many looks its watch had made when it subscribed. */
  since = 0;

  constructor(roots: ViewerRoots, dirty: Dirty, content?: SubscribedContent, contents = true) {
    this.roots = roots;
    this.dirty = dirty;
    this.content = content;
    this.contents = content !== undefined || contents;
  }
}

/** The subscribers of one watch, who agree in all that it looks at. C8: each gets a flag, however much changed. */
export class Subscribers {
  /** Usually nearly all subscribe to lists alone: a change of contents iterates over none of them. */
  readonly #ofLists = new Listeners<Subscriber>();
  #ofContents: Listeners<Subscriber> | undefined;
  readonly #onFault: (error: unknown) => void;

  /** `onFault`: receives what one of them throws, which affects neither the others nor the watch. */
  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  get none(): boolean {
    return this.#ofLists.none && this.#ofContents?.none !== false;
  }

  add(subscriber: Subscriber, looks: number): void {
    subscriber.since = looks;
    if (subscriber.contents) (this.#ofContents ??= new Listeners()).add(subscriber);
    else this.#ofLists.add(subscriber);
  }

  delete(subscriber: Subscriber): void {
    if (subscriber.contents) this.#ofContents?.delete(subscriber);
    else this.#ofLists.delete(subscriber);
  }

  all(): readonly Subscriber[] {
    return [...this.#ofLists.list(), ...(this.#ofContents?.list() ?? [])];
  }

  /** The resources that some of them subscribe to alone. */
  resources(): readonly SubscribedContent[] {
    return this.#ofContents?.list().flatMap(({ content }) => content ?? []) ?? NONE;
  }

  /** `surfaceNow`: returns their surface when they can receive it. `since`: skips those who subscribed before that look. */
  notifyLists(surfaceNow?: SurfaceNow, since = -1): void {
    // Both snapshots come first: a subscriber that is added while others are notified has seen the current state.
    const [lists, contents] = [this.#ofLists.list(), this.#ofContents?.list()];
    this.#notify(this.#ofLists, lists, undefined, since, surfaceNow);
    if (this.#ofContents !== undefined && contents !== undefined) this.#notify(this.#ofContents, contents, undefined, since, surfaceNow);
  }

  notifyContents(refs: readonly OfferRef[], since = -1): void {
    if (this.#ofContents === undefined) return;
    for (const ref of refs) this.#notify(this.#ofContents, this.#ofContents.list(), ref, since, undefined);
  }

  /** All they subscribe to may be stale. */
  notifyAll(): void {
    for (const { dirty, content } of this.all()) notify(dirty, content?.ref, this.#onFault);
  }

  #notify(
    among: Listeners<Subscriber>,
    list: readonly Subscriber[],
    ref: OfferRef | undefined,
    since: number,
    surfaceNow?: SurfaceNow,
  ): void {
    for (const subscriber of list) {
      const { dirty, content } = subscriber;
      if (!among.has(subscriber, list) || subscriber.since < since) continue;
      if (content !== undefined && !(content.ref === ref && content.takeChanged())) continue;
      if (surfaceNow === undefined) notify(dirty, ref, this.#onFault);
      else safeCall(() => dirty(ref, surfaceNow), this.#onFault);
    }
  }
}

/**
 * Subscribers with the same root actors share one watch if their viewers are equal in every part that a behaviour has read so far. So a
 * change is evaluated once for all of them.
 */
export class Subscriptions {
  readonly #context: WatchContext;
  readonly #watches = new Map<string, SurfaceWatch>();
  /** By principal, or by the actor behind a handle. */
  readonly #byName = new MultiMap<string, Subscriber>();

  constructor(options: Pick<WatchContext, "engine" | "listMode" | "graphs" | "onFault">) {
    this.#context = { ...options, marks: new ContentMarks(), dependencies: new ViewerDependencies(), regroup: () => this.#regroup() };
  }

  /** `name`: whose replies wait until this subscriber has been notified. */
  add(subscriber: Subscriber, name: string | undefined): () => void {
    this.#join(subscriber);
    if (name !== undefined) this.#byName.put(name, subscriber);
    return () => {
      this.#leave(subscriber);
      if (name !== undefined) this.#byName.take(name, subscriber);
    };
  }

  /**
   * C8: settles when the caller's own subscribers have been notified of its commit, which comes before its reply; undefined: they have
   * been. It is not enough that engines announce a change before they reply: another node's engine announces later, and only a look can
   * tell whose lists changed. A look runs after the announcement, once for a burst of changes. `seq`: of the commit; undefined: it has
   * been announced.
   */
  notifyFirst(name: string, actor: string, seq: number | undefined): Promise<unknown> | undefined {
    const subscribers = this.#byName.get(name);
    if (subscribers === undefined) return undefined;
    let waits: Promise<void>[] | undefined;
    for (const subscriber of subscribers) {
      const settled = subscriber.watch?.settled(actor, seq);
      if (settled !== undefined) (waits ??= []).push(this.#settled(subscriber, settled, actor, seq));
    }
    return waits && Promise.all(waits);
  }

  // The look may give the subscriber another watch, which notifies it then.
  async #settled(subscriber: Subscriber, settled: Promise<void> | undefined, actor: string, seq: number | undefined): Promise<void> {
    const { watch } = subscriber;
    await settled;
    if (subscriber.watch !== watch) await this.#settled(subscriber, subscriber.watch?.settled(actor, seq), actor, seq);
  }

  handedOut(roots: ViewerRoots, surface: Surface): void {
    if (this.#watches.size > 0) this.#watches.get(this.#keyOf(roots))?.handedOut(surface);
  }

  #keyOf(roots: ViewerRoots): string {
    return `${this.#context.dependencies.keyOf(roots.viewer)} ${roots.text}`;
  }

  #join(subscriber: Subscriber, before?: SurfaceWatch): void {
    const key = this.#keyOf(subscriber.roots);
    let watch = this.#watches.get(key);
    if (watch === undefined) {
      const { roots } = subscriber;
      const subscribers = new Subscribers((error) => this.#context.onFault(error, roots.first));
      this.#watches.set(key, (watch = new SurfaceWatch(roots, subscribers, this.#context, before)));
    }
    watch.add(subscriber);
    subscriber.watch = watch;
  }

  #leave(subscriber: Subscriber): void {
    const { watch } = subscriber;
    if (watch === undefined) return;
    subscriber.watch = undefined;
    watch.subscribers.delete(subscriber);
    if (watch.subscribers.none) this.#end(watch);
  }

  #end(watch: SurfaceWatch): void {
    watch.close();
    const key = this.#keyOf(watch.roots);
    if (this.#watches.get(key) === watch) this.#watches.delete(key);
  }

  /** The keys have grown: each watch goes on with the subscribers that share its new key, and the others get another. */
  #regroup(): void {
    const watches = [...this.#watches.values()];
    this.#watches.clear();
    for (const watch of watches) this.#watches.set(this.#keyOf(watch.roots), watch);
    for (const watch of watches) {
      for (const subscriber of watch.subscribers.all()) {
        if (subscriber.watch !== watch || this.#watches.get(this.#keyOf(subscriber.roots)) === watch) continue;
        watch.subscribers.delete(subscriber);
        this.#join(subscriber, watch);
      }
      if (watch.subscribers.none) this.#end(watch);
    }
  }
}
