// Owns: whether the content of a resource changed since its subscribers were notified. Does not own: who they are (subscribers.ts).

import type { ActorId, Behaviour, ContentOf, Json, OfferRef, Viewer } from "../../core/contract/index.ts";
import { Lru } from "../../core/contract/internal.ts";
import { sha256Hex } from "../../core/platform/index.ts";
import type { ActorView } from "./actor-views.ts";
import { ViewerDependencies, type ViewerRoots } from "./viewers.ts";

/** An actor at one of its states. */
export type ActorState = Pick<ActorView, "id" | "seq" | "state">;

/** A resource of an actor, read with these arguments. */
export interface ReadRequest {
  readonly behaviour: Behaviour;
  readonly action: string;
  readonly args: Json;
  readonly argsText: string;
  /** The members of the state that its view is given; undefined: all of it. */
  readonly reads: readonly string[] | undefined;
}

/** A digest of what a state showed. It does not keep the state in memory. */
interface Mark {
  readonly state: WeakRef<object>;
  readonly digest: string;
}

/** The state of an actor that was read last, and the marks by action, arguments and viewer. */
interface KnownMarks {
  state: WeakRef<object>;
  readonly marks: Map<string, Mark>;
}

// Sharing is worth it where several subscribers read the same; each also keeps its own mark.
const MAX_ACTORS = 1_024;
const MAX_MARKS = 64;

/** Computes what resources show, once per state for all viewers who agree in what the view depends on. Stores digests only. */
export class ContentMarks {
  readonly #known = new Lru<ActorId, KnownMarks>(MAX_ACTORS);
  /** By view: what it ever read of its viewers. It only grows. */
  readonly #dependencies = new Map<string, ViewerDependencies>();

  /** Undefined: no view can be called. */
  of({ behaviour, action, args, argsText, reads }: ReadRequest, { id, state }: ActorState, viewer: Viewer): string | undefined {
    if (behaviour.view === undefined) return undefined;
    const view = `${behaviour.kind} ${action}`;
    let dependencies = this.#dependencies.get(view);
    if (dependencies === undefined) this.#dependencies.set(view, (dependencies = new ViewerDependencies()));
    if (typeof state !== "object" || state === null) return digestOf(behaviour, id, state, action, args, viewer);
    const known = this.#at(id, state);
    const last = known.marks.get(`${action} ${argsText} ${dependencies.keyOf(viewer)}`);
    const isSame = last !== undefined && (last.state === known.state || hasSameMembers(reads, last.state.deref(), state));
    const digest = isSame ? last.digest : digestOf(behaviour, id, state, action, args, dependencies.track(viewer));
    if (known.marks.size >= MAX_MARKS) known.marks.clear();
    // The key is computed again: the view may have read more of its viewer than before.
    known.marks.set(`${action} ${argsText} ${dependencies.keyOf(viewer)}`, { state: known.state, digest });
    return digest;
  }

  #at(id: ActorId, state: object): KnownMarks {
    let known = this.#known.get(id);
    if (known === undefined) this.#known.set(id, (known = { state: new WeakRef(state), marks: new Map() }));
    else if (known.state.deref() !== state) known.state = new WeakRef(state);
    return known;
  }
}

/** A turn leaves the members that it does not write the objects they were. */
function hasSameMembers(members: readonly string[] | undefined, before: object | undefined, state: object): boolean {
  if (members === undefined || before === undefined) return false;
  return members.every((name) => Object.is(Reflect.get(before, name), Reflect.get(state, name)));
}

const MAX_TEXT = 64;

function digestOf(behaviour: Behaviour, id: ActorId, state: unknown, action: string, args: Json, viewer: Viewer): string {
  let text: string;
  try {
    text = JSON.stringify(behaviour.view?.(state, action, args, viewer, id)) ?? "";
  } catch (error) {
    // A read of the resource meets this error, and logs it.
    text = String(error);
  }
  return text.length <= MAX_TEXT ? text : sha256Hex(text);
}

/** A resource as its subscriber could read it last. C8: a digest and a flag. */
export class SubscribedContent implements ContentOf {
  readonly roots: ViewerRoots;
  readonly ref: OfferRef;
  readonly args: Json;
  readonly argsText: string;
  #mark: string | undefined;
  #at: Pick<ActorState, "id" | "seq"> | undefined;
  #isChanged = false;

  constructor(roots: ViewerRoots, { ref, args }: ContentOf) {
    this.roots = roots;
    this.ref = ref;
    this.args = args;
    this.argsText = JSON.stringify(args) ?? "";
  }

  get isKnown(): boolean {
    return this.#mark !== undefined;
  }

  /**
   * Notes what it shows at a state. `isEveryTurn`: it was noted after each turn so far. Where not, a state in between may have had
   * other content, which its subscriber may have read.
   */
  note(mark: string | undefined, { id, seq }: Pick<ActorState, "id" | "seq">, isEveryTurn: boolean): void {
    if (mark === undefined) return this.markChanged();
    const at = this.#at;
    const isNext = at?.id === id && (seq === at.seq || seq === at.seq + 1);
    if (this.#mark !== undefined && (mark !== this.#mark || !(isEveryTurn || isNext))) this.#isChanged = true;
    this.#mark = mark;
    this.#at = { id, seq };
  }

  /** What it shows now is unknown: that counts as a change. */
  markChanged(): void {
    this.#isChanged = true;
  }

  /** Whether its subscriber has to be notified; clears the flag. */
  takeChanged(): boolean {
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }
}

interface SeenMembers {
  readonly id: ActorId;
  readonly seq: number;
  readonly marks: readonly unknown[];
}

/**
 * For resources that show certain members of a state: what these were when it was last notified of, without keeping them in memory.
 * Where states are objects of this process, members are compared by identity, since a turn leaves those that it does not write; that
 * takes no time, however large they are. Where each look reads a copy (`copies`), their digests are compared.
 */
export class MemberMarks {
  readonly #seen = new Map<OfferRef, SeenMembers>();
  readonly #markOf: (value: unknown) => unknown;

  constructor(copies: boolean) {
    this.#markOf = copies ? digestOfMember : weakly;
  }

  /** Whether they are the same as at the call before, as far as is known. */
  isSame(ref: OfferRef, { id, seq, state }: ActorState, members: readonly string[]): boolean {
    const seen = this.#seen.get(ref);
    const marks = members.map((name) => this.#markOf(memberOf(state, name)));
    this.#seen.set(ref, { id, seq, marks });
    // A state in between, also of an earlier life, may have had other members, and a client may have read them.
    return seen?.id === id && (seq === seen.seq || seq === seen.seq + 1) && marks.every((mark, i) => isSameMark(mark, seen.marks[i]));
  }

  forget(ref: OfferRef): void {
    this.#seen.delete(ref);
  }
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const memberOf = (state: unknown, name: string): unknown =>
  isObject(state) && Object.hasOwn(state, name) ? Reflect.get(state, name) : undefined;

const weakly = (value: unknown): unknown => (isObject(value) ? new WeakRef(value) : value);

const digestOfMember = (value: unknown): unknown => (isObject(value) ? sha256Hex(JSON.stringify(value)) : value);

function isSameMark(one: unknown, other: unknown): boolean {
  if (!(one instanceof WeakRef && other instanceof WeakRef)) return Object.is(one, other);
  const value = one.deref();
  return value !== undefined && value === other.deref();
}
