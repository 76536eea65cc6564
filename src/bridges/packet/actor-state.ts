import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { InitialContext } from "../../core/actor/index.ts";
import { EngineError, type Json, TroupeError, type Viewer, isJsonObject } from "../../core/contract/index.ts";
import { isOtherUsersDefaultId } from "./actor-access.ts";
import type { CapabilityState } from "./capability.ts";

/** The same, while a turn writes it. */
export interface CapabilityStateDraft {
  readonly state: object;
  readonly metadata: { created_at: number; last_message_at: number; message_count: number };
  /** Which timers this life has set (`Timers`). Empty: none yet. Absent: it has none, or was written by what did not say. */
  timers?: string;
  /** Of this life, where it is not the first: a lifetime counts from it. Milliseconds since 1970. */
  readonly begun_at?: number;
  /** Whose it is, as the engine has it too: what it begins by itself is theirs. Absent: it is everybody's. */
  readonly owner?: string;
}

/** What an actor begins with that was there before: on disk a state outlives what ends the actor. */
interface RestoredStart {
  readonly restore: Json;
  readonly version: number;
}

const isRestored = (start: Json | undefined): start is { readonly restore: Json; readonly version: number } =>
  isJsonObject(start) && start["restore"] !== undefined && typeof start["version"] === "number";

export function parseCapabilityState(value: Json): CapabilityState<Json> | undefined {
  if (!isJsonObject(value)) return undefined;
  const { state, metadata } = value;
  if (state === undefined || !isJsonObject(metadata)) return undefined;
  const { created_at, last_message_at, message_count } = metadata;
  if (typeof created_at !== "number" || typeof last_message_at !== "number" || typeof message_count !== "number") return undefined;
  return { state, metadata: { created_at, last_message_at, message_count } };
}

/** What belongs to a life beside the two, and stays as it is when its state is migrated. */
function lifecycleFieldsIn(value: Json): Pick<CapabilityStateDraft, "timers" | "begun_at" | "owner"> {
  if (!isJsonObject(value)) return {};
  const { timers, begun_at, owner } = value;
  return {
    ...(typeof timers === "string" && { timers }),
    ...(typeof begun_at === "number" && { begun_at }),
    ...(typeof owner === "string" && { owner }),
  };
}

/** What a state keeps that has set no timers yet in this life. */
export const TIMERS_UNSET = "";

/** What an actor of a capability begins with, with inference taken off. */
export interface StartDefinition {
  readonly id: string;
  readonly initialState: object;
  readonly state?: StandardSchemaV1;
  readonly version: number;
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => object;
  /** It has timers, which its first message sets. */
  readonly hasTimers: boolean;
  /** Everybody's: otherwise it begins as somebody's, or not at all. */
  readonly shared: boolean;
}

/** Its first state; or, where one on disk ended before, the state of that. */
export function firstState(
  definition: StartDefinition,
  { key, now: at, args: start, viewer, random, id }: InitialContext,
): CapabilityStateDraft {
  const own: Pick<CapabilityStateDraft, "timers" | "owner"> = {
    ...(definition.hasTimers && { timers: TIMERS_UNSET }),
    ...(!definition.shared && { owner: ownerOf(definition.id, key, viewer) }),
  };
  if (isRestored(start)) return { ...restoredState(definition, start), ...own, begun_at: at };
  const { initialState } = definition;
  const first: FirstTimes = { actor_id: key, at, random, id };
  const state: unknown = isFactory(initialState) ? initialState(first) : structuredClone(initialState);
  return { ...draftOf(definition, state, { created_at: at, last_message_at: at, message_count: 0 }), ...own };
}

/** Whatever way it begins: an actor that is nobody's would be everybody's. */
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

/** Of an actor that lives on. */
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
    // Its own failure is nobody's news any more.
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

/** What an actor begins with. */
export interface FirstTimes {
  readonly actor_id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly random: () => number;
  readonly id: () => string;
}
