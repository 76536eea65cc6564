import { type ActorId, type Catalogue, type OfferRef, type Surface, TroupeError, type Viewer } from "../contract/index.ts";
import { isActorId, kindOf, isRefusal, missingScopes, unavailableMessage, scopesOf } from "../contract/internal.ts";
import { availability, listOf } from "./decide.ts";
import { readOnly } from "./draft/index.ts";
import type { Misfit } from "./misfit.ts";
import { broken, misgiven } from "./out-of-order.ts";
import type { Act } from "./act.ts";
import type { AnyDefinition } from "./any-definition.ts";

type Links = NonNullable<AnyDefinition["links"]>;
type Compute = (state: object, viewer: Viewer, onFault?: (error: TroupeError) => void) => Surface;

interface Computed {
  readonly surface: Compute;
  /** Nothing of it can vary. */
  readonly constant: boolean;
}

/**
 * What a viewer may do and see now: a pure function, compiled to touch only what can vary. What an author's function breaks is
 * its own offer or link alone; `onFault` is told once of each, so that many viewers and states are one line in a log.
 */
export function surfaceOf(catalogue: Catalogue, acts: readonly Act[], links: Links | undefined, misfit: Misfit): Computed {
  const constant: Surface = Object.freeze({ catalogue, off: NOTHING_OFF });
  const varying = acts.filter((act) => act.ref !== undefined && (act.when !== undefined || act.choices !== undefined));
  const ways = Object.entries(links ?? {});
  if (varying.length === 0 && ways.length === 0) return { surface: () => constant, constant: true };
  const told = new Set<string>();
  const shut = shutOf(catalogue);
  const surface: Compute = (committed, viewer, onFault) => {
    const state = readOnly(committed);
    let off: Record<OfferRef, string | true> | undefined;
    let choices: Record<OfferRef, Readonly<Record<string, readonly string[]>>> | undefined;
    let joined: Record<string, ActorId> | undefined;
    let nowhere: Record<string, string> | undefined;
    const fault = (what: string, word: string, cause: unknown): void => {
      if (onFault === undefined || told.has(what)) return;
      told.add(what);
      onFault(broken(what, word, cause, misfit(cause, committed)));
    };
    for (const act of varying) {
      if (act.ref === undefined) continue;
      let word = "when";
      try {
        const on = availability(act, state, viewer);
        // What is off needs no choices: nobody can choose.
        if (on !== true) (off ??= {})[act.ref] = on === false ? true : on;
        else if (act.choices !== undefined && isOpen(shut.get(act.ref), viewer)) {
          const made: Record<string, readonly string[]> = {};
          for (const [name, choose] of Object.entries(act.choices)) {
            word = `choices.${name}`;
            made[name] = listOf(act, name, choose(state, viewer));
          }
          (choices ??= {})[act.ref] = made;
        }
      } catch (error) {
        if (!isRefusal(error)) fault(act.action, word, error);
        (off ??= {})[act.ref] = isRefusal(error) ? error.message : unavailableMessage(act.action);
      }
    }
    for (const [prefix, link] of ways) {
      try {
        const to = targetOf(prefix, link, link.to(state, viewer));
        if (typeof to === "object") (nowhere ??= {})[prefix] = to.off;
        else if (to !== undefined) (joined ??= {})[prefix] = to;
      } catch (error) {
        fault(`The link ${JSON.stringify(prefix)}`, "to", error);
      }
    }
    if (off === undefined && choices === undefined && joined === undefined && nowhere === undefined) return constant;
    return {
      catalogue,
      off: off ?? NOTHING_OFF,
      ...(choices !== undefined && { choices }),
      ...(joined !== undefined && { links: joined }),
      ...(nowhere !== undefined && { linksOff: nowhere }),
    };
  };
  return { surface, constant: false };
}

/** What must be had to use an offer: who lacks it is shown none of its choices, which are state. Of those that ask for none: nothing. */
function shutOf(catalogue: Catalogue): ReadonlyMap<OfferRef, readonly string[]> {
  const shut = new Map<OfferRef, readonly string[]>();
  for (const list of ["tools", "resources", "prompts"] as const)
    for (const { name, definition } of catalogue[list]) {
      const scopes = scopesOf(definition);
      if (scopes.length > 0) shut.set(`${list}/${name}`, scopes);
    }
  return shut;
}

// Where none are asked for, nothing of the viewer is looked at: what is seen is then the same for all.
const isOpen = (scopes: readonly string[] | undefined, viewer: Viewer): boolean =>
  scopes === undefined || missingScopes(scopes, viewer.scopes).length === 0;

const NOTHING_OFF: Surface["off"] = Object.freeze({});

function targetOf(prefix: string, { kinds }: Links[string], given: unknown): ActorId | { readonly off: string } | undefined {
  if (given === undefined || isReason(given)) return given;
  const what = `The link ${JSON.stringify(prefix)}`;
  if (!isActorId(given)) throw misgiven(what, "to", given, "an id, as `kind.id(key)` makes it, { off: why } or undefined");
  const kind = kindOf(given);
  if (kinds.includes(kind)) return given;
  // Names and definitions of what joins are planned from `kinds`: there is no place for another.
  throw new TroupeError(
    "OUT_OF_ORDER",
    `${what} is out of order: its \`to\` gave an actor of the kind ${JSON.stringify(kind.slice(0, 64))}, which its \`kinds\` do not have: add it there.`,
  );
}

function isReason(given: unknown): given is { readonly off: string } {
  return typeof given === "object" && given !== null && "off" in given && typeof given.off === "string";
}
