// Owns: what a viewer may do now: `allow`, `enabled`, `choices`, scopes and links, for a list (`surface`) and inside a turn. Does not own:
// confirmations (questions.ts), the refusal of a call before it reaches the actor (mcp/source, mcp/gateway).
import type { ActorId, ActorViewer, Catalogue, OfferRef, Reply, Surface, TroupeError } from "../contract/index.ts";
import {
  choicesMessage,
  isRefusal,
  isTexts,
  missingScopes,
  omitUndefined,
  pointerStep,
  scopesOf,
  setOwn,
  unavailableMessage,
} from "../contract/internal.ts";
import type { Action } from "./actions.ts";
import { type Misfit, outOfOrder, wrongResult } from "./author-errors.ts";
import { frozenOf } from "./containers.ts";
import type { Availability } from "./definition.ts";
import { type CompiledLink, targetOf } from "./links.ts";
import { hasRole } from "./roles.ts";
import { readOnly } from "./read-only.ts";
import { invalid, refused, unknownAction } from "./replies.ts";

// ── inside a turn (law 3) ───────────────────────────────────────────────────

/** Decided by `enabled` and `allow`; true without them. Throws what `enabled` throws, and `OUT_OF_ORDER` for a result of another type. */
function availability(
  { name, allow, enabled }: Pick<Action, "name" | "allow" | "enabled">,
  state: object,
  viewer: ActorViewer,
): Availability {
  const on: unknown = enabled === undefined ? true : enabled({ state, viewer });
  if (typeof on !== "boolean" && typeof on !== "string")
    throw wrongResult(name, "enabled", on, "true, false, or the reason it is off as text");
  // What is hidden stays hidden, whichever role it is for. A caller without the role does not learn why it is off for others.
  return on === false || allow === undefined || hasRole(allow, viewer) ? on : allow.otherwise;
}

/** The refusal of an action that is off, whatever any list showed. Undefined: it is on. */
export function whyOff(action: Action, state: object, viewer: ActorViewer): Reply | undefined {
  const on = availability(action, state, viewer);
  if (on === true) return undefined;
  return typeof on === "string" ? refused("NOT_NOW", on) : unknownAction(action.name);
}

/** Which rule it is off by, as `availability` decides: what is hidden for all comes before a role. Undefined: it is on. */
export function offBy(action: Action, state: object, viewer: ActorViewer): "enabled" | "allow" | undefined {
  if (availability(action, state, viewer) === true) return undefined;
  const { allow, enabled } = action;
  const isAllowed = allow === undefined || hasRole(allow, viewer);
  return isAllowed || enabled?.({ state, viewer }) === false ? "enabled" : "allow";
}

/** The values an argument may have now, from `choices`; throws `OUT_OF_ORDER` unless they are a list of texts. */
function choicesIn(what: string, property: string, given: unknown): readonly string[] {
  const list = frozenOf(given);
  if (isKnownTexts(list)) return list;
  if (!isTexts(list)) throw wrongResult(what, property, given, "a list of texts");
  if (Object.isFrozen(list)) knownTexts.add(list);
  return list;
}

// Parts of states, which are frozen: a long list that a turn leaves alone is not checked again at each state.
const knownTexts = new WeakSet<object>();

const isKnownTexts = (list: unknown): list is readonly string[] => typeof list === "object" && list !== null && knownTexts.has(list);

/** The refusal of an argument that is not among its choices; it lists them. */
export function outOfChoice(action: Action, state: object, args: unknown, viewer: ActorViewer): Reply | undefined {
  if (action.choices === undefined || typeof args !== "object" || args === null) return undefined;
  for (const [name, choose] of Object.entries(action.choices)) {
    const given: unknown = Object.hasOwn(args, name) ? Reflect.get(args, name) : undefined;
    if (given === undefined || given === null) continue;
    const allowed = choicesIn(action.name, `choices.${name}`, choose({ state, viewer }));
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (areAmong(values, allowed)) continue;
    return invalid([{ pointer: pointerStep(name), message: choicesMessage(allowed) }]);
  }
  return undefined;
}

function areAmong(values: readonly unknown[], allowed: readonly string[]): boolean {
  if (values.length < 2) return values.every((item) => typeof item === "string" && allowed.includes(item));
  // A long list of values must not search all choices for each.
  const known = new Set<unknown>(allowed);
  return values.every((item) => known.has(item));
}

// ── for a list ──────────────────────────────────────────────────────────────

type Compute = (state: object, viewer: ActorViewer, onFault?: (error: TroupeError) => void) => Surface;

interface ComputedSurface {
  readonly surface: Compute;
  /** Whether it is the same for every state and viewer. */
  readonly constant: boolean;
}

/**
 * What a viewer may do and see now: a pure function, compiled to compute only what can vary. An author's function that throws disables its
 * own offer or link alone. `onFault` is called once for each of these, so that many viewers and states make one line in a log.
 */
