import { AssertionError } from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Effect, Emitted } from "../../bridges/packet/index.ts";
import { shown } from "./shown.ts";
import { contains } from "./state-assertion.ts";

/** What else must hold of an effect: any part of it. `error: undefined`: the run succeeded. */
export type Where = { readonly [N in keyof Emitted]?: Emitted[N] | undefined };

const MOST_SHOWN = 10;

/** Of all effects that happened so far. */
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
    const last = effects.slice(-MOST_SHOWN);
    const there =
      last.length === 0
        ? "There was none at all."
        : `There ${effects.length === 1 ? "was one" : `were ${effects.length}`}${effects.length > MOST_SHOWN ? `, the last ${MOST_SHOWN}` : ""}:\n${last.map(shown).join("\n")}`;
    const condition = Object.keys(where).length === 0 ? "" : ` where ${shown(where)}`;
    return new AssertionError({
      message: `${what} ${shown(expected)}${condition}. ${there}\nDeclare it under effects of the capability, and await the call that runs it first.`,
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
