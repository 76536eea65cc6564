// Owns: when a viewer's actors are looked at again, and what its subscribers are notified of. Does not own: who they are (subscribers.ts).

import type { ActorId, Change, Engine, OfferRef, SurfaceNow, Surface } from "../../core/contract/index.ts";
import { isStatic } from "../../core/contract/internal.ts";
import type { OnFault } from "./actor-views.ts";
import { type ActorState, type ContentMarks, MemberMarks, type SubscribedContent } from "./content-marks.ts";
import type { LinkGraph, LinkGraphs, Reader } from "./link-graph.ts";
import { changedLists, type ListMode } from "./lists.ts";
import { rootOf } from "./plan.ts";
import type { Subscriber, Subscribers } from "./subscribers.ts";
import { ViewerDependencies, type ViewerRoots } from "./viewers.ts";

interface Steps<T> {
  look(): T | Promise<T>;
  found(value: T): void;
  failed(error: unknown): void;
}

/**
 * Runs a look (reads the actors again and compares) when invalidated, never two at once. However often it is invalidated during a look,
 * one more look follows.
 */
export class Refresher<T> {
  readonly #steps: Steps<T>;
  #isStale = false;
  #isLooking = false;
  #isStopped = false;
  /** Callbacks for the end of the look under way. */
  #waiting: (() => void)[] = [];

  constructor(steps: Steps<T>) {
    this.#steps = steps;
  }

  /** No look is under way. */
  get isIdle(): boolean {
    return !this.#isLooking;
  }