export function surfaceOf(
  catalogue: Catalogue,
  actions: readonly Action[],
  links: readonly CompiledLink[],
  misfit: Misfit,
): ComputedSurface {
  const constant: Surface = Object.freeze({ catalogue, off: NOTHING_OFF });
  const varying = actions.filter(
    (action) => action.ref !== undefined && (action.enabled !== undefined || action.choices !== undefined || action.allow !== undefined),
  );
  if (varying.length === 0 && links.length === 0) return { surface: () => constant, constant: true };
  const reported = new Set<string>();
  const scopes = scopesByOffer(catalogue);
  // Outside of `surface`, which runs after most turns: V8 allocates what a function closes over.
  const fault = (what: string, property: string, cause: unknown, committed: object, onFault: Parameters<Compute>[2]): void => {
    if (onFault === undefined || reported.has(what)) return;
    reported.add(what);
    onFault(outOfOrder(what, property, cause, misfit(cause, committed)));
  };
  const surface: Compute = (committed, viewer, onFault) => {
    const parts = new SurfaceParts(readOnly(committed), viewer);
    for (const action of varying) {
      if (action.ref === undefined) continue;
      try {
        parts.addOffer(action.ref, action, scopes.get(action.ref));
      } catch (error) {
        if (!isRefusal(error)) fault(action.name, parts.property, error, committed, onFault);
        parts.disableOffer(action.ref, isRefusal(error) ? error.message : unavailableMessage(action.name));
      }
    }
    for (const link of links)
      try {
        parts.addLink(link);
      } catch (error) {
        if (isRefusal(error)) parts.disableLink(link, error.message);
        else fault(link.name, parts.property, error, committed, onFault);
      }
    return parts.over(constant);
  };
  return { surface, constant: false };
}

/** What differs from the constant surface, for one state and viewer. Each part is made with its first entry, since most stay empty. */
class SurfaceParts {
  /** Which of the author's functions ran last, for the report of its fault. */
  property = "enabled";
  readonly #state: object;
  readonly #viewer: ActorViewer;
  #off: Record<OfferRef, string | true> | undefined;
  #choices: Record<OfferRef, Readonly<Record<string, readonly string[]>>> | undefined;
  #links: Record<string, ActorId> | undefined;
  #linkKeys: Record<string, readonly string[] | true> | undefined;
  #linksOff: Record<string, string> | undefined;

  constructor(state: object, viewer: ActorViewer) {
    this.#state = state;
    this.#viewer = viewer;
  }

  addOffer(ref: OfferRef, action: Action, scopes: readonly string[] | undefined): void {
    this.property = "enabled";
    const on = availability(action, this.#state, this.#viewer);
    // An offer that is off needs no choices.
    if (on !== true) this.disableOffer(ref, on === false ? true : on);
    else if (action.choices !== undefined && hasScopes(scopes, this.#viewer)) {
      const lists: Record<string, readonly string[]> = {};
      for (const [name, choose] of Object.entries(action.choices))
        setOwn(lists, name, this.#chosen(action.name, `choices.${name}`, choose));
      (this.#choices ??= {})[ref] = lists;
    }
  }

  disableOffer(ref: OfferRef, why: string | true): void {
    (this.#off ??= {})[ref] = why;
  }

  addLink(link: CompiledLink): void {
    this.property = "enabled";
    const on = availability(link, this.#state, this.#viewer);
    if (typeof on === "string") this.disableLink(link, on);
    if (on !== true) return;
    if (link.to === undefined) {
      const keys = link.choices === undefined || this.#chosen(link.name, "choices", link.choices);
      setOwn((this.#linkKeys ??= {}), link.prefix, keys);
      return;
    }
    this.property = "to";
    const to = targetOf(link, link.to({ state: this.#state, viewer: this.#viewer }));
    if (to !== undefined) setOwn((this.#links ??= {}), link.prefix, to);
  }

  disableLink({ prefix }: CompiledLink, why: string): void {
    setOwn((this.#linksOff ??= {}), prefix, why);
  }

  /** The constant surface itself, if nothing differs. */
  over(constant: Surface): Surface {
    const [off, choices, links, linkKeys, linksOff] = [this.#off, this.#choices, this.#links, this.#linkKeys, this.#linksOff];
    if ((off ?? choices ?? links ?? linkKeys ?? linksOff) === undefined) return constant;
    return { ...constant, ...omitUndefined({ off, choices, links, linkKeys, linksOff }) };
  }

  #chosen(what: string, property: string, choose: (now: { state: object; viewer: ActorViewer }) => unknown): readonly string[] {
    this.property = property;
    return choicesIn(what, property, choose({ state: this.#state, viewer: this.#viewer }));
  }
}

/** The scopes that each offer requires; offers without any are left out. */
function scopesByOffer(catalogue: Catalogue): ReadonlyMap<OfferRef, readonly string[]> {
  const required = new Map<OfferRef, readonly string[]>();
  for (const list of ["tools", "resources", "prompts"] as const)
    for (const { name, definition } of catalogue[list]) {
      const scopes = scopesOf(definition);
      if (scopes.length > 0) required.set(`${list}/${name}`, scopes);
    }
  return required;
}

// Choices are part of the state, so a viewer without the offer's scopes gets none. If it requires none, the viewer is not looked at:
// the surface is then the same for all.
const hasScopes = (scopes: readonly string[] | undefined, viewer: ActorViewer): boolean =>
  scopes === undefined || missingScopes(scopes, viewer.scopes).length === 0;

const NOTHING_OFF: Surface["off"] = Object.freeze({});
