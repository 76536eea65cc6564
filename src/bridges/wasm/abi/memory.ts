// Owns: a guest's memory as the host reads and writes it, and the budget of bytes copied. Does not own: the layout of types (codec.ts).
import { textOf } from "../../../core/platform/index.ts";
import { type CoreFunction, type CoreMemory, GuestKilled, GuestTrap } from "./webassembly.ts";

/** Limits the bytes copied between a guest and its host. */
export class Budget {
  #left: number;
  readonly #what: string;
  readonly #limit: number;

  /** `what`: the subject of "… than N bytes". */
  constructor(limit: number, what: string) {
    this.#left = limit;
    this.#limit = limit;
    this.#what = what;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new GuestKilled("bytes", `${this.#what} than ${this.#limit} bytes.`);
  }
}

/** For what the host itself passes to the guest. */
export const UNBOUNDED: Budget = new Budget(Number.POSITIVE_INFINITY, "");

/** Where something was written, and its length. */
export interface Allocation {
  readonly pointer: number;
  readonly count: number;
}

/** A guest's memory. All accesses are checked, and no view of the memory is returned. */
export class GuestMemory {
  view: DataView<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
  budget = UNBOUNDED;
  readonly #memory: CoreMemory;
  readonly #realloc: CoreFunction;

  constructor(memory: CoreMemory, realloc: CoreFunction) {
    this.#memory = memory;
    this.#realloc = realloc;
    this.view = new DataView(memory.buffer);
    this.bytes = new Uint8Array(memory.buffer);
  }

  get size(): number {
    return this.#memory.buffer.byteLength;
  }

  /** Call it after the guest ran: a memory that grew has a new buffer, and the old one is detached. */
  refresh(): void {
    const { buffer } = this.#memory;
    if (buffer === this.bytes.buffer) return;
    this.view = new DataView(buffer);
    this.bytes = new Uint8Array(buffer);
  }

  /** Checks the alignment and bounds of a pointer from the guest. */
  check(pointer: number, size: number, align: number, what: string): void {
    if (pointer % align !== 0) throw new GuestTrap(`The guest's pointer to ${what}, ${pointer}, is not a multiple of ${align}.`);
    // The sum cannot overflow: both are far below 2^53.
    if (pointer + size > this.bytes.length)
      throw new GuestTrap(
        `The guest's ${what}, ${size} bytes at ${pointer}, does not lie inside its memory of ${this.bytes.length} bytes.`,
      );
  }

  readBytes(pointer: number, length: number): Uint8Array {
    this.check(pointer, length, 1, "list");
    this.budget.spend(length);
    return this.bytes.slice(pointer, pointer + length);
  }

  readText(pointer: number, length: number): string {
    this.check(pointer, length, 1, "string");
    this.budget.spend(length);
    const text = textOf(this.bytes.subarray(pointer, pointer + length));
    if (text === undefined) throw new GuestTrap(`The guest's string, ${length} bytes at ${pointer}, is not UTF-8.`);
    return text;
  }

  /** Allocates in the guest, by its own allocator. */
  allocate(size: number, align: number): number {
    const given = this.#realloc(0, 0, align, size);
    if (typeof given !== "number") throw new GuestTrap("The guest's allocator does not give an address.");
    this.refresh();
    const pointer = given >>> 0;
    this.check(pointer, size, align, "allocation");
    return pointer;
  }

  write(bytes: Uint8Array): Allocation {
    this.budget.spend(bytes.length);
    const pointer = this.allocate(bytes.length, 1);
    this.bytes.set(bytes, pointer);
    return { pointer, count: bytes.length };
  }
}
