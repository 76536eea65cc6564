import { sha256Base64url } from "../../core/platform/index.ts";
import type { Channel, Json, ListName, Log, OfferRef, Shown, Source, Surface, Viewer } from "../../core/contract/index.ts";
import { missingScopes, memoize } from "../../core/contract/internal.ts";
import { type Entry, listed, type Lists, type Posture } from "../source/index.ts";
import { postureFor } from "./call.ts";
import { inLog } from "./errors.ts";
import { type Piece, Slices } from "./slices.ts";

/*
 * C8. What one client is still to be told, as flags: which lists may differ from
 * what it last could see, which of its URIs changed. A thousand changes while it
 * does not read are one flag; what it is told is found out when it can be told.
 */

/** Whose audience it is, and in what words it is told. Its source, its posture and what it wants stay as they are. */
export interface AudienceHost {
  readonly source: Source;
  readonly posture: Posture;
  /** Of these lists only. */
  readonly wanted: readonly ListName[];
  readonly log: Log;
  listChanged(list: ListName): string;
  updated(uri: string): string;
}

export const EVERY: readonly (keyof Lists)[] = ["tools", "resources", "resourceTemplates", "prompts"];

// Templates have no notification of their own: MCP counts them to the resources.
const noticeOf = (list: keyof Lists): ListName => (list === "resourceTemplates" ? "resources" : list);

// So many at a time keep a round of the event loop below some milliseconds, whoever else is served meanwhile. All of a process share them.
const telling = new Slices(128);

const textOf = memoize((entries: readonly Entry[]) => JSON.stringify(entries));

/** A list in few characters, the same in every process. */
export const fingerprintOf = memoize((entries: readonly Entry[]) => sha256Base64url(textOf(entries)));

/** A list as another process showed it, by its fingerprint; empty where nobody can say what the client saw last. */
type SeenList = readonly Entry[] | string;
type Seen = { readonly [list in keyof Lists]?: SeenList };

// Never changed but replaced: all who were shown the same hold the same.
const NOTHING_SEEN: Seen = Object.freeze({});

function differs(was: SeenList, is: readonly Entry[]): boolean {
  if (typeof was === "string") return was !== fingerprintOf(is);
  // Where many come one by one, a text of all of them for each would be most of the work.
  return was !== is && (was.length !== is.length || textOf(was) !== textOf(is));
}

// Very many who were shown the same are told one after the other: what came out for the one before is nearly always asked for again.
let lastCompared: { readonly was: Seen; readonly is: Lists; readonly changed: readonly ListName[] } | undefined;

function changedBetween(was: Seen, is: Lists): readonly ListName[] {
  if (lastCompared?.was === was && lastCompared.is === is) return lastCompared.changed;
  const changed = [...new Set(EVERY.filter((list) => was[list] !== undefined && differs(was[list], is[list])).map(noticeOf))];
  lastCompared = { was, is, changed };
  return changed;
}

/** What a subscribed URI stands for: watched by itself, so that another's change of the same offer is not told. */
export interface Subject {
  readonly ref: OfferRef;
  readonly args: Json;
  /** What a viewer's token must have to be told. */
  readonly scopes: readonly string[];
}

interface Subscribed extends Subject {
  undo?: () => void;
}

/** One client's dirty flags and the way to it. */
export class Audience implements Piece {
  readonly #host: AudienceHost;
  // Kept: of very many who are told at once, each host that is looked at is a wait for the memory.
  readonly #source: Source;
  readonly #posture: Posture;
  readonly #wanted: readonly ListName[];
  #viewer: Viewer;
  #seen = NOTHING_SEEN;
  #uris: Map<string, Subscribed> | undefined;
  #dirtyUris: Set<string> | undefined;
  /** True: what they are now has to be asked for. */
  #dirtyLists: Shown | boolean = false;
  #channel: Channel | undefined;
  #undoReady: (() => void) | undefined;
  #undoWatch: (() => void) | undefined;
  #started = false;
  #flushing: Promise<void> | undefined;
  #scheduled = false;

  constructor(host: AudienceHost, viewer: Viewer) {
    this.#host = host;
    this.#source = host.source;
    this.#posture = host.posture;
    this.#wanted = host.wanted;
    this.#viewer = viewer;
  }

