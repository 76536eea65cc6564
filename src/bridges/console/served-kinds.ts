// Owns: what surfaces and calls need of the kinds that are served. Does not own: surfaces (surface-routes.ts), calls (call-routes.ts).

import type { ActorId, Behaviour, Engine, Source } from "../../core/contract/index.ts";
import { kindOf, memoize } from "../../core/contract/internal.ts";
import { cast } from "../../mcp/source/index.ts";
import type { ConsoleData, RunningServer } from "./data.ts";
import { behaviourOf, notAvailable } from "./requests.ts";

// By engine, since development replaces it together with its kinds.
const castsOf = memoize((_engine: Engine) => new Map<string, Source>());

/** The actors that are reached from one of this kind, as clients see them from there. */
export function castAs({ engine, kinds }: RunningServer, kind: string): Source {
  const casts = castsOf(engine);
  let source = casts.get(kind);
  if (source === undefined) casts.set(kind, (source = cast({ engine, kinds, as: kind })));
  return source;
}

/** The code of an actor's kind. Throws `NOT_AVAILABLE`. */
export function behaviourIn(data: ConsoleData, id: ActorId): Behaviour {
  const behaviour = behaviourOf(data, id);
  if (behaviour === undefined)
    throw notAvailable(`No module that is served defines the kind "${kindOf(id)}", so it is unknown what it offers.`);
  return behaviour;
}

/** Throws `NOT_AVAILABLE` if its actors begin only by a start tool. */
export function refuseUnreachable({ kind, per }: Behaviour): void {
  if (per !== "handle") return;
  throw notAvailable(`A ${kind} begins when a client calls its start tool, which gives the client a handle: call that in the playground.`);
}
