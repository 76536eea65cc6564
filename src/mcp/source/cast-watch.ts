// Owns: when to look at a viewer's actors again, and what to notify of. Does not own: who subscribes (watches.ts).

import type { ActorId, Change, Engine, OfferRef, Shown, Surface } from "../../core/contract/index.ts";
import { isStatic } from "../../core/contract/internal.ts";
import { type Closure, type Part, changedContents, contentsOf, type Reader, readersIn, shownBy } from "./closure.ts";
import { type ContentMarks, MembersShown, type Stand } from "./content-marks.ts";
import { type Ear, Ears } from "./ears.ts";
import { changedLists, type Posture } from "./posture.ts";
import { rootOf } from "./plan.ts";
import type { OnFault } from "./sight.ts";
import type { Standing } from "./viewers.ts";

export interface WatchOptions {
  readonly engine: Pick<Engine, "watch">;
  readonly posture: Posture;
  /** Told of every actor before it is read. */
  readonly walk: (onActor: (id: ActorId) => void) => Closure | Promise<Closure>;
  /** Whether a look would show this part as it did, as far as can be said on the spot. */
  readonly isAsSeen: (part: Part) => boolean;
  /** What resources show, for all who listen to some. */
  readonly marks: ContentMarks;
  /** Where it stands, if that can be said on the spot. Absent: it never can, and each look has a copy of its own. */
  readonly standNow: ((id: ActorId) => Stand | undefined) | undefined;
  /** Whose eyes it sees with. */
  readonly standing: Standing;
  /** Before anybody is told what was found: the time for those to leave who do not see the same after all. */
  readonly onWalked: (closure: Closure) => void;
  readonly onFault: OnFault;
}

/** One actor that is listened to. */
class Topic {
  readonly undo: () => void;
  /** Of the state that was seen last; -1: none was. */
  seq: number;
  /** The look that saw it first. */
  since = 0;
  /** Announced last; -1: nothing was. */
  heard = -1;
  /** Told of without a look; -1: nothing was since the last one. */
  ahead = -1;
  /** Whatever it does while it lives, its surface stays. */
  steady = false;
  /** The resources that show it, as the last look has it; undefined: nobody asked since. */
  shownBy: readonly OfferRef[] | undefined;
  /** Where it was met by the last look; undefined: nobody asked since. */
  parts: readonly Part[] | undefined;

  constructor(undo: () => void, seq: number) {
    this.undo = undo;
    this.seq = seq;
  }
}

/**
 * What viewers alike meet, and their ears. C8: it holds what they saw last and which actors to listen to, nothing per change;
 * however many changes arrive while it looks, it looks once more.
 */
export class CastWatch {
  readonly ears: Ears;
  readonly standing: Standing;
  readonly #roots: readonly ActorId[];
  readonly #options: WatchOptions;
  readonly #topics = new Map<ActorId, Topic>();
  /** Announced before there was a first look. */
  readonly #changed = new Set<ActorId>();
  #last: Closure | undefined;
  /** The resources of the last look that show certain members alone. */
  #readers: ReadonlyMap<OfferRef, Reader> = new Map();
  readonly #members: MembersShown;
  /** Another surface than the last look's that was given to one of these viewers since; true: several. */
  #given: Surface | true | undefined;
  /** The number of the last look. */
  #looks = 0;
  #wanted = true;
  /** For a look that begins from now on. */
  #waiting: (() => void)[] = [];
  /** For the look that is under way. */
  #ending: (() => void)[] = [];
  #looking = false;
  #closed = false;

