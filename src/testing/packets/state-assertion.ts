import { AssertionError } from "node:assert/strict";
import { shown } from "./shown.ts";
import type { TestActor } from "./test-actor.ts";

/** Any part of it, at any depth. */
export type Partially<T> = unknown extends T
  ? object
  : T extends readonly (infer E)[]
    ? readonly Partially<E>[]
    : T extends object
      ? { readonly [N in keyof T]?: Partially<T[N]> }
      : T;

/** A field of a state, by its name. */
export type FieldOf<S> = unknown extends S ? string : Extract<keyof S, string>;

/** Rejects with an `AssertionError`. */
export async function assertActorStateContains<S>(
  actor: TestActor<S>,
  expected: FieldOf<NoInfer<S>> | Partially<NoInfer<S>>,
): Promise<void> {
  const state = await actor.state();
  const who = `${actor.capability_id} ${JSON.stringify(actor.actor_id)}`;
  if (typeof expected === "string") {
    if (typeof state === "object" && state !== null && Object.hasOwn(state, expected)) return;
    throw new AssertionError({
      message: `The state of ${who} has no ${JSON.stringify(expected)}. It is:\n${shown(state)}\nSend the message that sets it first, or begin with it in initialState.`,
      actual: state,
      expected,
      operator: "assertActorStateContains",
      stackStartFn: assertActorStateContains,
    });
  }
  if (contains(state, expected)) return;
  throw new AssertionError({
    message: `The state of ${who} does not contain\n${shown(expected)}\nIt is:\n${shown(state)}\nSend the message that brings it about first, or expect what is there.`,
    actual: state,
    expected,
    operator: "assertActorStateContains",
    stackStartFn: assertActorStateContains,
  });
}

/** Objects by the fields that are expected, lists item by item, all else as it is. */
export function contains(actual: unknown, expected: unknown): boolean {
  if (typeof expected !== "object" || expected === null) return actual === expected;
  if (typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(expected) || Array.isArray(actual))
    return (
      Array.isArray(expected) &&
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((item, at) => contains(actual[at], item))
    );
  return Object.entries(expected).every(([name, part]) => Object.hasOwn(actual, name) && contains(Reflect.get(actual, name), part));
}
