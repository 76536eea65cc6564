// Owns: reading bytes of WebAssembly: numbers, names and sections. Does not own: what the sections of a module (core-module.ts) or a component (read-model.ts) hold.
import { WasmError } from "../wasm-error.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads a range of bytes, and never beyond it. Throws only `WasmError` BAD_COMPONENT. */
export class ByteReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  /** The offset of the next byte, from the start of `bytes`. */
  at: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  get remaining(): number {
    return this.end - this.at;
  }

  damaged(what: string): WasmError {
    return new WasmError("BAD_COMPONENT", `The component is damaged at byte ${this.at}: ${what}. Build or fetch it again.`);
  }

  u8(): number {
    const byte = this.at < this.end ? this.bytes[this.at] : undefined;
    if (byte === undefined) throw this.damaged("it ends in the middle");
    this.at += 1;
    return byte;
  }

  /** Unsigned LEB128 of at most 32 bits. */
  u32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.u8();
      if (shift === 28 && byte > 0x0f) break;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw this.damaged("a number is longer than 32 bits");
  }

  /** Signed LEB128 of 33 bits. Non-negative numbers are indices, negative ones are type codes. */
  s33(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.u8();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return (byte & 0x40) === 0 ? value : value - 2 ** (shift + 7);
    }
    throw this.damaged("a number is longer than 33 bits");
  }

  /** The length of a vector. Each item takes at least one byte, so a false length is found before anything is allocated. */
  count(): number {
    const count = this.u32();
    if (count > this.remaining) throw this.damaged(`it announces ${count} items in ${this.remaining} bytes`);
    return count;
  }

  name(): string {
    const length = this.count();
    const bytes = this.bytes.subarray(this.at, this.at + length);
    try {
      const text = decoder.decode(bytes);
      this.at += length;
      return text;
    } catch {
      throw this.damaged("a name is not UTF-8");
    }
  }

  /** Returns a reader of the next `length` bytes, and skips them. */
  part(length: number): ByteReader {
    if (length > this.remaining) throw this.damaged(`it announces ${length} bytes and has ${this.remaining}`);
    const part = new ByteReader(this.bytes, this.at, this.at + length);
    this.at += length;
    return part;
  }

  /** The remaining bytes, not copied. */
  rest(): Uint8Array {
    const rest = this.bytes.subarray(this.at, this.end);
    this.at = this.end;
    return rest;
  }
}

export interface Section {
  readonly id: number;
  /** The offsets of its id and of its end. */
  readonly from: number;
  readonly to: number;
  readonly body: ByteReader;
}

/** A custom section, in modules and components alike: names, producers and other data without meaning for execution. */
const CUSTOM = 0;

/** Real ones have about a hundred. */
const MAX_SECTIONS = 100_000;

/** Yields all sections but the custom ones. The caller must read each to its end. `each` is called for custom ones too. */
export function* sections(reader: ByteReader, each?: () => void): Generator<Section> {
  for (let count = 0; !reader.done; count += 1) {
    if (count >= MAX_SECTIONS) throw reader.damaged(`it has more than ${MAX_SECTIONS} sections`);
    each?.();
    const from = reader.at;
    const id = reader.u8();
    const body = reader.part(reader.u32());
    if (id === CUSTOM) {
      body.name();
      continue;
    }
    yield { id, from, to: body.end, body };
    if (!body.done) throw body.damaged(`section ${id} has more bytes than content`);
  }
}

/** Reads the first 8 bytes: magic number, version and layer, as hex. */
export function preamble(reader: ByteReader): string {
  const bytes = reader.part(8).rest();
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const MODULE = "0061736d01000000";
export const COMPONENT = "0061736d0d000100";