  /** `parted`: the watch its first ears listened to until now. */
  constructor(options: WatchOptions, parted?: CastWatch) {
    this.#options = options;
    this.standing = options.standing;
    this.#members = new MembersShown(options.standNow === undefined);
    this.#roots = [...options.standing.roots.values()];
    this.ears = new Ears((error) => this.#fault(error));
    if (parted !== undefined) {
      this.#last = parted.#last;
      this.#given = parted.#given;
      for (const id of parted.#changed) this.#changed.add(id);
    }
    for (const id of this.#roots) this.#listen(id, this.#last?.parts.find(({ sight }) => sight.id === id)?.sight.seq);
    for (const { sight } of this.#last?.parts ?? []) this.#listen(sight.id, sight.seq);
    void this.#look();
  }

  add(ear: Ear): void {
    this.ears.add(ear, this.#looks);
    if (ear.content === undefined || this.#last === undefined) return this.#lookAgain();
    if (ear.content.isKnown) return;
    // What it is told from has to be known: where no look at it can be had on the spot, by the next one.
    this.#note(ear, this.#last, (id) => this.#options.standNow?.(id));
    if (ear.content.isKnown) return;
    this.#wanted = true;
    void this.#look();
  }

  /** What a subscriber could read there now. `standOf`: where an actor stands; undefined: that cannot be told, and nothing is noted. */
  #note(ear: Ear, closure: Closure, standOf: (id: ActorId, seen: Stand) => Stand | undefined): boolean {
    const { only, content, standing } = ear;
    if (only === undefined || content === undefined) return false;
    const shown = shownBy(closure, only);
    if (shown === undefined) {
      content.note("", { id: "off/off", seq: 0 }, true);
      return true;
    }
    const { sight, way, reads } = shown;
    const stand = standOf(sight.id, sight);
    if (stand === undefined) return false;
    const self = standing.roots.get(rootOf(way.place));
    const viewer = self === undefined ? standing.viewer : standing.as(self);
    const reading = { behaviour: way.place.behaviour, action: way.offer.action, reads };
    const mark = this.#options.marks.of(reading, stand, viewer, content.args, content.argsText);
    content.note(mark, stand, this.#options.standNow !== undefined);
    return true;
  }

  // After each turn, where that can be said on the spot: a later look may see another state, and somebody may have read this one.
  #noteTurn(topic: Topic, id: ActorId): void {
    const [last, { standNow }] = [this.#last, this.#options];
    const subscribers = last === undefined || standNow === undefined ? NOBODY : this.ears.subscribers();
    if (last === undefined || standNow === undefined || subscribers.length === 0) return;
    const refs = (topic.shownBy ??= showing(last, id));
    let stand: Stand | undefined;
    for (const ear of subscribers)
      if (ear.only !== undefined && refs.includes(ear.only) && !this.#note(ear, last, () => (stand ??= standNow(id)))) ear.content?.doubt();
  }

  // A look that failed knows of no links, so nobody would be told of what stands behind them.
  #lookAgain(): void {
    if (this.#last !== undefined || this.#looking || this.#closed) return;
    this.#wanted = true;
    void this.#look();
  }

  /**
   * Settles when this commit has been flagged: a reply waits for it, so that the flag goes first, also where the engine
   * announces late. Undefined: it has been, or cannot be seen from here.
   */
  settled(actor: string, seq: number): Promise<void> | undefined {
    const topics: ReadonlyMap<string, Topic> = this.#topics;
    const topic = topics.get(actor);
    if (this.#closed || topic === undefined) return undefined;
    if (this.#looking) return this.#settledLater(topic, seq);
    return hasSeen(topic, seq) ? undefined : this.#nextLook();
  }

  // Two looks at most: while changes go on there is always another, and very many replies may wait.
  async #settledLater(topic: Topic, seq: number): Promise<void> {
    await new Promise<void>((resolve) => this.#ending.push(resolve));
    if (!this.#closed && !hasSeen(topic, seq)) await this.#nextLook();
  }

  #nextLook(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#wanted = true;
      void this.#look();
    });
  }

  /**
   * One of these viewers was given this surface. What is not what the last look saw may be gone again before the next one: whoever
   * holds it is told then.
   */
  gave(surface: Surface): void {
    const { posture } = this.#options;
    const last = this.#last;
    if (this.#closed || (last !== undefined && changedLists(last.surface, surface, posture).length === 0)) return;
    const given = this.#given;
    // One of two that differ is not what is now.
    if (given === undefined) this.#given = surface;
    else if (given !== true && changedLists(given, surface, posture).length > 0) this.#given = true;
    if (last === undefined) return this.#lookAgain();
    this.#wanted = true;
    void this.#look();
  }

  close(): void {
    this.#closed = true;
    for (const { undo } of this.#topics.values()) undo();
    this.#topics.clear();
    this.#release(this.#waiting.splice(0));
    this.#release(this.#ending.splice(0));
  }

  #listen(id: ActorId, seq = -1): void {
    if (this.#closed || this.#topics.has(id)) return;
    this.#topics.set(id, new Topic(this.#options.engine.watch(id, this.#heard), seq));
  }

  readonly #heard = (change: Change): void => {
    const { id, seq } = change;
    const topic = this.#topics.get(id);
    if (topic === undefined) return;
    const isLate = seq === topic.seq && topic.heard < seq;
    topic.heard = seq;
    this.#noteTurn(topic, id);
    const last = this.#last;
    if (last === undefined) this.#changed.add(id);
    else if (isLate) this.#flagLate(last, id, topic.since);
    else if (this.#isSteady(topic, change, last)) {
      topic.ahead = seq;
      this.ears.flagContents(this.#others(topic, id, last));
      return;
    }
    this.#wanted = true;
    void this.#look();
  };

  // Where no list has changed by it, there is nothing to look at: its contents are other ones, and that is all.
  #isSteady(topic: Topic, { id, seq, status }: Change, last: Closure): boolean {
    // Only a look tells then what a subscriber could read.
    if (this.#options.standNow === undefined && this.ears.subscribers().length > 0) return false;
    if (topic.seq <= 0 || status !== "live" || seq <= Math.max(topic.seq, topic.ahead) || this.#looking) return false;
    if (topic.steady) return true;
    topic.parts ??= last.parts.filter(({ sight }) => sight.id === id);
    return topic.parts.length > 0 && this.#areAsSeen(topic.parts);
  }

  /** The resources that may show something else of that actor than they did. */
  #others(topic: Topic, id: ActorId, last: Closure): readonly OfferRef[] {
    const refs = (topic.shownBy ??= showing(last, id));
    if (this.#readers.size === 0) return refs;
    const stand = this.#options.standNow?.(id);
    return refs.filter((ref) => {
      const reads = this.#readers.get(ref)?.reads;
      return reads === undefined || stand === undefined || !this.#members.isSame(ref, stand, reads);
    });
  }

  #areAsSeen(parts: readonly Part[]): boolean {
    try {
      return parts.every(this.#options.isAsSeen);
    } catch {
      // The look that comes now meets the same fault, and tells of it.
      return false;
    }
  }

  // An engine may announce late. Who began to listen after the state was seen here has seen nothing of it.
  #flagLate(last: Closure, id: ActorId, since: number): void {
    this.ears.flagLists(undefined, since);
    this.ears.flagContents(showing(last, id), since);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    while (this.#wanted && !this.#closed) {
      this.#wanted = false;
      const waiting = this.#waiting;
      this.#waiting = [];
      try {
        const met = new Set<ActorId>(this.#roots);
        const now = await this.#options.walk((id) => {
          met.add(id);
          this.#listen(id);
        });
        if (!this.#isClosed()) this.#options.onWalked(now);
        if (!this.#isClosed()) this.#compare(now);
        this.#forget(met);
      } catch (error) {
        // What the viewers hold may be stale now: they are told to ask, and hear the fault then.
        this.#last = undefined;
        this.#fault(error);
        if (!this.#isClosed()) this.ears.flagAll();
      }
      this.#release(waiting);
      this.#release(this.#ending.splice(0));
    }
    this.#looking = false;
  }

  #fault(error: unknown): void {
    this.#options.onFault(error, this.#roots[0] ?? "cast/none");
  }

  #isClosed(): boolean {
    return this.#closed;
  }

  #release(waiting: readonly (() => void)[]): void {
    for (const resolve of waiting) resolve();
  }

  #forget(met: ReadonlySet<ActorId>): void {
    for (const [id, { undo }] of this.#topics) {
      if (met.has(id)) continue;
      undo();
      this.#topics.delete(id);
    }
  }

  #compare(now: Closure): void {
    const before = this.#last;
    this.#last = now;
    const same = this.#read(now);
    for (const ear of this.ears.subscribers()) this.#note(ear, now, (_id, seen) => seen);
    for (const { sight } of now.parts) sight.rest();
    const refs =
      before === undefined
        ? []
        : changedContents(before, now, ({ id, seq }) => this.#topics.get(id)?.ahead === seq).filter((ref) => !same.has(ref));
    const given = this.#given;
    this.#given = undefined;
    // One for all who are flagged, and asked when each is told: by then there may be another look, or need of one.
    const shown: Shown = () => (this.#last === now && !this.#wanted && !this.#looking ? now.surface : undefined);
    this.#see(now, before !== undefined);
    if (before === undefined) {
      // What was announced since the look began may or may not be in what was read: it counts as changed.
      const isChanged = (id: ActorId): boolean => this.#changed.has(id);
      if (now.parts.some(({ sight }) => isChanged(sight.id))) {
        this.ears.flagLists(shown);
        const changed = contentsOf(now, isChanged);
        for (const ear of this.ears.subscribers()) if (ear.only !== undefined && changed.includes(ear.only)) ear.content?.doubt();
        this.ears.flagContents(changed);
      } else if (this.#differs(given, now)) this.ears.flagLists(shown);
      this.#changed.clear();
      return;
    }
    if (this.#differs(before.surface, now) || this.#differs(given, now)) this.ears.flagLists(shown);
    this.ears.flagContents(refs);
  }

  /** The resources whose members are what they were. */
  #read(now: Closure): ReadonlySet<OfferRef> {
    const same = new Set<OfferRef>();
    const readers = readersIn(now);
    for (const ref of this.#readers.keys()) if (!readers.has(ref)) this.#members.forget(ref);
    for (const [ref, { sight, reads }] of readers) if (this.#members.isSame(ref, sight, reads)) same.add(ref);
    this.#readers = readers;
    return same;
  }

  #differs(surface: Surface | true | undefined, now: Closure): boolean {
    if (surface === undefined || surface === true) return surface === true;
    return changedLists(surface, now.surface, this.#options.posture).length > 0;
  }

  #see({ parts }: Closure, again: boolean): void {
    if (again) this.#looks += 1;
    for (const topic of this.#topics.values()) {
      topic.ahead = -1;
      topic.steady = false;
      topic.shownBy = undefined;
      topic.parts = undefined;
    }
    for (const { place, sight } of parts) {
      const topic = this.#topics.get(sight.id);
      if (topic === undefined) continue;
      topic.steady = isStatic(place.behaviour);
      if (topic.seq === sight.seq) continue;
      topic.seq = sight.seq;
      topic.since = this.#looks;
    }
  }
}

const NOBODY: readonly Ear[] = [];

const hasSeen = (topic: Topic, seq: number): boolean => topic.seq === seq || topic.ahead >= seq;

function showing(closure: Closure, id: ActorId): readonly OfferRef[] {
  return contentsOf(closure, (one) => one === id);
}