  /**
   * From here on changes are noticed, and told once there is a channel: for whoever promises that before there is one. Settles when
   * the lists a change is told from are known, or cannot be had.
   */
  async listen(): Promise<void> {
    if (this.#started || !this.#begin()) return;
    const surface = await this.#surface();
    if (surface === undefined) this.#dirtyLists = true;
    else this.#tellLists(surface);
  }

  /** From here on changes are told on that channel; what changed before counts where the client had been shown a list. */
  async start(channel: Channel): Promise<void> {
    this.#attach(channel);
    if (this.#started) {
      this.#hear();
      this.#schedule();
      return;
    }
    if (!this.#begin()) return;
    // The first flush finds out what the lists are now: without it no change could be told from none.
    this.#dirtyLists = true;
    await (this.#flushing ?? this.#flush());
  }

  /** Whoever reads the stream now may have other rights: what the caller before was told of is watched again for this one. */
  as(viewer: Viewer): void {
    if (viewer === this.#viewer) return;
    this.#viewer = viewer;
    if (!this.#started) return;
    this.#undoWatch?.();
    this.#undoWatch = undefined;
    for (const subscribed of this.#uris?.values() ?? []) {
      subscribed.undo?.();
      delete subscribed.undo;
    }
    this.#dirtyLists = true;
    this.#hear();
  }

  /** The client cannot be told for now; the flags stay. */
  detach(channel: Channel): void {
    if (this.#channel !== channel) return;
    this.#letGo();
    this.#schedule();
  }

  stop(): void {
    this.#started = false;
    for (const subscribed of this.#uris?.values() ?? []) subscribed.undo?.();
    this.#uris = undefined;
    this.#undoWatch?.();
    this.#undoWatch = undefined;
    this.#letGo();
    this.#dirtyLists = false;
    this.#dirtyUris = undefined;
  }

  subscribe(uri: string, { ref, args, scopes }: Subject): void {
    this.#uris ??= new Map();
    if (this.#uris.has(uri)) return;
    const subscribed: Subscribed = { ref, args, scopes };
    this.#uris.set(uri, subscribed);
    if (this.#started) this.#watch(uri, subscribed);
  }

  unsubscribe(uri: string): void {
    this.#uris?.get(uri)?.undo?.();
    this.#uris?.delete(uri);
    this.#dirtyUris?.delete(uri);
  }

  has(uri: string): boolean {
    return this.#uris?.has(uri) === true;
  }

  /** The client was given this list: only what differs from it is worth telling. */
  saw(lists: Lists, list: keyof Lists): void {
    // It may be later than what the flag came with.
    this.#askAgain();
    this.#see(list, lists[list]);
  }

  /**
   * Another process gave the client this list, at a time that nobody here can tell. False: it is not what the client was
   * known to have, so whether what it holds now is current only telling it again makes sure.
   */
  sawElsewhere(list: keyof Lists, fingerprint: string): boolean {
    const was = this.#seen[list];
    if (was !== undefined && (typeof was === "string" ? was : fingerprintOf(was)) === fingerprint) return true;
    this.#see(list, was === undefined ? fingerprint : "");
    return false;
  }

  /** What the client saw last nobody can say any more. */
  doubt(): void {
    for (const list of EVERY) if (this.#seen[list] !== undefined) this.#see(list, "");
  }

  /** Compares the lists with what the client was shown, though nothing changed. */
  recheck(): void {
    if (this.#undoWatch !== undefined) this.#dirty();
  }

  /** That URI may have changed while nobody here watched it. */
  missed(uri: string): void {
    if (this.has(uri)) this.#dirtyUri(uri);
  }

  /** Whether it is known here what the client was shown of that list last. */
  knows(list: ListName): boolean {
    return EVERY.every((one) => noticeOf(one) !== list || this.#seen[one] !== undefined);
  }

  get pending(): boolean {
    return this.#flushing !== undefined || this.#dirtyLists !== false || this.#dirtyUris !== undefined;
  }

  /**
   * Tells what is dirty now, whether or not the client reads: before a reply that
   * follows on the same stream (C8). Settles at once when there is nothing to tell.
   */
  async settle(): Promise<void> {
    // Twice: a flush under way may have begun before this call's own change.
    for (let round = 0; round < 2 && this.pending; round += 1) await (this.#flushing ?? this.#flush());
  }

  #see(list: keyof Lists, shown: SeenList): void {
    if (this.#seen[list] !== shown) this.#seen = { ...this.#seen, [list]: shown };
  }

  #attach(channel: Channel): void {
    this.#letGo();
    this.#channel = channel;
  }

  #letGo(): void {
    this.#undoReady?.();
    this.#undoReady = undefined;
    this.#channel = undefined;
    this.#askAgain();
  }

  // C8: of a client that cannot be told for now flags are kept, and nothing that holds a surface.
  #askAgain(): void {
    if (this.#dirtyLists !== false) this.#dirtyLists = true;
  }

  /** There is something to tell: once the client reads. Nobody waits for the channel of a client that is idle. */
  #waitFor(channel: Channel): void {
    this.#askAgain();
    this.#undoReady ??= channel.onReady(() => {
      this.#undoReady?.();
      this.#undoReady = undefined;
      this.#schedule();
    });
  }

  /** Watches what there is to be told of. False: no list is. */
  #begin(): boolean {
    this.#started = true;
    this.#hear();
    return this.#wanted.length > 0;
  }

  #hear(): void {
    for (const [uri, subscribed] of this.#uris ?? []) if (subscribed.undo === undefined) this.#watch(uri, subscribed);
    if (this.#wanted.length === 0) return;
    this.#undoWatch ??= this.#source.watch(this.#viewer, this.#heard.bind(this), undefined, false);
  }

  /** Of what is flagged no more need be heard until there is a channel: clients that left may be very many, and come back never. */
  #rest(): void {
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
    const dirty = (of?: OfferRef): void => {
      if (of === undefined || of === ref) this.#dirtyUri(uri);
    };
    subscribed.undo = this.#source.watch(this.#viewer, dirty, { ref, args });
  }

  #dirtyUri(uri: string): void {
    (this.#dirtyUris ??= new Set()).add(uri);
    this.#schedule();
  }

  #heard(ref?: OfferRef, shown?: Shown): void {
    if (ref === undefined) this.#dirty(shown);
  }

  #dirty(shown?: Shown): void {
    const canTell = this.#channel !== undefined && this.#undoReady === undefined;
    this.#dirtyLists = (canTell ? shown : undefined) ?? true;
    this.#schedule();
  }

  // All that changes in one round of the event loop is told once. Whether the client reads is looked at when its slice comes: now it
  // would be a second walk through the memory of all who listen.
  #schedule(): void {
    if (this.#scheduled || this.#undoReady !== undefined || !this.pending) return;
    this.#scheduled = true;
    telling.add(this);
  }

  /** Its slice has come. */
  run(): void {
    this.#scheduled = false;
    if (this.#flushing !== undefined || !this.pending) return;
    if (this.#channel === undefined) this.#rest();
    else if (this.#channel.ready) void this.#flush();
    else this.#waitFor(this.#channel);
  }

  /** Undefined: what was dirty is told. Never throws nor rejects: one that fails ends the telling of no other. */
  #flush(): Promise<void> | undefined {
    if (this.#channel === undefined) return undefined;
    const uris = this.#dirtyUris;
    this.#dirtyUris = undefined;
    const lists = this.#dirtyLists;
    if (lists === false) {
      this.#tellUris(uris);
      return undefined;
    }
    this.#dirtyLists = false;
    const surface = this.#surface(lists === true ? undefined : lists);
    if (!(surface instanceof Promise)) {
      this.#tellAll(surface, uris);
      return undefined;
    }
    this.#flushing = surface.then((found) => {
      this.#flushing = undefined;
      if (this.#channel === undefined) this.#put(uris);
      else this.#tellAll(found, uris);
      return this.#schedule();
    });
    return this.#flushing;
  }

  /** Undefined: it cannot be had now. */
  #surface(shown?: Shown): Surface | undefined | Promise<Surface | undefined> {
    try {
      const surface = shown?.() ?? this.#source.surface(this.#viewer);
      return surface instanceof Promise ? surface.catch((error: unknown) => this.#failed(error)) : surface;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): undefined {
    this.#host.log("error", { event: "notify-failed", ...inLog(error) });
  }

  #tellAll(surface: Surface | undefined, uris: ReadonlySet<string> | undefined): void {
    try {
      if (surface === undefined) this.#tellStale();
      else this.#tellLists(surface);
    } catch (error) {
      this.#failed(error);
    }
    this.#tellUris(uris);
  }

  #tellUris(uris: ReadonlySet<string> | undefined): void {
    for (const uri of uris ?? []) {
      const subscribed = this.#uris?.get(uri);
      if (subscribed !== undefined && missingScopes(subscribed.scopes, this.#viewer.scopes).length === 0)
        this.#send(() => this.#host.updated(uri));
    }
  }

  // One that cannot be sent takes no other with it.
  #send(text: () => string): void {
    try {
      this.#channel?.send(text());
    } catch (error) {
      this.#failed(error);
    }
  }

  // Whether what the client was shown still holds nobody can say: it is told to ask, and hears the fault then.
  #tellStale(): void {
    this.#tellChanged(new Set(EVERY.filter((list) => this.#seen[list] !== undefined).map(noticeOf)));
  }

  // The client went away meanwhile: what it was not told stays to be told.
  #put(uris: ReadonlySet<string> | undefined): void {
    this.#dirtyLists = this.#started;
    for (const uri of uris ?? []) if (this.has(uri)) (this.#dirtyUris ??= new Set()).add(uri);
  }

  #tellLists(surface: Surface): void {
    const lists = listed(surface, postureFor(surface, this.#posture));
    const was = this.#seen;
    this.#seen = lists;
    if (was !== lists) this.#tellChanged(changedBetween(was, lists));
  }

  #tellChanged(lists: Iterable<ListName>): void {
    for (const list of lists) if (this.#wanted.includes(list)) this.#send(() => this.#host.listChanged(list));
  }
}
