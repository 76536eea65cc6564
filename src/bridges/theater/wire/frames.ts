import { WireError } from "./wire-error.ts";

const HEADER_BYTES = 4;
const INITIAL_BUFFER_BYTES = 65_536;

/** Prefixes a payload with its length: 4 bytes, big-endian. */
export function encodeFrame(payload: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

/** Splits a stream into frames. An incomplete frame takes at most twice the bytes received of it, whatever length it declares. */
export class FrameSplitter {
  readonly #maxLength: number;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  #length = 0;
  /** One growing buffer. With a list of chunks, a client that sends single bytes would cost a buffer for each. */
  #body = Buffer.alloc(0);
  #filled = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** A frame has begun and is incomplete. */
  get pending(): boolean {
    return this.#headerFilled > 0;
  }

  /** Calls `each` with every complete payload, valid until it returns. Throws `WireError` if a length exceeds the limit. */
  push(chunk: Uint8Array, each: (payload: Uint8Array) => void): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let at = 0;
    while (at < bytes.length) {
      if (this.#headerFilled < HEADER_BYTES) {
        at += this.#readHeader(bytes, at);
        if (this.#headerFilled < HEADER_BYTES) return;
      }
      const payload = this.#readBody(bytes, at);
      at += Math.min(payload?.taken ?? bytes.length, bytes.length - at);
      if (payload === undefined) return;
      this.#headerFilled = 0;
      this.#filled = 0;
      this.#body = Buffer.alloc(0);
      each(payload.whole);
    }
  }

  #readHeader(bytes: Buffer, at: number): number {
    const taken = bytes.copy(this.#header, this.#headerFilled, at, at + HEADER_BYTES - this.#headerFilled);
    this.#headerFilled += taken;
    if (this.#headerFilled < HEADER_BYTES) return taken;
    this.#length = this.#header.readUInt32BE(0);
    if (this.#length > this.#maxLength)
      throw new WireError(
        `A frame may have at most ${this.#maxLength} bytes here, and this one says it has ${this.#length}: send less at once.`,
      );
    return taken;
  }

  /** Undefined if the payload is incomplete. */
  #readBody(bytes: Buffer, at: number): { readonly whole: Buffer; readonly taken: number } | undefined {
    const missing = this.#length - this.#filled;
    const available = Math.min(missing, bytes.length - at);
    if (this.#filled === 0 && available === missing) return { whole: bytes.subarray(at, at + available), taken: available };
    if (this.#filled + available > this.#body.length) {
      const size = Math.min(this.#length, Math.max(INITIAL_BUFFER_BYTES, 2 * (this.#filled + available)));
      const larger = Buffer.allocUnsafeSlow(size);
      this.#body.copy(larger, 0, 0, this.#filled);
      this.#body = larger;
    }
    bytes.copy(this.#body, this.#filled, at, at + available);
    this.#filled += available;
    return available === missing ? { whole: this.#body.subarray(0, this.#filled), taken: available } : undefined;
  }
}
