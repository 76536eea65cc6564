// Owns: assertions about effects and states. Does not own: collecting them (packet-test.ts).
import { AssertionError } from "node:assert/strict";
import { inspect, isDeepStrictEqual } from "node:util";
import type { Effect, Emitted } from "../../bridges/packet/index.ts";
import type { TestActor } from "./packet-actors.ts";

/** Further conditions on an effect: any part of it. `error: undefined`: the run succeeded. */
export type Where = { readonly [N in keyof Emitted]?: Emitted[N] | undefined };

const MAX_PRINTED = 10;

/** The assertions about all effects so far. */
export function effectAssertions(effects: readonly Emitted[]) {
  function assertEffectExecuted(effect: Effect | string, where: Where = {}): void {
    const meant = typeof effect === "string" ? named(effect) : (one: Effect): boolean => isDeepStrictEqual({ ...one }, { ...effect });
    if (effects.some((emitted) => meant(emitted.effect) && holds(emitted, where))) return;
    throw missing("No effect", effect, where, assertEffectExecuted);
  }

  function assertMetricEmitted(name: string, where: Where = {}): void {
    const meant = ({ effect }: Emitted): boolean => effect.effect === "metric" && effect.name === name;
    if (effects.some((emitted) => meant(emitted) && holds(emitted, where))) return;
    throw missing("No metric", name, where, assertMetricEmitted);
  }

  function missing(what: string, expected: Effect | string, where: Where, from: typeof assertEffectExecuted | typeof assertMetricEmitted) {
    const last = effects.slice(-MAX_PRINTED);
    const there =
      last.length === 0
        ? "There was none at all."
        : `There ${effects.length === 1 ? "was one" : `were ${effects.length}`}${effects.length > MAX_PRINTED ? `, the last ${MAX_PRINTED}` : ""}:\n${last.map(print).join("\n")}`;
    const condition = Object.keys(where).length === 0 ? "" : ` where ${print(where)}`;
    return new AssertionError({
      message: `${what} ${print(expected)}${condition}. ${there}\nDeclare it under effects of the capability, and await the call that runs it first.`,
      actual: last,
      expected: { effect: expected, ...where },
      operator: from.name,
      stackStartFn: from,
    });
  }

  return { assertEffectExecuted, assertMetricEmitted };
}

const named =
  (name: string) =>
  (effect: Effect): boolean =>
    effect.name === name || effect.effect === name;

const holds = (emitted: Emitted, where: Where): boolean =>
  Object.entries(where).every(([name, expected]) => contains(Reflect.get(emitted, name), expected));

/** Any part of a value, at any depth. */
export type Partially<T> = unknown extends T
  ? object
  : T extends readonly (infer E)[]
    ? readonly Partially<E>[]
    : T extends object
      ? { readonly [N in keyof T]?: Partially<T[N]> }
      : T;

/** The name of a field of a state. */
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
      message: `The state of ${who} has no ${JSON.stringify(expected)}. It is:\n${print(state)}\nSend the message that sets it first, or begin with it in initialState.`,
      actual: state,
      expected,
      operator: "assertActorStateContains",
      stackStartFn: assertActorStateContains,
    });
  }
  if (contains(state, expected)) return;
  throw new AssertionError({
    message: `The state of ${who} does not contain\n${print(expected)}\nIt is:\n${print(state)}\nSend the message that brings it about first, or expect what is there.`,
    actual: state,
    expected,
    operator: "assertActorStateContains",
    stackStartFn: assertActorStateContains,
  });
}

/** Compares objects by the expected fields, lists item by item, and other values by identity. */
function contains(actual: unknown, expected: unknown): boolean {
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

/** A value as text for a message, shortened if it is large. */
const print = (value: unknown): string => inspect(value, { depth: 6, maxArrayLength: 20, maxStringLength: 500, breakLength: 100 });
