import { EngineError } from "../../core/contract/index.ts";
import { sameJson } from "../../mcp/source/index.ts";
import { type Plain, plainOf } from "./plain-json.ts";
import { wordsOf } from "./words-of.ts";

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
