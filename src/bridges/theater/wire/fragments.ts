import type { Clock } from "../../../core/contract/index.ts";
import { WireError } from "./wire-error.ts";
import type { WireLimits } from "./wire-limits.ts";
import type { WireValue } from "./wire-json.ts";

interface Partial {
  readonly total: number;
  readonly pieces: Map<number, Uint8Array>;
  readonly cancelTimer: () => void;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const wholeNumber = (value: WireValue | undefined, name: string, maximum: number, minimum = 0): number => {
  if (typeof value !== "number" || !Number.isInteger(value) || value < minimum || value > maximum)
    throw new WireError(`Fragment.${name} must be a whole number of ${minimum} to ${maximum}.`);
  return value;
};

/** Reassembles messages from fragments, which may arrive in any order. */
export class FragmentAssembler {
  readonly #limits: WireLimits;
  readonly #clock: Clock;
  readonly #partials = new Map<number, Partial>();
  #bytes = 0;

  constructor(limits: WireLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** The message, with its last fragment. Throws `WireError` and drops the message that the fragment belongs to. */
  add(fragment: ReadonlyMap<string, WireValue>): Uint8Array | undefined {
    const id = wholeNumber(fragment.get("message_id"), "message_id", Number.MAX_SAFE_INTEGER);
    try {
      return this.#add(id, fragment);
    } catch (error) {
      this.#drop(id);
      throw error;
    }
  }

  /** Drops all incomplete messages. */
  clear(): void {
    for (const id of Array.from(this.#partials.keys())) this.#drop(id);
  }

  #add(id: number, fragment: ReadonlyMap<string, WireValue>): Uint8Array | undefined {
    const total = wholeNumber(fragment.get("total_fragments"), "total_fragments", this.#limits.fragments, 1);
    const index = wholeNumber(fragment.get("fragment_index"), "fragment_index", total - 1);
    const data = fragment.get("data");
    if (typeof data !== "string" || data.length % 4 !== 0 || !BASE64.test(data)) throw new WireError("Fragment.data must be base64.");
    const piece = Buffer.from(data, "base64");

    const partial = this.#partials.get(id) ?? this.#begin(id, total);
    if (partial.total !== total)
      throw new WireError(`Fragment.total_fragments was ${partial.total} for message ${id} before and is ${total} now.`);
    this.#bytes += piece.length - (partial.pieces.get(index)?.length ?? 0);
    partial.pieces.set(index, piece);
    if (this.#bytes > this.#limits.messageBytes)
      throw new WireError(`Messages in fragments may have at most ${this.#limits.messageBytes} bytes here: send less at once.`);
    if (partial.pieces.size < total) return undefined;
    const pieces = Array.from({ length: total }, (_, at) => partial.pieces.get(at) ?? new Uint8Array(0));
    this.#drop(id);
    return Buffer.concat(pieces);
  }

  #begin(id: number, total: number): Partial {
    if (this.#partials.size >= this.#limits.partials)
      throw new WireError(`At most ${this.#limits.partials} messages may be under way in fragments: end one before you begin another.`);
    const partial: Partial = { total, pieces: new Map(), cancelTimer: this.#clock.after(this.#limits.partialMs, () => this.#drop(id)) };
    this.#partials.set(id, partial);
    return partial;
  }

  #drop(id: number): void {
    const partial = this.#partials.get(id);
    if (partial === undefined) return;
    partial.cancelTimer();
    this.#partials.delete(id);
    for (const piece of partial.pieces.values()) this.#bytes -= piece.length;
  }
}
