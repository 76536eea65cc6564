import type { ActorId, OfferRef } from "../../core/contract/index.ts";
import { sha256Hex } from "../../core/platform/index.ts";
import type { Sight } from "./sight.ts";

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
