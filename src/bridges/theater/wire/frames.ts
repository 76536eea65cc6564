import { WireError } from "./wire-error.ts";

const HEAD = 4;
const FIRST_ROOM = 65_536;

/** Prefixes a payload with its length: 4 bytes, big-endian. */
export function frameOf(payload: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(HEAD + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.set(payload, HEAD);
  return frame;
}

/** Splits a stream into frames. An incomplete frame takes at most twice the bytes received of it, whatever length it declares. */
export class FrameSplitter {
  readonly #longest: number;
  readonly #head = Buffer.alloc(HEAD);
  #headed = 0;
  #length = 0;
  /** One growing buffer. With a list of chunks, a client that sends single bytes would cost a buffer for each. */
  #body = Buffer.alloc(0);
  #filled = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** A frame has begun and is incomplete. */
  get pending(): boolean {
    return this.#headed > 0;
  }

  /** Calls `each` with every complete payload, valid until it returns. Throws `WireError` if a length exceeds the limit. */
  push(chunk: Uint8Array, each: (payload: Uint8Array) => void): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let at = 0;
    while (at < bytes.length) {
      if (this.#headed < HEAD) {
        at += this.#takeHead(bytes, at);
        if (this.#headed < HEAD) return;
      }
      const payload = this.#takeBody(bytes, at);
      at += Math.min(payload?.taken ?? bytes.length, bytes.length - at);
      if (payload === undefined) return;
      this.#headed = 0;
      this.#filled = 0;
      this.#body = Buffer.alloc(0);
      each(payload.whole);
    }
  }

  #takeHead(bytes: Buffer, at: number): number {
    const taken = bytes.copy(this.#head, this.#headed, at, at + HEAD - this.#headed);
    this.#headed += taken;
    if (this.#headed < HEAD) return taken;
    this.#length = this.#head.readUInt32BE(0);
    if (this.#length > this.#longest)
      throw new WireError(
        `A frame may have at most ${this.#longest} bytes here, and this one says it has ${this.#length}: send less at once.`,
      );
    return taken;
  }

  /** Undefined if the payload is incomplete. */
  #takeBody(bytes: Buffer, at: number): { readonly whole: Buffer; readonly taken: number } | undefined {
    const missing = this.#length - this.#filled;
    const there = Math.min(missing, bytes.length - at);
    if (this.#filled === 0 && there === missing) return { whole: bytes.subarray(at, at + there), taken: there };
    if (this.#filled + there > this.#body.length) {
      const room = Math.min(this.#length, Math.max(FIRST_ROOM, 2 * (this.#filled + there)));
      const wider = Buffer.allocUnsafeSlow(room);
      this.#body.copy(wider, 0, 0, this.#filled);
      this.#body = wider;
    }
    bytes.copy(this.#body, this.#filled, at, at + there);
    this.#filled += there;
    return there === missing ? { whole: this.#body.subarray(0, this.#filled), taken: there } : undefined;
  }
}
