// Owns: when a client is notified of changed lists and resources, and of which. Does not own: the texts of its notifications (its host), and
// what changed (mcp/source).
import type { Catalogue, Channel, Json, ListName, Log, OfferRef, SurfaceNow, Source, Surface, Viewer } from "../../core/contract/index.ts";
import { missingScopes, memoize } from "../../core/contract/internal.ts";
import { sha256Base64url } from "../../core/platform/index.ts";
import { type Entry, listed, type Lists, type ListMode } from "../source/index.ts";
import { listModeFor } from "./core.ts";
import { inLog } from "./errors.ts";
import { indexOf, subscribable } from "./find-offer.ts";
import { CooperativeScheduler, type Job } from "./time-slices.ts";

/** What a subscription state is for, and the texts of its notifications. Its source, listMode and wanted lists never change. */
export interface SubscriptionHost {
  readonly source: Source;
  readonly listMode: ListMode;
  /** The lists that the client is notified of. */
  readonly wanted: readonly ListName[];
  readonly log: Log;
  listChanged(list: ListName): string;
  updated(uri: string): string;
}

export const EVERY_LIST: readonly (keyof Lists)[] = ["tools", "resources", "resourceTemplates", "prompts"];

// Templates have no notification of their own: in MCP they count as resources.
const noticeOf = (list: keyof Lists): ListName => (list === "resourceTemplates" ? "resources" : list);

// This many clients at a time keep a round of the event loop below some milliseconds. All of a process share one scheduler.
const flushes = new CooperativeScheduler(128);

const textOf = memoize((entries: readonly Entry[]) => JSON.stringify(entries));

/** A short fingerprint of a list, the same in every process. */
export const fingerprintOf = memoize((entries: readonly Entry[]) => sha256Base64url(textOf(entries)));

/** What the client saw last: a list, or the fingerprint of one that another process sent; empty if that is unknown. */
type SeenList = readonly Entry[] | string;
type Seen = { readonly [list in keyof Lists]?: SeenList };

// Replaced, never changed: clients that received the same lists share one object.
const NOTHING_SEEN: Seen = Object.freeze({});

function differs(was: SeenList, is: readonly Entry[]): boolean {
  if (typeof was === "string") return was !== fingerprintOf(is);
  // With many additions one by one, comparing texts each time would be most of the work.
  return was !== is && (was.length !== is.length || textOf(was) !== textOf(is));
}

// Very many clients that received the same lists are notified in sequence, so the last result is nearly always needed again.
let lastCompared: { readonly was: Seen; readonly is: Lists; readonly changed: readonly ListName[] } | undefined;

function changedBetween(was: Seen, is: Lists): readonly ListName[] {
  if (lastCompared?.was === was && lastCompared.is === is) return lastCompared.changed;
  const changed = [...new Set(EVERY_LIST.filter((list) => was[list] !== undefined && differs(was[list], is[list])).map(noticeOf))];
  lastCompared = { was, is, changed };
  return changed;
}

/** What a subscribed URI stands for. It is watched with its arguments, so that changes elsewhere in the same offer are not notified. */
export interface Subject {
  readonly ref: OfferRef;
  readonly args: Json;
  /** The scopes that the viewer needs to be notified. */
  readonly scopes: readonly string[];
}

interface Subscribed extends Omit<Subject, "ref"> {
  /** Undefined: nothing is offered under the URI for now. */
  readonly ref: OfferRef | undefined;
  undo?: () => void;
}

/**
 * What one client has subscribed to, and dirty flags for what it has not been notified of yet (C8): which lists may differ from those it
 * saw last, and which of its URIs changed. A thousand changes while it does not read are one flag; the notifications are worked out when
 * they can be sent.
 */
export class ClientNotifications implements Job {
  readonly #host: SubscriptionHost;
  // Copied from the host: when very many clients are notified at once, each access to another object is a cache miss.
  readonly #source: Source;
  readonly #listMode: ListMode;
  readonly #wanted: readonly ListName[];
  #viewer: Viewer;
  #seen = NOTHING_SEEN;
  #uris: Map<string, Subscribed> | undefined;
  #dirtyUris: Set<string> | undefined;
  /** The one whose offers the URIs were last compared with. */
  #catalogue: Catalogue | undefined;
  /** The URIs are to be compared with the same offers again. */
  #isFollowDue = false;
  /** The surface after the last change; true: it has to be read. */
  #dirtyLists: SurfaceNow | boolean = false;
  #channel: Channel | undefined;
  #undoReady: (() => void) | undefined;
  #undoWatch: (() => void) | undefined;
  #started = false;
  #flushing: Promise<void> | undefined;
  #scheduled = false;

