import type { ActorId, Catalogue, OfferRef, Surface, Viewer } from "../contract/index.ts";
import type { Act, AnyDefinition } from "./plan.ts";

type Links = NonNullable<AnyDefinition["links"]>;

/** What a viewer may do and see now: a pure function, compiled to touch only what can vary. */
export function surfaceOf(
  catalogue: Catalogue,
  acts: readonly Act[],
  links: Links | undefined,
): (state: unknown, viewer: Viewer) => Surface {
  const constant: Surface = Object.freeze({ catalogue, off: NOTHING_OFF });
  const varying = acts.filter((act) => act.ref !== undefined && (act.when !== undefined || act.choices !== undefined));
  const ways = Object.entries(links ?? {});
  if (varying.length === 0 && ways.length === 0) return () => constant;
  return (state, viewer) => {
    let off: Record<OfferRef, string | true> | undefined;
    let choices: Record<OfferRef, Readonly<Record<string, readonly string[]>>> | undefined;
    let joined: Record<string, ActorId> | undefined;
    for (const act of varying) {
      if (act.ref === undefined) continue;
      const on = act.when === undefined ? true : act.when(state, viewer);
      // What is off needs no choices: nobody can choose.
      if (on !== true) (off ??= {})[act.ref] = on === false ? true : on;
      else if (act.choices !== undefined) (choices ??= {})[act.ref] = chosen(act.choices, state, viewer);
    }
    for (const [prefix, link] of ways) {
      const to = link.to(state, viewer);
      if (to !== undefined) (joined ??= {})[prefix] = to;
    }
    if (off === undefined && choices === undefined && joined === undefined) return constant;
    return {
      catalogue,
      off: off ?? NOTHING_OFF,
      ...(choices !== undefined && { choices }),
      ...(joined !== undefined && { links: joined }),
    };
  };
}

const NOTHING_OFF: Surface["off"] = Object.freeze({});

function chosen(choices: NonNullable<Act["choices"]>, state: unknown, viewer: Viewer): Readonly<Record<string, readonly string[]>> {
  const made: Record<string, readonly string[]> = {};
  for (const [name, choose] of Object.entries(choices)) made[name] = choose(state, viewer);
  return made;
}
