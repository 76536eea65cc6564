import type { JsonObject, Json, OfferRef } from "../../core/contract/index.ts";
import { filled, sizeOf } from "./blobs.ts";
import { type Heard, type Look, type Revisions, StateCell } from "./state-cell.ts";

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
