import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { InitialContext } from "../../core/actor/index.ts";
import { EngineError, type Json, type Policy, TroupeError, type Viewer } from "../../core/contract/index.ts";
import type { FirstTimes } from "./actor-definition.ts";
import { UNSET } from "./actor-timers.ts";
import { isRestored, capabilityStateIn, lifeIn, type CapabilityStateDraft, type Restored } from "./capability-state.ts";
import { isOthersName } from "./own-name.ts";
import type { Persistence } from "./packet.ts";
import { STATE_TIMEOUT_MS } from "./packet-limits.ts";
import type { Timeout } from "./timeout.ts";

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

/**
 * An idle actor in memory ends. One on disk sleeps: its state stays, and the next message finds it as it was.
 * Absent timeouts are the configuration's, which is known where an actor begins.
 */
export function policyFor(persistence: Persistence, timeout: Timeout | undefined): Partial<Policy> {
  if (typeof timeout !== "object" || timeout.ends !== "idle") return { persistence };
  return { persistence, ...idlePolicy(persistence, timeout.ms) };
}

export const idlePolicy = (persistence: Persistence, ms: number): Partial<Policy> =>
  persistence === "memory" ? { expireMs: ms } : { idleMs: ms };

/** The same for an actor that begins otherwise than its kind says: what the kind set for its own persistence is put off for good. */
export function policyOver(usual: Persistence, chosen: Persistence, timeout: Timeout | undefined): Partial<Policy> {
  if (chosen === usual) return {};
  const over = policyFor(chosen, timeout);
  return usual === "memory" && over.idleMs !== undefined ? { ...over, expireMs: STATE_TIMEOUT_MS } : over;
}
