// Owns: what happens to a stored state whose version is not that of the current code. Does not own: the author's `migrate` (core/actor).
import { type ActorId, type EngineError, type Json, TroupeError } from "../contract/index.ts";
import { failed, stateNewer } from "./engine-errors.ts";
import { check, freezeNew } from "./json-check.ts";
import type { Kind } from "./kind.ts";
import type { VersionedState } from "./replay.ts";

/** A stored state in the version of the current behaviour. */
export interface Upcast {
  readonly state: Json;
  /** It was written by another version, so the next event must store the whole state. */
  readonly stale: boolean;
  /** Why the actor cannot take messages. Its state is then unchanged. */
  readonly failure: EngineError | undefined;
}

/** Migrates a state of a lower version. Throws nothing. */
export function upcast({ behaviour }: Kind, id: ActorId, stored: VersionedState): Upcast {
  const state = freezeNew(undefined, stored.state);
  if (stored.version === behaviour.version) return { state, stale: false, failure: undefined };
  if (stored.version > behaviour.version) return { state, stale: false, failure: stateNewer(id, stored.version, behaviour.version) };
  try {
    if (!behaviour.migrate)
      throw new TroupeError(
        "BAD_DEFINITION",
        `${behaviour.kind} has no \`migrate\`, which would bring a state of version ${stored.version} on: give it one.`,
      );
    const migrated: unknown = behaviour.migrate(state, stored.version);
    check(migrated);
    return { state: freezeNew(undefined, migrated), stale: true, failure: undefined };
  } catch (error) {
    return { state, stale: false, failure: failed(id, "its state could not be brought to this version", error) };
  }
}
