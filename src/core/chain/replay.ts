// Owns: the state after any event of a chain, from whole states and patches; the same in the version of the current code; how two states
// differ. Does not own: the author's `migrate` (core/actor), proving that a chain is unchanged (verify.ts), running its turns again
// (reexecute.ts).
import {
  type ActorId,
  type ChainEvent,
  type EngineError,
  isJsonObject,
  isList,
  type Json,
  StoreError,
  TroupeError,
} from "../contract/index.ts";
import { getOwn, pointerStep } from "../contract/internal.ts";
import { failed, stateNewer } from "./engine-errors.ts";
import { readBody, readHeader } from "./event.ts";
import { check, freezeNew } from "./json-check.ts";
import type { Kind } from "./kind.ts";
import { apply } from "./patch.ts";

/** A state, and the version of the behaviour that wrote it. */
export interface VersionedState {
  readonly state: Json;
  readonly version: number;
}

/**
 * The state after the last of these events: the last whole state among them, with the later patches applied. Throws `STORE_CORRUPT` if
 * there is no whole state, or a body after it is missing.
 */
export function stateFrom(events: readonly ChainEvent[]): VersionedState {
  const patches: { patch: Json | undefined; version: number }[] = [];
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index];
    const body = event && readBody(event);
    if (body === undefined) break;
    if (body.state === undefined) {
      patches.push({ patch: body.patch, version: body.version });
      continue;
    }
    let result: VersionedState = { state: body.state, version: body.version };
    for (const { patch, version } of patches.toReversed())
      result = { state: patch === undefined ? result.state : apply(result.state, patch), version };
    return result;
  }
  throw new StoreError(
    "STORE_CORRUPT",
    "These events hold no whole state to begin from: read from the last checkpoint, or restore the file from a copy.",
  );
}

/** The state after event `seq`. `events` must be consecutive and have a whole state at or before it. */
export function stateAt(events: readonly ChainEvent[], seq: number): VersionedState {
  const [first] = events;
  const index = first === undefined ? -1 : seq - readHeader(first).seq;
  const event = events[index];
  if (event === undefined || readHeader(event).seq !== seq)
    throw new StoreError("STORE_CORRUPT", `Event ${seq} is not among these events: read the chain up to it.`);
  return stateFrom(events.slice(0, index + 1));
}

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

/** One path at which two states differ. A side is absent if its state has no such path. */
export interface Difference {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** Where two states differ, for people: the smallest differing parts, in order; lists are compared item by item. At most `limit` (default 10,000). */
export function diffStates(before: Json, after: Json, limit = 10_000): readonly Difference[] {
  const found: Difference[] = [];
  compare(before, after, "", found, limit);
  return found;
}

function compare(before: Json | undefined, after: Json | undefined, path: string, found: Difference[], limit: number): void {
  if (before === after || found.length >= limit) return;
  if (isJsonObject(before) && isJsonObject(after)) {
    for (const key of Object.keys(before)) compare(before[key], getOwn(after, key), path + pointerStep(key), found, limit);
    for (const key of Object.keys(after))
      if (!Object.hasOwn(before, key)) compare(undefined, after[key], path + pointerStep(key), found, limit);
  } else if (isList(before) && isList(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index += 1)
      compare(before[index], after[index], `${path}/${index}`, found, limit);
  } else if (JSON.stringify(before) !== JSON.stringify(after))
    found.push({ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) });
}