  invalidate(): void {
    this.#isStale = true;
    if (!this.#isLooking) void this.#run();
  }

  /** Settles at the end of the look under way; where there is none, of one that begins now. */
  nextEnd(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isStopped) return resolve();
      this.#waiting.push(resolve);
      if (!this.#isLooking) this.invalidate();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#release();
  }

  async #run(): Promise<void> {
    this.#isLooking = true;
    while (this.#isStale && !this.#isStopped) {
      this.#isStale = false;
      try {
        this.#steps.found(await this.#steps.look());
      } catch (error) {
        this.#steps.failed(error);
      }
      this.#release();
    }
    this.#isLooking = false;
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** What all watches of one viewer group share. */
export interface WatchContext {
  readonly engine: Pick<Engine, "watch" | "readNow">;
  readonly listMode: ListMode;
  readonly graphs: LinkGraphs;
  readonly marks: ContentMarks;
  /** What anything looked at so far depends on. It only grows: subscribers are regrouped at most a few times. */
  readonly dependencies: ViewerDependencies;
  /** Called when `dependencies` has grown: subscribers of one watch may not have the same surface any more. */
  readonly regroup: () => void;
  readonly onFault: OnFault;
}

/** One actor that is listened to. */
class Topic {
  readonly undo: () => void;
  /** Of the state that the last look saw; -1: none. */
  seq: number;
  /** The number of the look that saw that state first. */
  since = 0;
  /** Of the last change announced; -1: none. */
  announced = -1;
  /** Of the newest change whose subscribers were notified without a look, since the last look; -1: none. */
  notified = -1;

  constructor(undo: () => void, seq: number) {
    this.undo = undo;
    this.seq = seq;
  }

  hasSeen(seq: number): boolean {
    return this.seq === seq || this.notified >= seq;
  }
}

/** The actors that viewers with equal dependencies see, and their subscribers. C8: stores what the last look saw, nothing per change. */
export class SurfaceWatch {
  readonly subscribers: Subscribers;
  readonly roots: ViewerRoots;
  readonly #context: WatchContext;
  readonly #topics = new Map<ActorId, Topic>();
  readonly #refresher: Refresher<LinkGraph>;
  /** The actors that the look under way has met. */
  #met = new Set<ActorId>();
  /** Announced before the first look was over. */
  readonly #changedEarly = new Set<ActorId>();
  #last: LinkGraph | undefined;
  /** The resources of the last look that show certain members alone. */
  #readers: ReadonlyMap<OfferRef, Reader> = new Map();
  readonly #members: MemberMarks;
  /** A surface that a viewer got since the last look, if it differs from that look's. True: two that differ from each other, so one is stale. */
  #handedOut: Surface | true | undefined;
  /** How many looks there were. */
  #looks = 0;
  #isClosed = false;

  /** `before`: the watch that its first subscribers had until now. */
  constructor(roots: ViewerRoots, subscribers: Subscribers, context: WatchContext, before?: SurfaceWatch) {
    this.roots = roots;
    this.subscribers = subscribers;
    this.#context = context;
    this.#members = new MemberMarks(!this.#readsNow);
    if (before !== undefined) {
      this.#last = before.#last;
      this.#handedOut = before.#handedOut;
      for (const id of before.#changedEarly) this.#changedEarly.add(id);
    }
    for (const id of roots.ids.values()) this.#listen(id, this.#last?.nodes.find(({ view }) => view.id === id)?.view.seq);
    for (const { view } of this.#last?.nodes ?? []) this.#listen(view.id, view.seq);
    this.#refresher = new Refresher({
      look: () => this.#look(),
      found: (graph) => this.#found(graph),
      failed: (error) => this.#failed(error),
    });
    this.#refresher.invalidate();
  }

  add(subscriber: Subscriber): void {
    this.subscribers.add(subscriber, this.#looks);
    const { content } = subscriber;
    if (content === undefined || this.#last === undefined) return this.#retry();
    if (content.isKnown) return;
    // What it shows now has to be known, to tell a change: read at once where that is possible, else by the next look.
    this.#note(content, this.#last, (id) => this.#stateNow(id));
    if (!content.isKnown) this.#refresher.invalidate();
  }

  /** A viewer was handed this surface. Where it differs from the last look it may be stale by the next one, which then notifies. */
  handedOut(surface: Surface): void {
    const { listMode } = this.#context;
    const last = this.#last;
    if (this.#isClosed || (last !== undefined && changedLists(last.surface, surface, listMode).length === 0)) return;
    const other = this.#handedOut;
    // Of two that differ, at least one is stale.
    if (other === undefined) this.#handedOut = surface;
    else if (other !== true && changedLists(other, surface, listMode).length > 0) this.#handedOut = true;
    if (last === undefined) this.#retry();
    else this.#refresher.invalidate();
  }

  /**
   * Settles when subscribers have been notified of this commit, also if it is announced with a delay. Undefined: they have been, or its
   * actor is not watched. `commit`: its number; undefined: the last that was announced.
   */
  settled(actor: string, commit: number | undefined): Promise<void> | undefined {
    const topics: ReadonlyMap<string, Topic> = this.#topics;
    const topic = topics.get(actor);
    if (this.#isClosed || topic === undefined) return undefined;
    const seq = commit ?? topic.announced;
    if (topic.hasSeen(seq)) return undefined;
    return this.#refresher.isIdle ? this.#refresher.nextEnd() : this.#settledLater(topic, seq);
  }

  // Two looks at most: while changes go on there is always another, and very many replies may wait.
  async #settledLater(topic: Topic, seq: number): Promise<void> {
    await this.#refresher.nextEnd();
    if (!this.#isClosed && !topic.hasSeen(seq)) await this.#refresher.nextEnd();
  }

  close(): void {
    this.#isClosed = true;
    for (const { undo } of this.#topics.values()) undo();
    this.#topics.clear();
    this.#refresher.stop();
  }

  #listen(id: ActorId, seq = -1): void {
    if (this.#isClosed || this.#topics.has(id)) return;
    this.#topics.set(id, new Topic(this.#context.engine.watch(id, this.#onChange), seq));
  }

  readonly #onChange = (change: Change): void => {
    const { id, seq } = change;
    const topic = this.#topics.get(id);
    if (topic === undefined) return;
    const isDelayed = seq === topic.seq && topic.announced < seq;
    topic.announced = seq;
    this.#noteTurn(id);
    const last = this.#last;
    if (last === undefined) this.#changedEarly.add(id);
    else if (isDelayed) this.#notifyDelayed(last, id, topic.since);
    else if (this.#isUnchanged(topic, change, last)) {
      topic.notified = seq;
      this.subscribers.notifyContents(this.#changedResources(id, last));
      return;
    }
    this.#refresher.invalidate();
  };

  /** Whether all lists are known to be unchanged: then contents are notified of at once, without a look. */
  #isUnchanged(topic: Topic, { id, seq, status }: Change, last: LinkGraph): boolean {
    // What a subscriber to one resource could read is then only found by a look.
    if (!this.#readsNow && this.subscribers.resources().length > 0) return false;
    if (topic.seq <= 0 || status !== "live" || seq <= Math.max(topic.seq, topic.notified) || !this.#refresher.isIdle) return false;
    return this.#isViewUnchanged(id, last);
  }

  #isViewUnchanged(id: ActorId, last: LinkGraph): boolean {
    const { graphs, dependencies } = this.#context;
    let isWatched = false;
    try {
      for (const node of last.nodes) {
        if (node.view.id !== id) continue;
        isWatched = true;
        if (isStatic(node.slot.behaviour)) continue;
        // Where it depends on more of the viewer than before, subscribers may have to be regrouped: that takes a look.
        const now = new ViewerDependencies();
        if (!graphs.isUnchanged(node, this.roots, now) || !dependencies.has(now)) return false;
      }
    } catch {
      // The look that follows meets the same error, and reports it.
      return false;
    }
    return isWatched;
  }

  /** The resources that may show something else of that actor than they did. */
  #changedResources(id: ActorId, last: LinkGraph): readonly OfferRef[] {
    const refs = last.resourcesOf(id);
    if (this.#readers.size === 0) return refs;
    const state = this.#stateNow(id);
    return refs.filter((ref) => {
      const reads = this.#readers.get(ref)?.reads;
      return reads === undefined || state === undefined || !this.#members.isSame(ref, state, reads);
    });
  }

  // An engine may announce a change after a look has seen it. Those who subscribed before that look were notified by it; the others are now.
  #notifyDelayed(last: LinkGraph, id: ActorId, since: number): void {
    this.subscribers.notifyLists(undefined, since);
    this.subscribers.notifyContents(last.resourcesOf(id), since);
  }

  /** After each turn, where states can be read at once: a later look may see another state, and a client may have read this one. */
  #noteTurn(id: ActorId): void {
    const last = this.#last;
    const contents = last === undefined || !this.#readsNow ? NO_CONTENTS : this.subscribers.resources();
    if (last === undefined || contents.length === 0) return;
    const refs = last.resourcesOf(id);
    let state: ActorState | undefined;
    for (const content of contents)
      if (refs.includes(content.ref) && !this.#note(content, last, () => (state ??= this.#stateNow(id)))) content.markChanged();
  }

  /** Notes what a subscriber to one resource could read now. False: the state of its actor is unknown, and nothing was noted. */
  #note(content: SubscribedContent, graph: LinkGraph, stateOf: (id: ActorId, seen: ActorState) => ActorState | undefined): boolean {
    const resource = graph.resource(content.ref);
    if (resource === undefined) {
      content.note("", { id: "off/off", seq: 0 }, true);
      return true;
    }
    const { view, route } = resource;
    const state = stateOf(view.id, view);
    if (state === undefined) return false;
    const { roots, args, argsText } = content;
    const self = roots.ids.get(rootOf(route.slot));
    const viewer = self === undefined ? roots.viewer : roots.as(self);
    const { action, reads } = route.offer;
    const request = { behaviour: route.slot.behaviour, action, args, argsText, reads };
    content.note(this.#context.marks.of(request, state, viewer), state, this.#readsNow);
    return true;
  }

  get #readsNow(): boolean {
    return this.#context.engine.readNow !== undefined;
  }

  #stateNow(id: ActorId): ActorState | undefined {
    const read = this.#context.engine.readNow?.(id);
    if (!(read instanceof Promise)) return read?.status === "live" ? read : undefined;
    // The next look meets the same error.
    read.catch(() => undefined);
    return undefined;
  }

  // After a failed look no links are known, and changes behind them would be missed: a new subscriber, or a surface handed out, starts another.
  #retry(): void {
    if (this.#last === undefined && this.#refresher.isIdle) this.#refresher.invalidate();
  }

  #look(): LinkGraph | Promise<LinkGraph> {
    const met = (this.#met = new Set(this.roots.ids.values()));
    return this.#context.graphs.of(this.roots, (id) => {
      met.add(id);
      this.#listen(id);
    });
  }

  #found(now: LinkGraph): void {
    if (this.#isClosed) return;
    // Before anyone is notified: subscribers who do not have the same surface after all get another watch, which may leave none here.
    if (this.#context.dependencies.add(now.dependencies)) this.#context.regroup();
    if (this.subscribers.none) return;
    this.#compare(now);
    for (const [id, { undo }] of this.#topics) {
      if (this.#met.has(id)) continue;
      undo();
      this.#topics.delete(id);
    }
  }

  // What the viewers hold may be stale: notified, they read again, and get the error.
  #failed(error: unknown): void {
    this.#last = undefined;
    this.#context.onFault(error, this.roots.first);
    if (!this.#isClosed) this.subscribers.notifyAll();
  }

  #compare(now: LinkGraph): void {
    const before = this.#last;
    this.#last = now;
    const unchanged = this.#readMembers(now);
    for (const content of this.subscribers.resources()) this.#note(content, now, (_id, seen) => seen);
    for (const { view } of now.nodes) view.dropState();
    const isNotified = ({ id, seq }: ActorState): boolean => this.#topics.get(id)?.notified === seq;
    const changed = before === undefined ? [] : now.resourcesChangedSince(before, isNotified).filter((ref) => !unchanged.has(ref));
    const handedOut = this.#handedOut;
    this.#handedOut = undefined;
    this.#updateTopics(now, before !== undefined);
    // Shared by all subscribers, and called when one can be sent to. Undefined if this look is outdated by then.
    const surfaceNow: SurfaceNow = () => (this.#last === now && this.#refresher.isIdle ? now.surface : undefined);
    if (before !== undefined) {
      if (this.#differs(before.surface, now) || this.#differs(handedOut, now)) this.subscribers.notifyLists(surfaceNow);
      return this.subscribers.notifyContents(changed);
    }
    // What was announced during the first look may or may not be in what it read: it counts as changed.
    if (now.nodes.some(({ view }) => this.#changedEarly.has(view.id))) {
      this.subscribers.notifyLists(surfaceNow);
      const refs = [...this.#changedEarly].flatMap((id) => now.resourcesOf(id));
      for (const content of this.subscribers.resources()) if (refs.includes(content.ref)) content.markChanged();
      this.subscribers.notifyContents(refs);
    } else if (this.#differs(handedOut, now)) this.subscribers.notifyLists(surfaceNow);
    this.#changedEarly.clear();
  }

  /** The resources that show certain members alone, where these are what they were. */
  #readMembers(now: LinkGraph): ReadonlySet<OfferRef> {
    const unchanged = new Set<OfferRef>();
    const readers = now.readers();
    for (const ref of this.#readers.keys()) if (!readers.has(ref)) this.#members.forget(ref);
    for (const [ref, { view, reads }] of readers) if (this.#members.isSame(ref, view, reads)) unchanged.add(ref);
    this.#readers = readers;
    return unchanged;
  }

  #differs(surface: Surface | true | undefined, now: LinkGraph): boolean {
    if (surface === undefined || surface === true) return surface === true;
    return changedLists(surface, now.surface, this.#context.listMode).length > 0;
  }

  #updateTopics({ nodes }: LinkGraph, isCounted: boolean): void {
    if (isCounted) this.#looks += 1;
    for (const topic of this.#topics.values()) topic.notified = -1;
    for (const { view } of nodes) {
      const topic = this.#topics.get(view.id);
      if (topic === undefined || topic.seq === view.seq) continue;
      topic.seq = view.seq;
      topic.since = this.#looks;
    }
  }
}

const NO_CONTENTS: readonly SubscribedContent[] = [];
