// Owns: the states of the services, as JSON, and the revision at which each changed. Does not own: how they are read as resources
// (state-content.ts).
import { EngineError, type Json, type JsonObject, type OfferRef } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { sameJson } from "../../mcp/source/index.ts";
import { blobBytes, jsonWithBlobs, type JsonWithBlobs, withBlobs } from "./json-values.ts";
import { callerMessage } from "./service-faults.ts";

const MAX_REMOVED = 256;
/** The media type of a state that has no other. */
export const JSON_TYPE = "application/json";

/** The current states of the services, and the revision at which each changed. */
export class States {
  readonly #revisions: Revisions;
  readonly #cells = new Map<OfferRef, StateCell>();
  readonly #removed = new Map<OfferRef, number>();

  constructor(revisions: Revisions) {
    this.#revisions = revisions;
  }

  get cells(): ReadonlyMap<OfferRef, StateCell> {
    return this.#cells;
  }

  /** Replaces all states. Those that are not in `states` are removed. */
  update(states: ReadonlyMap<OfferRef, EmittedState>): void {
    for (const ref of this.#cells.keys()) {
      if (states.has(ref)) continue;
      this.#cells.delete(ref);
      this.#removed.set(ref, this.#revisions.next());
    }
    for (const [ref, emitted] of states) {
      this.#removed.delete(ref);
      let cell = this.#cells.get(ref);
      if (cell === undefined) {
        cell = new StateCell(this.#revisions);
        this.#cells.set(ref, cell);
      }
      cell.set(emitted);
    }
    for (const ref of this.#removed.keys()) {
      if (this.#removed.size <= MAX_REMOVED) break;
      this.#removed.delete(ref);
    }
  }

  /** The current revision. Takes a snapshot of each state first, so that every later change gets a higher revision. */
  now(): number {
    for (const cell of this.#cells.values()) cell.snapshot();
    return this.#revisions.last;
  }

  /** The states that changed after `revision`, by name: the value, or only the name if it is longer than `maxLength`. Undefined: none. */
  since(revision: number, wants: (ref: OfferRef) => boolean, maxLength: number): Promise<JsonObject> | undefined {
    const changed = [...this.#cells].flatMap(([ref, cell]): readonly (readonly [OfferRef, StateSnapshot])[] => {
      const snapshot = wants(ref) ? cell.snapshot() : undefined;
      return snapshot !== undefined && snapshot.revision > revision ? [[ref, snapshot]] : [];
    });
    const removed = [...this.#removed].flatMap(([ref, at]) => (wants(ref) && at > revision ? [nameOf(ref)] : []));
    if (changed.length + removed.length === 0) return undefined;
    return changes(changed, removed, maxLength);
  }
}

async function changes(
  snapshots: readonly (readonly [OfferRef, StateSnapshot])[],
  removed: readonly string[],
  maxLength: number,
): Promise<JsonObject> {
  const changed: [string, Json][] = [];
  const large: string[] = [];
  for (const [ref, snapshot] of snapshots) {
    const value = await valueWithin(snapshot, maxLength);
    if (value === undefined) large.push(nameOf(ref));
    else changed.push([nameOf(ref), value]);
  }
  return {
    changed: Object.fromEntries(changed),
    ...(large.length === 0 ? {} : { large }),
    ...(removed.length === 0 ? {} : { gone: removed }),
  };
}

/** Undefined: the value is longer, or cannot be read. */
async function valueWithin(snapshot: StateSnapshot, maxLength: number): Promise<Json | undefined> {
  if (snapshot.fault !== undefined || JSON.stringify(snapshot.json).length + blobBytes(snapshot) > maxLength) return undefined;
  try {
    const value = await withBlobs(snapshot);
    return snapshot.blobs.size > 0 && JSON.stringify(value).length > maxLength ? undefined : value;
  } catch {
    return undefined;
  }
}

/** The name in a reference: `health` of `resources/health`. */
export function nameOf(ref: OfferRef): string {
  return ref.slice(ref.indexOf("/") + 1);
}

/** Increasing numbers for changes. They start at the current time, so that they increase across restarts as well. */
export class Revisions {
  #last: number;

  constructor(now: number) {
    this.#last = Math.floor(now);
  }

  get last(): number {
    return this.#last;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** A state as a service emitted it. */
export interface EmittedState {
  readonly value: unknown;
  /** The media type of its text or bytes. Absent: unknown; text is then a JSON string. */
  readonly mediaType?: string | undefined;
  /** The type it is listed under. Absent: JSON. */
  readonly mimeType?: string;
}

/** A state's value as JSON, and the revision since which it has had this value and these types. */
export interface StateSnapshot extends JsonWithBlobs {
  readonly revision: number;
  readonly mediaType: string | undefined;
  readonly mimeType: string;
  /** Why the value could not be converted to JSON: `STATE_TOO_LARGE`, or `CRASHED` with the message of what it threw. */
  readonly fault?: EngineError;
}

/** One state. Its value is converted to JSON only when a snapshot is taken, since states may change faster than they are read. */
export class StateCell {
  readonly #revisions: Revisions;
  #emitted: EmittedState = { value: undefined };
  #snapshot: StateSnapshot | undefined;
  #isFresh = false;

  constructor(revisions: Revisions) {
    this.#revisions = revisions;
  }

  get value(): unknown {
    return this.#emitted.value;
  }

  /** The service emitted this, possibly again. An object may be the same one and yet have changed inside. */
  set(emitted: EmittedState): void {
    const { value, mediaType, mimeType } = this.#emitted;
    const isSame = Object.is(value, emitted.value) && mediaType === emitted.mediaType && mimeType === emitted.mimeType;
    if (isSame && typeof value !== "object" && this.#snapshot !== undefined) return;
    this.#emitted = emitted;
    this.#isFresh = false;
  }

  snapshot(): StateSnapshot {
    if (this.#isFresh && this.#snapshot !== undefined) return this.#snapshot;
    this.#isFresh = true;
    const { json, blobs, fault } = this.#convert();
    const { mediaType, mimeType = JSON_TYPE } = this.#emitted;
    const previous = this.#snapshot;
    const isSame =
      previous !== undefined &&
      previous.mediaType === mediaType &&
      previous.mimeType === mimeType &&
      (previous.fault === undefined) === (fault === undefined) &&
      sameBlobs(previous.blobs, blobs) &&
      sameJson(previous.json, json);
    if (previous !== undefined && isSame) return previous;
    this.#snapshot = { revision: this.#revisions.next(), json, blobs, mediaType, mimeType, ...(fault === undefined ? {} : { fault }) };
    return this.#snapshot;
  }

  #convert(): JsonWithBlobs & { readonly fault?: EngineError } {
    try {
      return jsonWithBlobs(this.#emitted.value);
    } catch (cause) {
      const fault = cause instanceof EngineError ? cause : new EngineError("CRASHED", callerMessage(cause, "This state"), { cause });
      return { json: null, blobs: new Map(), fault };
    }
  }
}

// By identity: the content of a Blob cannot be compared synchronously.
function sameBlobs(a: JsonWithBlobs["blobs"], b: JsonWithBlobs["blobs"]): boolean {
  if (a.size !== b.size) return false;
  const others = [...b.values()];
  return [...a.values()].every((blob, i) => blob === others[i]);
}

interface Description {
  readonly title?: string;
  readonly description?: string;
  /** The media type of its text or bytes. */
  readonly mediaType?: string;
  /** The type it is listed under. */
  readonly mimeType: string;
}

/** What a state's schema says for its listing. Not cached: a schema may be changed in place. */
export function describeState(schema: unknown): Description {
  if (typeof schema !== "object" || schema === null) return { mimeType: JSON_TYPE };
  const title = textIn(schema, "title");
  const description = textIn(schema, "description");
  const mediaType = textIn(schema, "contentMediaType") ?? textIn(schema, "mediaType");
  return {
    ...omitUndefined({ title, description, mediaType }),
    mimeType: mediaType ?? (textIn(schema, "type") === "blob" ? "application/octet-stream" : JSON_TYPE),
  };
}

function textIn(schema: object, keyword: string): string | undefined {
  const value: unknown = Reflect.get(schema, keyword);
  return typeof value === "string" ? value.toWellFormed() : undefined;
}
