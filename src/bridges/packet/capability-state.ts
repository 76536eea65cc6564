import { isJsonObject, type Json } from "../../core/contract/index.ts";
import type { ActorTimes } from "./timeout.ts";

/** What an actor of a capability keeps: the author's state, and what the spec calls its metadata. */
export interface CapabilityState<S> {
  readonly state: S;
  readonly metadata: ActorTimes;
}

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
export interface Restored {
  readonly restore: Json;
  readonly version: number;
}

export const isRestored = (start: Json | undefined): start is { readonly restore: Json; readonly version: number } =>
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
export function lifeIn(value: Json): Pick<CapabilityStateDraft, "timers" | "begun_at" | "owner"> {
  if (!isJsonObject(value)) return {};
  const { timers, begun_at, owner } = value;
  return {
    ...(typeof timers === "string" && { timers }),
    ...(typeof begun_at === "number" && { begun_at }),
    ...(typeof owner === "string" && { owner }),
  };
}
