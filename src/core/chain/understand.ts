import { type ActorId, type EngineError, type Json, TroupeError } from "../contract/index.ts";
import { failed, stateNewer } from "./faults.ts";
import { freezeNew } from "./freeze.ts";
import { check } from "./json-check.ts";
import type { Kind } from "./kind.ts";
import type { Told } from "./state.ts";

/** A stored state as the behaviour that is here understands it. */
export interface Understood {
  readonly state: Json;
  /** By another version of the behaviour: the next event holds it whole. */
  readonly stale: boolean;
  /** Why the actor cannot take messages. Its state is then as it was stored. */
  readonly failure: EngineError | undefined;
}

/** Migrates where the state is of a lower version. Throws nothing. */
export function understand({ behaviour }: Kind, id: ActorId, told: Told): Understood {
  const state = freezeNew(undefined, told.state);
  if (told.version === behaviour.version) return { state, stale: false, failure: undefined };
  if (told.version > behaviour.version) return { state, stale: false, failure: stateNewer(id, told.version, behaviour.version) };
  try {
    if (!behaviour.migrate)
      throw new TroupeError(
        "BAD_DEFINITION",
        `${behaviour.kind} has no \`migrate\`, which would bring a state of version ${told.version} on: give it one.`,
      );
    const migrated: unknown = behaviour.migrate(state, told.version);
    check(migrated);
    return { state: freezeNew(undefined, migrated), stale: true, failure: undefined };
  } catch (error) {
    return { state, stale: false, failure: failed(id, "its state could not be brought to this version", error) };
  }
}
