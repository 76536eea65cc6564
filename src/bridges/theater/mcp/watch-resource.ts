// Owns: when a resource's content may have changed. Does not own: the hints (change-hints.ts).
import type { Clock, JsonObject, Viewer } from "../../../core/contract/index.ts";
import { sha256Hex } from "../../../core/platform/index.ts";
import { type Stage, type StageActor, type StageChange, UUID } from "../stage.ts";
import { ACTOR_RESOURCE } from "./actor-listing.ts";
import type { ChangeHints } from "./change-hints.ts";
import type { ToolContext } from "./tool.ts";

// Hints say that something changed, but not what. Content that few hints are about is polled this long after one.
const DELAY_MS = 250;

interface Poll {
  readonly read: () => Promise<string>;
  readonly dirty: () => void;
  lastSeen: string | undefined;
  /** A hint came before the first poll, which may already include the change. */
  isHinted: boolean;
}

/** Detects changes that only a poll can show. One poll at a time, whatever the number of watchers and hints. */
export class ChangePolls {
  readonly #hints: ChangeHints;
  readonly #clock: Clock;
  readonly #polls = new Set<Poll>();
  #queue: Promise<void> = Promise.resolve();
  #undo: (() => void) | undefined;
  #timer: (() => void) | undefined;

  constructor(hints: ChangeHints, clock: Clock) {
    this.#hints = hints;
    this.#clock = clock;
  }

