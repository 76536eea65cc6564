// Owns: the state that an actor of a capability stores: its first value, restoring, migration and validation.
//   Does not own: timers (actor-timers.ts).
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { InitialContext, RunContext, WorkContext } from "../../core/actor/index.ts";
import { EngineError, type Json, type JsonObject, TroupeError, type Viewer, isJsonObject } from "../../core/contract/index.ts";
import { isOtherUsersDefaultId } from "./visible-actors.ts";
import type { CapabilityState } from "./capability.ts";

/** The stored state, as a turn writes it. */
export interface CapabilityStateDraft {
  readonly state: object;
  readonly metadata: { created_at: number; last_message_at: number; message_count: number };
  /** The timers that this life of the actor has set (`ActorTimers`). Empty: none set yet. Absent: no timers, or written by an older version. */
  timers?: string;
  /** When this life started, in milliseconds since 1970, if it is not the first life. A `lifetime` timeout counts from here. */
  readonly begun_at?: number;
  /** The owner, as in the engine. Actors that this actor starts belong to the same owner. Absent: the actor is shared. */
  readonly owner?: string;
}

/** What turns and work of such an actor receive. */
export type CapabilityTurn = RunContext<CapabilityStateDraft, unknown>;
export type CapabilityWork = WorkContext<CapabilityStateDraft, unknown>;

/** The state of an earlier life, which a start passes on. On disk a state outlives the actor. */
interface RestoredStart {
  readonly restore: Json;
  readonly version: number;
}

const isRestored = (start: Json | undefined): start is JsonObject & RestoredStart =>
  isJsonObject(start) && start["restore"] !== undefined && typeof start["version"] === "number";

export function parseCapabilityState(value: Json): CapabilityState<Json> | undefined {
  if (!isJsonObject(value)) return undefined;
  const { state, metadata } = value;
  if (state === undefined || !isJsonObject(metadata)) return undefined;
  const { created_at, last_message_at, message_count } = metadata;
  if (typeof created_at !== "number" || typeof last_message_at !== "number" || typeof message_count !== "number") return undefined;
  return { state, metadata: { created_at, last_message_at, message_count } };
}

/** The fields that belong to the current life. Migration does not change them. */
function lifecycleFieldsIn(value: Json): Pick<CapabilityStateDraft, "timers" | "begun_at" | "owner"> {
  if (!isJsonObject(value)) return {};
  const { timers, begun_at, owner } = value;
  return {
    ...(typeof timers === "string" && { timers }),
    ...(typeof begun_at === "number" && { begun_at }),
    ...(typeof owner === "string" && { owner }),
  };
}

/** Value of `timers` before this life has set any. */
export const TIMERS_UNSET = "";

/** The definition of an actor's first state, without the author's type parameters. */
export interface StartDefinition {
  readonly id: string;
  readonly initialState: object;
  readonly state?: StandardSchemaV1;
  readonly version: number;
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => object;
  /** It has timers, which its first message sets. */
  readonly hasTimers: boolean;
  /** Shared by all users. Otherwise the actor must have an owner to start. */
  readonly shared: boolean;
}

/** The first state, or the stored state of an earlier life on disk. */
export function firstState(
  definition: StartDefinition,
  { key, now: at, args: start, viewer, random, id }: InitialContext,
): CapabilityStateDraft {
  const lifecycle: Pick<CapabilityStateDraft, "timers" | "owner"> = {
    ...(definition.hasTimers && { timers: TIMERS_UNSET }),
    ...(!definition.shared && { owner: ownerOf(definition.id, key, viewer) }),
  };
  if (isRestored(start)) return { ...restoredState(definition, start), ...lifecycle, begun_at: at };
  const { initialState } = definition;
  const first: FirstTimes = { actor_id: key, at, random, id };
  const state: unknown = isFactory(initialState) ? initialState(first) : structuredClone(initialState);
  return { ...draftOf(definition, state, { created_at: at, last_message_at: at, message_count: 0 }), ...lifecycle };
}

/** Every way to start an actor passes here. An actor without an owner would be visible to everyone. */
function ownerOf(capability: string, key: string, viewer: Viewer | undefined): string {
  const principal = viewer?.principal;
  if (principal === undefined)
    throw new EngineError(
      "NO_ACTOR",
      `There is no actor ${JSON.stringify(key)} of ${capability}, and none begins as nobody's: give the message that begins it a \`viewer\`, or make the capability \`shared\`.`,
    );
  if (isOtherUsersDefaultId(capability, principal, key))
    throw new EngineError("NO_ACTOR", `${JSON.stringify(key)} is another user's own actor of ${capability}: begin one of another name.`);
  return principal;
}

function restoredState(definition: StartDefinition, { restore, version }: RestoredStart): CapabilityStateDraft {
  const previous = parseCapabilityState(restore);
  if (previous === undefined) throw new TroupeError("BAD_DEFINITION", "What was to be restored is no state of a capability's actor.");
  return version < definition.version
    ? migratedDraft(definition, restore, version)
    : draftOf(definition, previous.state, previous.metadata);
}

/** Migrates the state of a running actor. */
export const migratedState = (definition: StartDefinition, value: Json, from: number): CapabilityStateDraft => ({
  ...migratedDraft(definition, value, from),
  ...lifecycleFieldsIn(value),
});

function migratedDraft(definition: StartDefinition, value: Json, from: number): CapabilityStateDraft {
  const previous = parseCapabilityState(value);
  if (previous === undefined || definition.migrate === undefined)
    throw new TroupeError("BAD_DEFINITION", `A state of version ${from} is not understood: give \`migrate\`.`);
  return draftOf(definition, definition.migrate({ state: previous.state, from }), previous.metadata);
}

function draftOf({ id, state: schema }: StartDefinition, state: unknown, metadata: CapabilityStateDraft["metadata"]): CapabilityStateDraft {
  const checked = schema?.["~standard"].validate(state) ?? { value: state };
  if ("then" in checked) {
    // The error is reported below; the promise's own rejection is ignored.
    checked.then(undefined, () => undefined);
    throw new TroupeError(
      "BAD_DEFINITION",
      `${id}: the schema of its state validates asynchronously, or a check in it throws of this state: use one that does neither.`,
    );
  }
  if (checked.issues !== undefined)
    throw new TroupeError(
      "BAD_DEFINITION",
      `A state of ${id} does not fit its schema: ${checked.issues.map(({ message }) => message).join("; ")}.`,
    );
  const { value } = checked;
  if (typeof value === "object" && value !== null) return { state: value, metadata: { ...metadata } };
  throw new TroupeError("BAD_DEFINITION", "The state of an actor must be an object: wrap a single value, as in { count: 0 }.");
}

const isFactory = (initial: object): initial is (first: FirstTimes) => object => typeof initial === "function";

/** What an `initialState` function receives. */
export interface FirstTimes {
  readonly actor_id: string;
  /** Start time in milliseconds since 1970. */
  readonly at: number;
  readonly random: () => number;
  readonly id: () => string;
}
