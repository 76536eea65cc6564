import type { Reply, Viewer } from "../contract/index.ts";
import { isTexts } from "../contract/internal.ts";
import { frozenOf } from "./draft/index.ts";
import type { Availability } from "./definition.ts";
import { misgiven } from "./out-of-order.ts";
import type { Act } from "./act.ts";
import { refused, unknownAction } from "./refuse.ts";
import { describeIssues, listIssues } from "../schema/index.ts";
import type { Checked } from "./schema.ts";

const CHOICES_SHOWN = 50;

/** What `when` says, absent: on. Throws what it throws, and `OUT_OF_ORDER` where types were not looked at. */
export function availability(act: Act, state: unknown, viewer: Viewer): Availability {
  if (act.when === undefined) return true;
  const on: unknown = act.when(state, viewer);
  if (typeof on === "boolean" || typeof on === "string") return on;
  throw misgiven(act.action, "when", on, "true, false, or the reason it is off as text");
}

/** Law 3: decided in the turn, whatever any list showed. Undefined: on. */
export function whyOff(act: Act, state: unknown, viewer: Viewer): Reply | undefined {
  const on = availability(act, state, viewer);
  if (on === true) return undefined;
  return typeof on === "string" ? refused("NOT_NOW", on) : unknownAction(act.action);
}

/** The arguments the author gets, or the refusal `INVALID` that says where and what was expected. */
export function readArgs(act: Act, args: unknown): Checked {
  return act.input === undefined ? { value: args } : act.input(args ?? {});
}

export function invalid(issues: Checked["issues"]): Reply {
  const list = issues ?? [];
  return refused("INVALID", `Invalid arguments: ${describeIssues(list)}.`, { issues: listIssues(list) });
}

/** What an argument may be now, as `choices` gave it; throws `OUT_OF_ORDER` where that is no list. */
export function listOf(act: Act, name: string, given: unknown): readonly string[] {
  const list = frozenOf(given);
  if (isTexts(list)) return list;
  throw misgiven(act.action, `choices.${name}`, given, "a list of texts");
}

/** Law 3: an argument outside its choices is refused, and the choices are named. */
export function outOfChoice(act: Act, state: unknown, args: unknown, viewer: Viewer): Reply | undefined {
  if (act.choices === undefined || typeof args !== "object" || args === null) return undefined;
  for (const [name, choose] of Object.entries(act.choices)) {
    const given: unknown = Object.hasOwn(args, name) ? Reflect.get(args, name) : undefined;
    if (given === undefined || given === null) continue;
    const allowed = listOf(act, name, choose(state, viewer));
    const one: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (areAmong(one, allowed)) continue;
    const shown = allowed
      .slice(0, CHOICES_SHOWN)
      .map((item) => JSON.stringify(item))
      .join(", ");
    const more = allowed.length > CHOICES_SHOWN ? ` and ${allowed.length - CHOICES_SHOWN} more` : "";
    const message = allowed.length === 0 ? "there is nothing to choose from now" : `must be one of ${shown}${more}`;
    return invalid([{ path: name, message }]);
  }
  return undefined;
}

function areAmong(given: readonly unknown[], allowed: readonly string[]): boolean {
  if (given.length < 2) return given.every((item) => typeof item === "string" && allowed.includes(item));
  // A list that names one often must not look through all for each.
  const known = new Set<unknown>(allowed);
  return given.every((item) => known.has(item));
}