  constructor(host: SubscriptionHost, viewer: Viewer) {
    this.#host = host;
    this.#source = host.source;
    this.#listMode = host.listMode;
    this.#wanted = host.wanted;
    this.#viewer = viewer;
  }

  /**
   * Starts to watch, for a client that is promised notifications before it has a channel. Settles once the lists that changes are
   * compared with are known, or cannot be read.
   */
  async listen(): Promise<void> {
    if (this.#started || !this.#begin()) return;
    const surface = await this.#surface();
    if (surface === undefined) this.#dirtyLists = true;
    else this.#notifyLists(surface);
  }

  /** Sends notifications on that channel from now on, also for earlier changes of lists that the client had seen. */
  async start(channel: Channel): Promise<void> {
    this.#release();
    this.#channel = channel;
    if (this.#started) {
      this.#watchAll();
      this.#schedule();
      return;
    }
    if (!this.#begin()) return;
    // The first flush reads the lists that later changes are compared with.
    this.#dirtyLists = true;
    await (this.#flushing ?? this.#flush());
  }

  /** The client may have other scopes now: everything is watched again for this viewer. */
  setViewer(viewer: Viewer): void {
    if (viewer === this.#viewer) return;
    this.#viewer = viewer;
    this.#isFollowDue = true;
    this.#undoWatch?.();
    this.#undoWatch = undefined;
    for (const subscribed of this.#uris?.values() ?? []) {
      subscribed.undo?.();
      delete subscribed.undo;
    }
    if (!this.#started) return this.#watchUris();
    this.#dirtyLists = true;
    this.#watchAll();
  }

  /** The client cannot be notified for now; the flags stay. */
  detach(channel: Channel): void {
    if (this.#channel !== channel) return;
    this.#release();
    this.#schedule();
  }

  stop(): void {
    this.#started = false;
    for (const subscribed of this.#uris?.values() ?? []) subscribed.undo?.();
    this.#uris = undefined;
    this.#undoWatch?.();
    this.#undoWatch = undefined;
    this.#release();
    this.#dirtyLists = false;
    this.#dirtyUris = undefined;
  }

  /** Also if it is subscribed to already: another offer may have its URI now. */
  subscribe(uri: string, { ref, args, scopes }: Subject): void {
    this.#uris ??= new Map();
    const before = this.#uris.get(uri);
    const subscribed: Subscribed = { ref, args, scopes };
    this.#uris.set(uri, subscribed);
    // Also before there is a channel: official clients open their stream in their own time.
    this.#watch(uri, subscribed);
    before?.undo?.();
  }

  /** Subscribes as soon as something is offered under the URI: what another process offered may appear here later. */
  expect(uri: string): void {
    if (!this.has(uri)) (this.#uris ??= new Map()).set(uri, { ref: undefined, args: null, scopes: [] });
  }

  unsubscribe(uri: string): void {
    this.#uris?.get(uri)?.undo?.();
    this.#uris?.delete(uri);
    this.#dirtyUris?.delete(uri);
  }

  has(uri: string): boolean {
    return this.#uris?.has(uri) === true;
  }

  /** It is subscribed, and something is offered under it. */
  watches(uri: string): boolean {
    return this.#uris?.get(uri)?.ref !== undefined;
  }

  /** Records that the client was sent this list. */
  recordList(lists: Lists, list: keyof Lists): void {
    // It may be newer than the surface of the flag.
    this.#dropSurface();
    this.#see(list, lists[list]);
  }

  /**
   * Records that another process sent the client this list, at an unknown time. False: it differs from what the client was known to have,
   * so only another notification makes sure that what it has is current.
   */
  recordListElsewhere(list: keyof Lists, fingerprint: string): boolean {
    const was = this.#seen[list];
    if (was !== undefined && (typeof was === "string" ? was : fingerprintOf(was)) === fingerprint) return true;
    this.#see(list, was === undefined ? fingerprint : "");
    return false;
  }

  /** It is no longer known what the client saw last. */
  forgetLists(): void {
    for (const list of EVERY_LIST) if (this.#seen[list] !== undefined) this.#see(list, "");
  }

  /** Compares the lists with those that the client saw, though nothing changed here. */
  recheck(): void {
    if (this.#undoWatch !== undefined) this.#dirty();
  }

  /** The URI may have changed while it was not watched here. */
  mayHaveChanged(uri: string): void {
    if (this.has(uri)) this.#dirtyUri(uri);
  }

  /** Whether it is known which of that list the client saw last. */
  knowsList(list: ListName): boolean {
    return EVERY_LIST.every((one) => noticeOf(one) !== list || this.#seen[one] !== undefined);
  }

  get pending(): boolean {
    return this.#flushing !== undefined || this.#dirtyLists !== false || this.#dirtyUris !== undefined;
  }

  /**
   * Sends what is dirty now, whether or not the client reads, before a reply that follows on the same stream (C8). Settles at once if
   * there is nothing to send.
   */
  async settle(): Promise<void> {
    // Twice: a flush that is running may have begun before the call's own change.
    for (let round = 0; round < 2 && this.pending; round += 1) await (this.#flushing ?? this.#flush());
  }

  #see(list: keyof Lists, entries: SeenList): void {
    if (this.#seen[list] !== entries) this.#seen = { ...this.#seen, [list]: entries };
  }

  #release(): void {
    this.#undoReady?.();
    this.#undoReady = undefined;
    this.#channel = undefined;
    this.#dropSurface();
  }

  // C8: for a client that cannot be notified for now, only flags are retained, and no surface.
  #dropSurface(): void {
    if (this.#dirtyLists !== false) this.#dirtyLists = true;
  }

  /** Only called when something is dirty: an idle client has no listener on its channel. */
  #waitFor(channel: Channel): void {
    this.#dropSurface();
    this.#undoReady ??= channel.onReady(() => {
      this.#undoReady?.();
      this.#undoReady = undefined;
      this.#schedule();
    });
  }

  /** False: no lists are wanted. */
  #begin(): boolean {
    this.#started = true;
    this.#watchAll();
    return this.#wanted.length > 0;
  }

  #watchUris(): void {
    for (const [uri, subscribed] of this.#uris ?? []) if (subscribed.undo === undefined) this.#watch(uri, subscribed);
  }

  #watchAll(): void {
    this.#watchUris();
    // Without lists, too: a URI may get another offer.
    if (this.#wanted.length === 0 && this.#uris === undefined) return;
    this.#undoWatch ??= this.#source.watch(this.#viewer, this.#onChange.bind(this), undefined, false);
  }

  /** What is dirty need not be watched until there is a channel: very many clients may have left for good. */
  #unwatchDirty(): void {
    if (this.#dirtyLists !== false) {
      this.#undoWatch?.();
      this.#undoWatch = undefined;
    }
    for (const uri of this.#dirtyUris ?? []) {
      const subscribed = this.#uris?.get(uri);
      subscribed?.undo?.();
      delete subscribed?.undo;
    }
  }

  #watch(uri: string, subscribed: Subscribed): void {
    const { ref, args } = subscribed;
    if (ref === undefined) return;
    const dirty = (of?: OfferRef): void => {
      if (of === undefined || of === ref) this.#dirtyUri(uri);
    };
    subscribed.undo = this.#source.watch(this.#viewer, dirty, { ref, args });
  }

  #dirtyUri(uri: string): void {
    (this.#dirtyUris ??= new Set()).add(uri);
    this.#schedule();
  }

  #onChange(ref?: OfferRef, current?: SurfaceNow): void {
    if (ref === undefined) this.#dirty(current);
  }

  #dirty(current?: SurfaceNow): void {
    const canSend = this.#channel !== undefined && this.#undoReady === undefined;
    this.#dirtyLists = (canSend ? current : undefined) ?? true;
    this.#schedule();
  }

  // Everything that changes in one round of the event loop becomes one flush. Whether the client reads is checked in its slice: checking it
  // here would access the memory of all listeners a second time.
  #schedule(): void {
    if (this.#scheduled || this.#undoReady !== undefined || !this.pending) return;
    this.#scheduled = true;
    flushes.add(this);
  }

  /** Called by the scheduler. */
  run(): void {
    this.#scheduled = false;
    if (this.#flushing !== undefined || !this.pending) return;
    if (this.#channel === undefined) this.#unwatchDirty();
    else if (this.#channel.ready) void this.#flush();
    else this.#waitFor(this.#channel);
  }

  /** Undefined: it is done. Never throws nor rejects: the failure of one client must not stop the others. */
  #flush(): Promise<void> | undefined {
    if (this.#channel === undefined) return undefined;
    const uris = this.#dirtyUris;
    this.#dirtyUris = undefined;
    const lists = this.#dirtyLists;
    if (lists === false) return this.#notifyUris(uris);
    this.#dirtyLists = false;
    const surface = this.#surface(lists === true ? undefined : lists);
    if (!(surface instanceof Promise)) return this.#notifyAll(surface, uris);
    this.#flushing = this.#flushLater(surface, uris);
    return this.#flushing;
  }

  async #flushLater(surface: Promise<Surface | undefined>, uris: ReadonlySet<string> | undefined): Promise<void> {
    const found = await surface;
    this.#flushing = undefined;
    if (this.#channel === undefined) this.#restore(uris);
    else this.#notifyAll(found, uris);
    this.#schedule();
  }

  /** Undefined: it cannot be read now. */
  #surface(current?: SurfaceNow): Surface | undefined | Promise<Surface | undefined> {
    try {
      const surface = current?.() ?? this.#source.surface(this.#viewer);
      return surface instanceof Promise ? surface.catch((error: unknown) => this.#failed(error)) : surface;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): undefined {
    this.#host.log("error", { event: "notify-failed", ...inLog(error) });
  }

  #notifyAll(surface: Surface | undefined, uris: ReadonlySet<string> | undefined): undefined {
    try {
      if (surface === undefined) this.#notifyStale();
      else this.#notifyLists(surface);
    } catch (error) {
      this.#failed(error);
    }
    this.#notifyUris(uris);
  }

  #notifyUris(uris: ReadonlySet<string> | undefined): undefined {
    for (const uri of uris ?? []) {
      const subscribed = this.#uris?.get(uri);
      if (subscribed?.ref !== undefined && missingScopes(subscribed.scopes, this.#viewer.scopes).length === 0)
        this.#send(() => this.#host.updated(uri));
    }
  }

  // A failure to send one notification must not stop the others.
  #send(text: () => string): void {
    try {
      this.#channel?.send(text());
    } catch (error) {
      this.#failed(error);
    }
  }

  // It is unknown whether the client's lists are still current: it is notified, and sees the fault when it reads them.
  #notifyStale(): void {
    this.#notifyChanged(new Set(EVERY_LIST.filter((list) => this.#seen[list] !== undefined).map(noticeOf)));
  }

  // The client has left meanwhile: its notifications remain pending.
  #restore(uris: ReadonlySet<string> | undefined): void {
    this.#dirtyLists = this.#started;
    for (const uri of uris ?? []) if (this.has(uri)) (this.#dirtyUris ??= new Set()).add(uri);
  }

  /** Another offer may have a subscribed URI now, as after its module was edited: the subscription is to the URI. */
  #followUris(surface: Surface): void {
    const { catalogue } = surface;
    if (catalogue === this.#catalogue && !this.#isFollowDue) return;
    this.#catalogue = catalogue;
    this.#isFollowDue = false;
    for (const [uri, { ref }] of this.#uris ?? []) {
      const target = indexOf(catalogue).resource(uri);
      if (target !== undefined && target.ref !== ref) void this.#follow(uri, surface);
    }
  }

  async #follow(uri: string, surface: Surface): Promise<void> {
    const viewer = this.#viewer;
    try {
      const target = await subscribable(this.#source, viewer, surface, uri);
      // Offers or the viewer have changed meanwhile, after which this is decided again.
      if (this.#catalogue !== surface.catalogue || this.#viewer !== viewer) return;
      // It may be visible later.
      if (target === undefined) this.#isFollowDue = true;
      if (target === undefined || !this.has(uri)) return;
      this.subscribe(uri, target);
      this.#dirtyUri(uri);
    } catch (error) {
      this.#failed(error);
    }
  }

  #notifyLists(surface: Surface): void {
    this.#followUris(surface);
    if (this.#wanted.length === 0) return;
    const lists = listed(surface, listModeFor(surface, this.#listMode));
    const was = this.#seen;
    this.#seen = lists;
    if (was !== lists) this.#notifyChanged(changedBetween(was, lists));
  }

  #notifyChanged(lists: Iterable<ListName>): void {
    for (const list of lists) if (this.#wanted.includes(list)) this.#send(() => this.#host.listChanged(list));
  }
}
