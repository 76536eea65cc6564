import { type JsonObject, type Json, type OfferRef, EngineError } from "../../core/contract/index.ts";
import { filled, sizeOf, type Plain, plainOf } from "./json-values.ts";
import { sameJson } from "../../mcp/source/index.ts";
import { wordsOf } from "./faults.ts";
import { omitUndefined } from "../../core/contract/internal.ts";

const MAX_GONE = 256;

/** The states a service shows, and since when each is what it is. */
export class States {
  readonly #revisions: Revisions;
  readonly #cells = new Map<OfferRef, StateCell>();
  readonly #gone = new Map<OfferRef, number>();

  constructor(revisions: Revisions) {
    this.#revisions = revisions;
  }

  get cells(): ReadonlyMap<OfferRef, StateCell> {
    return this.#cells;
  }

  /** The service says these and no others. */
  hear(states: ReadonlyMap<OfferRef, Heard>): void {
    for (const ref of this.#cells.keys()) {
      if (states.has(ref)) continue;
      this.#cells.delete(ref);
      this.#gone.set(ref, this.#revisions.next());
    }
    for (const [ref, heard] of states) {
      this.#gone.delete(ref);
      let cell = this.#cells.get(ref);
      if (cell === undefined) {
        cell = new StateCell(this.#revisions);
        this.#cells.set(ref, cell);
      }
      cell.hear(heard);
    }
    for (const ref of this.#gone.keys()) {
      if (this.#gone.size <= MAX_GONE) break;
      this.#gone.delete(ref);
    }
  }

  /** All looked at, so that whatever changes from here on has a higher revision than this. */
  now(): number {
    for (const cell of this.#cells.values()) cell.look();
    return this.#revisions.last;
  }

  /** Values by name; what is longer than `maxLength` only by name. Undefined: nothing changed. */
  since(revision: number, wants: (ref: OfferRef) => boolean, maxLength: number): Promise<JsonObject> | undefined {
    const changed = [...this.#cells].flatMap(([ref, cell]): readonly (readonly [OfferRef, Look])[] => {
      const look = wants(ref) ? cell.look() : undefined;
      return look !== undefined && look.revision > revision ? [[ref, look]] : [];
    });
    const gone = [...this.#gone].flatMap(([ref, at]) => (wants(ref) && at > revision ? [nameOf(ref)] : []));
    if (changed.length + gone.length === 0) return undefined;
    return valuesOf(changed, gone, maxLength);
  }
}

async function valuesOf(looks: readonly (readonly [OfferRef, Look])[], gone: readonly string[], maxLength: number): Promise<JsonObject> {
  const changed: [string, Json][] = [];
  const large: string[] = [];
  for (const [ref, look] of looks) {
    const value = await valueWithin(look, maxLength);
    if (value === undefined) large.push(nameOf(ref));
    else changed.push([nameOf(ref), value]);
  }
  return {
    changed: Object.fromEntries(changed),
    ...(large.length === 0 ? {} : { large }),
    ...(gone.length === 0 ? {} : { gone }),
  };
}

/** Undefined: it is longer, or nobody can say. */
async function valueWithin(look: Look, maxLength: number): Promise<Json | undefined> {
  if (look.fault !== undefined || JSON.stringify(look.plain).length + sizeOf(look) > maxLength) return undefined;
  try {
    const value = await filled(look);
    return look.blobs.size > 0 && JSON.stringify(value).length > maxLength ? undefined : value;
  } catch {
    return undefined;
  }
}

export function nameOf(ref: OfferRef): string {
  return ref.slice(ref.indexOf("/") + 1);
}

/** Numbers that only rise: what has a higher one changed later. They begin with the time, so that they rise over a restart too. */
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

/** What a service says of a state. */
export interface Heard {
  readonly value: unknown;
  /** What its text or bytes are. Absent: they do not say, and text is a JSON string. */
  readonly mediaType?: string | undefined;
  /** What it is listed as. Absent: JSON. */
  readonly mimeType?: string;
}

/** A state's value as JSON, and since which revision it is what it is, and read as it is. */
export interface Look extends Plain {
  readonly revision: number;
  readonly mediaType: string | undefined;
  readonly mimeType: string;
  /** It could not be written as JSON: `STATE_TOO_LARGE`, or `CRASHED` with the words of what it threw. */
  readonly fault?: EngineError;
}

/** One state. What it was told is turned into JSON only when somebody looks: states may change faster than anybody reads. */
export class StateCell {
  readonly #revisions: Revisions;
  #heard: Heard = { value: undefined };
  #look: Look | undefined;
  #isFresh = false;

  constructor(revisions: Revisions) {
    this.#revisions = revisions;
  }

  get value(): unknown {
    return this.#heard.value;
  }

  /** The service said this, perhaps again. An object may have changed inside and still be the same. */
  hear(heard: Heard): void {
    const { value, mediaType, mimeType } = this.#heard;
    const isSame = Object.is(value, heard.value) && mediaType === heard.mediaType && mimeType === heard.mimeType;
    if (isSame && typeof value !== "object" && this.#look !== undefined) return;
    this.#heard = heard;
    this.#isFresh = false;
  }

  look(): Look {
    if (this.#isFresh && this.#look !== undefined) return this.#look;
    this.#isFresh = true;
    const { plain, blobs, fault } = this.#written();
    const { mediaType, mimeType = "application/json" } = this.#heard;
    const before = this.#look;
    const isSame =
      before !== undefined &&
      before.mediaType === mediaType &&
      before.mimeType === mimeType &&
      (before.fault === undefined) === (fault === undefined) &&
      sameBlobs(before.blobs, blobs) &&
      sameJson(before.plain, plain);
    if (before !== undefined && isSame) return before;
    this.#look = { revision: this.#revisions.next(), plain, blobs, mediaType, mimeType, ...(fault === undefined ? {} : { fault }) };
    return this.#look;
  }

  #written(): Plain & { readonly fault?: EngineError } {
    try {
      return plainOf(this.#heard.value);
    } catch (cause) {
      const fault = cause instanceof EngineError ? cause : new EngineError("CRASHED", wordsOf(cause, "This state"), { cause });
      return { plain: null, blobs: new Map(), fault };
    }
  }
}

// What is in one nobody can see without waiting: another may hold anything.
function sameBlobs(a: Plain["blobs"], b: Plain["blobs"]): boolean {
  if (a.size !== b.size) return false;
  const others = [...b.values()];
  return [...a.values()].every((blob, i) => blob === others[i]);
}

interface Description {
  readonly title?: string;
  readonly description?: string;
  /** What its text or bytes are. */
  readonly mediaType?: string;
  /** What it is listed as. */
  readonly mimeType: string;
}

const JSON_TYPE = "application/json";

/** Read anew each time, since a schema may be another and still be the same object; so only what is shown of it is read. */
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
