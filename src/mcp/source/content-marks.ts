// Owns: whether the content of a resource changed since its subscribers were notified. Does not own: who they are (watches.ts).

import type { ActorId, Behaviour, Json, Viewer, OfferRef } from "../../core/contract/index.ts";
import { sha256Hex } from "../../core/platform/index.ts";
import { Lru } from "./lru.ts";
import { Reads } from "./viewers.ts";
import type { Sight } from "./sight.ts";

/** What is read of an actor: a resource under these arguments. */
export interface Reading {
  readonly behaviour: Behaviour;
  readonly action: string;
  /** The members of the state that its view is given; undefined: all of it. */
  readonly reads: readonly string[] | undefined;
}

/** What was shown at a state, which is not kept alive by it. */
interface Mark {
  readonly state: WeakRef<object>;
  readonly text: string;
}

/** Of one actor: the state that was looked at last, and what was shown, by what was asked and by whom. */
interface Known {
  state: WeakRef<object>;
  readonly marks: Map<string, Mark>;
}

// Worth it where several ask the same: each subscriber keeps its own besides.
const ACTORS_KEPT = 1_024;
const MARKS_KEPT = 64;

/** Computes what resources show, once per state for all viewers who agree in what the view looks at. Digests alone are kept. */
export class ContentMarks {
  readonly #known = new Lru<ActorId, Known>(ACTORS_KEPT);
  /** What each view ever looked at of its viewers: it only grows. */
  readonly #reads = new Map<string, Reads>();

  /** `args` comes with its text, since one subscriber asks again and again. Undefined: it is not read by a view. */
  of({ behaviour, action, reads }: Reading, { id, state }: Stand, viewer: Viewer, args: Json, argsText: string): string | undefined {
    if (behaviour.view === undefined) return undefined;
    const looked = this.#readsOf(`${behaviour.kind} ${action}`);
    const keyNow = (): string => `${action} ${argsText} ${looked.keyOf(viewer)}`;
    if (typeof state !== "object" || state === null) return markOf(behaviour, id, state, action, args, viewer);
    const known = this.#at(id, state);
    const last = known.marks.get(keyNow());
    const isSame = last !== undefined && (last.state === known.state || isSameIn(reads, last.state.deref(), state));
    const text = isSame ? last.text : markOf(behaviour, id, state, action, args, looked.noticed(viewer));
    if (known.marks.size >= MARKS_KEPT) known.marks.clear();
    // By what was looked at now: it may be more than was known before.
    known.marks.set(keyNow(), { state: known.state, text });
    return text;
  }

  #at(id: ActorId, state: object): Known {
    const known = this.#known.get(id);
    if (known === undefined) {
      const made = { state: new WeakRef(state), marks: new Map<string, Mark>() };
      this.#known.set(id, made);
      return made;
    }
    if (known.state.deref() !== state) known.state = new WeakRef(state);
    return known;
  }

  #readsOf(view: string): Reads {
    let reads = this.#reads.get(view);
    if (reads === undefined) {
      reads = new Reads();
      this.#reads.set(view, reads);
    }
    return reads;
  }
}

/** Where a turn writes none of these members they stay the objects they were. */
function isSameIn(members: readonly string[] | undefined, before: object | undefined, state: object): boolean {
  if (members === undefined || before === undefined) return false;
  return members.every((name) => Object.is(Reflect.get(before, name), Reflect.get(state, name)));
}

const LONGEST_TEXT = 64;

function markOf(behaviour: Behaviour, id: ActorId, state: unknown, action: string, args: Json, viewer: Viewer): string {
  let text: string;
  try {
    text = JSON.stringify(behaviour.view?.(state, action, args, viewer, id)) ?? "";
  } catch (error) {
    // Whoever reads it meets the fault, and the log tells of it then.
    text = String(error);
  }
  return text.length <= LONGEST_TEXT ? text : sha256Hex(text);
}

/** One resource as its subscriber could read it last. C8: a digest and a flag. */
export class Content {
  readonly args: Json;
  readonly argsText: string;
  #mark: string | undefined;
  #at: Pick<Stand, "id" | "seq"> | undefined;
  #changed = false;

  constructor(args: Json) {
    this.args = args;
    this.argsText = JSON.stringify(args) ?? "";
  }

  get isKnown(): boolean {
    return this.#mark !== undefined;
  }

  /**
   * What it shows at that state. `wasHeard`: it was noted after each turn until now. Where not, a state that was passed over may have
   * shown something else, and somebody may have read it.
   */
  note(mark: string | undefined, { id, seq }: Pick<Stand, "id" | "seq">, wasHeard: boolean): void {
    if (mark === undefined) return this.doubt();
    const at = this.#at;
    const isNext = at?.id === id && (seq === at.seq || seq === at.seq + 1);
    if (this.#mark !== undefined && (mark !== this.#mark || !(wasHeard || isNext))) this.#changed = true;
    this.#mark = mark;
    this.#at = { id, seq };
  }

  /** What it shows now cannot be told: it counts as changed. */
  doubt(): void {
    this.#changed = true;
  }

  /** Whether its subscriber has to be told; from here on it counts as told. */
  takeChanged(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }
}

/** An actor at one of its states. */
export type Stand = Pick<Sight, "id" | "seq" | "state">;

interface Seen {
  readonly id: ActorId;
  readonly seq: number;
  readonly marks: readonly unknown[];
}

/**
 * Of resources that show certain members of a state: what these were when it was last told of. None is kept alive by it. Where
 * states are kept in this process, a turn leaves what it does not write the object it was, and to compare that takes no time, however
 * large it is; where each look reads a state of its own (`copies`), its text is compared.
 */
export class MembersShown {
  readonly #seen = new Map<OfferRef, Seen>();
  readonly #markOf: (value: unknown) => unknown;

  constructor(copies: boolean) {
    this.#markOf = copies ? digestOf : weakly;
  }

  /** Whether they are what they were, as far as can be said; what they are now is known from here on. */
  isSame(ref: OfferRef, { id, seq, state }: Stand, members: readonly string[]): boolean {
    const seen = this.#seen.get(ref);
    const marks = members.map((name) => this.#markOf(memberOf(state, name)));
    this.#seen.set(ref, { id, seq, marks });
    // A state that was passed over may have had others, and somebody may have read them: also one of a life that has ended since.
    return seen?.id === id && (seq === seen.seq || seq === seen.seq + 1) && marks.every((mark, i) => isSameMark(mark, seen.marks[i]));
  }

  forget(ref: OfferRef): void {
    this.#seen.delete(ref);
  }
}

const memberOf = (state: unknown, name: string): unknown =>
  typeof state === "object" && state !== null && Object.hasOwn(state, name) ? Reflect.get(state, name) : undefined;

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const weakly = (value: unknown): unknown => (isObject(value) ? new WeakRef(value) : value);

const digestOf = (value: unknown): unknown => (isObject(value) ? sha256Hex(JSON.stringify(value)) : value);

function isSameMark(one: unknown, other: unknown): boolean {
  if (!(one instanceof WeakRef && other instanceof WeakRef)) return Object.is(one, other);
  const value = one.deref();
  return value !== undefined && value === other.deref();
}