  /** `read` returns the content in few characters; a throw counts as a content of its own. Returns a function that ends the watch. */
  add(read: () => Promise<string>, dirty: () => void): () => void {
    const poll: Poll = { read, dirty, lastSeen: undefined, isHinted: false };
    this.#polls.add(poll);
    this.#undo ??= this.#hints.forAll(() => this.#onHint());
    this.#enqueue(() => this.#poll(poll));
    return () => {
      this.#polls.delete(poll);
      if (this.#polls.size > 0) return;
      this.#undo?.();
      this.#timer?.();
      this.#undo = this.#timer = undefined;
    };
  }

  #onHint(): void {
    for (const poll of this.#polls) poll.isHinted = true;
    this.#timer ??= this.#clock.after(DELAY_MS, () => this.#enqueue(() => this.#round()));
  }

  #enqueue(next: () => Promise<void>): void {
    const before = this.#queue;
    this.#queue = (async () => {
      await before;
      await next();
    })();
  }

  async #round(): Promise<void> {
    // A hint from here on is for the next round: at most one waits in the queue.
    this.#timer = undefined;
    for (const poll of Array.from(this.#polls)) await this.#poll(poll);
  }

  async #poll(poll: Poll): Promise<void> {
    if (!this.#polls.has(poll)) return;
    const now = await poll.read().catch(() => "");
    const changed = poll.lastSeen === undefined ? poll.isHinted : poll.lastSeen !== now;
    poll.lastSeen = now;
    if (changed && this.#polls.has(poll)) poll.dirty();
  }
}

/** Reports every change of one actor, given by its id or name. Returns a function that ends the watch. */
function watchActor(stage: Pick<Stage, "actor">, hints: ChangeHints, idOrName: string, onChange: () => void): () => void {
  if (UUID.test(idOrName)) return hints.forActor(idOrName.toLowerCase(), onChange);
  const watch = new NamedActorWatch(stage, hints, idOrName, onChange);
  const undo = hints.forAll((change) => watch.onHint(change));
  return () => {
    watch.close();
    undo();
  };
}

/** Watches whichever actor has the name at the time. */
class NamedActorWatch {
  readonly #stage: Pick<Stage, "actor">;
  readonly #hints: ChangeHints;
  readonly #name: string;
  readonly #onChange: () => void;
  #id: string | undefined;
  #undo: (() => void) | undefined;
  #hasEnded = false;
  #isResolving = false;
  #isHinted = false;
  #isClosed = false;

  constructor(stage: Pick<Stage, "actor">, hints: ChangeHints, idOrName: string, onChange: () => void) {
    this.#stage = stage;
    this.#hints = hints;
    this.#name = idOrName;
    this.#onChange = onChange;
    void this.#resolve(false);
  }

  close(): void {
    this.#isClosed = true;
    this.#undo?.();
  }

  onHint({ actor, what }: StageChange): void {
    if (actor === this.#name || actor === this.#id) {
      this.#hasEnded = what === "ended";
      this.#onChange();
    } else if (this.#isResolving) this.#isHinted = true;
    else if (what === "began" && (this.#id === undefined || this.#hasEnded)) void this.#resolve(true);
  }

  async #resolve(isRepeated: boolean): Promise<void> {
    this.#isResolving = true;
    this.#isHinted = false;
    const found = await this.#stage.actor(this.#name).then(
      ({ id }) => id,
      () => undefined,
    );
    this.#isResolving = false;
    if (this.#isClosed) return;
    const isOther = found !== undefined && found !== this.#id;
    if (isOther) {
      this.#hasEnded = false;
      this.#id = found;
      this.#undo?.();
      this.#undo = this.#hints.prioritize(found);
    }
    if ((isRepeated && isOther) || this.#isHinted) this.#onChange();
  }
}

const NOOP = (): void => undefined;

const textArgument = (args: JsonObject, name: string): string | undefined => {
  const value = args[name];
  return typeof value === "string" ? value : undefined;
};

/** Reports that the content of a resource may have changed. Returns a function that ends the watch. */
export function watchResource(
  context: ToolContext & { readonly polls: ChangePolls },
  name: string,
  args: JsonObject,
  viewer: Viewer,
  onChange: () => void,
): () => void {
  const { stage, hints, polls, channels } = context;
  const actor = name.startsWith(ACTOR_RESOURCE) ? name.slice(ACTOR_RESOURCE.length) : textArgument(args, "actor_id");
  if (name === "actors") return watchActors(context, onChange);
  // Events before a given event do not change.
  if (name === "earlier") return NOOP;
  if (actor !== undefined && name === "state") return watchState(context, actor, onChange);
  if (actor !== undefined) return watchActor(stage, hints, actor, onChange);
  const event = textArgument(args, "event_id");
  // An event is immutable, but its children may appear in any chain.
  if (event !== undefined) return polls.add(async () => ((await stage.event(event))?.children ?? []).join(" "), onChange);
  const channel = textArgument(args, "channel_id");
  return (channel === undefined ? undefined : channels.find(viewer, channel))?.listen(onChange) ?? NOOP;
}

function watchState({ stage, hints }: ToolContext, actor: string, onChange: () => void): () => void {
  const state = new StateWatch(stage, actor, onChange);
  const undo = watchActor(stage, hints, actor, () => state.onHint());
  state.start();
  return () => {
    state.close();
    undo();
  };
}

/** Most messages leave a state unchanged, so digests are compared, one read at a time (C8). */
class StateWatch {
  readonly #stage: Pick<Stage, "state">;
  readonly #actor: string;
  readonly #onChange: () => void;
  #lastDigest: string | undefined;
  #isReading = false;
  /** A hint came during a read, which may have seen a state in between. */
  #isHinted = false;
  #isClosed = false;

  constructor(stage: Pick<Stage, "state">, actor: string, onChange: () => void) {
    this.#stage = stage;
    this.#actor = actor;
    this.#onChange = onChange;
  }

  start(): void {
    void this.#read();
  }

  onHint(): void {
    if (this.#isReading) this.#isHinted = true;
    else void this.#read();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    const before = this.#lastDigest;
    let wasHinted = false;
    do {
      wasHinted ||= this.#isHinted;
      this.#isHinted = false;
      this.#lastDigest = await this.#digest();
    } while (this.#isHinted && !this.#isClosed);
    this.#isReading = false;
    const isOther = before !== undefined && before !== this.#lastDigest;
    if (!this.#isClosed && (isOther || wasHinted)) this.#onChange();
  }

  async #digest(): Promise<string> {
    try {
      const bytes = await this.#stage.state(this.#actor);
      return bytes === undefined ? "none" : sha256Hex(Buffer.from(bytes).toString("latin1"));
    } catch {
      return "unreadable";
    }
  }
}

function watchActors({ stage, hints, limits, polls }: ToolContext & { readonly polls: ChangePolls }, onChange: () => void): () => void {
  // As far as they have been reported, so that a poll does not report a start or an end again.
  let reported: Map<string, StageActor["status"]> | undefined;
  let version = 0;
  const undo = [
    hints.forAll(({ actor, what }) => {
      if (what === "changed") return;
      if (what === "began") reported?.set(actor, "RUNNING");
      else reported?.delete(actor);
      onChange();
    }),
    // No hint reports that a status changed.
    polls.add(async () => {
      const listed = new Map((await stage.list(limits.listed)).map(({ id, status }) => [id, status]));
      if (reported !== undefined && !isSame(reported, listed)) version += 1;
      reported = listed;
      return String(version);
    }, onChange),
  ];
  return () => {
    for (const one of undo) one();
  };
}

const isSame = <K, V>(one: ReadonlyMap<K, V>, other: ReadonlyMap<K, V>): boolean =>
  one.size === other.size && Array.from(other).every(([key, value]) => one.get(key) === value);
