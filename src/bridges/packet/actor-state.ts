import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { InitialContext } from "../../core/actor/index.ts";
import { EngineError, type Json, TroupeError, type Viewer, isJsonObject } from "../../core/contract/index.ts";
import { isOthersName } from "./actor-access.ts";
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
interface Restored {
  readonly restore: Json;
  readonly version: number;
}

const isRestored = (start: Json | undefined): start is { readonly restore: Json; readonly version: number } =>
  isJsonObject(start) && start["restore"] !== undefined && typeof start["version"] === "number";

export function capabilityStateIn(value: Json): CapabilityState<Json> | undefined {
  if (!isJsonObject(value)) return undefined;
  const { state, metadata } = value;
  if (state === undefined || !isJsonObject(metadata)) return undefined;
  const { created_at, last_message_at, message_count } = metadata;
  if (typeof created_at !== "number" || typeof last_message_at !== "number" || typeof message_count !== "number") return undefined;
  return { state, metadata: { created_at, last_message_at, message_count } };
}

/** What belongs to a life beside the two, and stays as it is when its state is migrated. */
function lifeIn(value: Json): Pick<CapabilityStateDraft, "timers" | "begun_at" | "owner"> {
  if (!isJsonObject(value)) return {};
  const { timers, begun_at, owner } = value;
  return {
    ...(typeof timers === "string" && { timers }),
    ...(typeof begun_at === "number" && { begun_at }),
    ...(typeof owner === "string" && { owner }),
  };
}

/** What a state keeps that has set no timers yet in this life. */
export const UNSET = "";

/** What an actor of a capability begins with, with inference taken off. */
export interface Beginning {
  readonly id: string;
  readonly initialState: object;
  readonly state?: StandardSchemaV1;
  readonly version: number;
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => object;
  /** It has timers, which its first message sets. */
  readonly timed: boolean;
  /** Everybody's: otherwise it begins as somebody's, or not at all. */
  readonly shared: boolean;
}

/** Its first state; or, where one on disk ended before, the state of that. */
export function firstState(beginning: Beginning, { key, now: at, args: start, viewer, random, id }: InitialContext): CapabilityStateDraft {
  const own: Pick<CapabilityStateDraft, "timers" | "owner"> = {
    ...(beginning.timed && { timers: UNSET }),
    ...(!beginning.shared && { owner: ownerOf(beginning.id, key, viewer) }),
  };
  if (isRestored(start)) return { ...restored(beginning, start), ...own, begun_at: at };
  const { initialState } = beginning;
  const first: FirstTimes = { actor_id: key, at, random, id };
  const state: unknown = isMaker(initialState) ? initialState(first) : structuredClone(initialState);
  return { ...draftOf(beginning, state, { created_at: at, last_message_at: at, message_count: 0 }), ...own };
}

/** Whatever way it begins: an actor that is nobody's would be everybody's. */
function ownerOf(capability: string, key: string, viewer: Viewer | undefined): string {
  const principal = viewer?.principal;
  if (principal === undefined)
    throw new EngineError(
      "NO_ACTOR",
      `There is no actor ${JSON.stringify(key)} of ${capability}, and none begins as nobody's: give the message that begins it a \`viewer\`, or make the capability \`shared\`.`,
    );
  if (isOthersName(capability, principal, key))
    throw new EngineError("NO_ACTOR", `${JSON.stringify(key)} is another user's own actor of ${capability}: begin one of another name.`);
  return principal;
}

function restored(beginning: Beginning, { restore, version }: Restored): CapabilityStateDraft {
  const kept = capabilityStateIn(restore);
  if (kept === undefined) throw new TroupeError("BAD_DEFINITION", "What was to be restored is no state of a capability's actor.");
  return version < beginning.version ? migrated(beginning, restore, version) : draftOf(beginning, kept.state, kept.metadata);
}

/** Of an actor that lives on. */
export const migratedState = (beginning: Beginning, value: Json, from: number): CapabilityStateDraft => ({
  ...migrated(beginning, value, from),
  ...lifeIn(value),
});

function migrated(beginning: Beginning, value: Json, from: number): CapabilityStateDraft {
  const kept = capabilityStateIn(value);
  if (kept === undefined || beginning.migrate === undefined)
    throw new TroupeError("BAD_DEFINITION", `A state of version ${from} is not understood: give \`migrate\`.`);
  return draftOf(beginning, beginning.migrate({ state: kept.state, from }), kept.metadata);
}

function draftOf({ id, state: schema }: Beginning, state: unknown, metadata: CapabilityStateDraft["metadata"]): CapabilityStateDraft {
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

const isMaker = (initial: object): initial is (first: FirstTimes) => object => typeof initial === "function";

/** What an actor begins with. */
export interface FirstTimes {
  readonly actor_id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly random: () => number;
  readonly id: () => string;
}
