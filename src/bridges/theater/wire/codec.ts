// Owns: frames, fragments and both codecs, with their limits. Does not own: the JSON inside (wire-json.ts).
import type { Clock } from "../../../core/contract/index.ts";
import { VALUE_LIMITS } from "../../../core/contract/internal.ts";
import { byteListLength, type JsonLimits, type Printable, printJson, readWireJson, WireError, type WireValue } from "./wire-json.ts";

const MIB = 1_048_576;

/** Limits of what one connection may make us hold. */
export interface WireLimits extends JsonLimits {
  /** The longest frame sent or received, without its length prefix. Default 32 MiB, as in Theater's own codec. */
  readonly frameBytes: number;
  /** The longest message assembled from fragments, and the total of incomplete ones. Default 64 MiB. */
  readonly messageBytes: number;
  /** Fragments of one message. Default 1,024. */
  readonly fragments: number;
  /** Incomplete messages. Default 16. */
  readonly partials: number;
  /** An incomplete message is dropped after this time. Default 30 s. */
  readonly partialMs: number;
}

export const WIRE_LIMITS: WireLimits = {
  frameBytes: 32 * MIB,
  messageBytes: 64 * MIB,
  fragments: 1_024,
  partials: 16,
  partialMs: 30_000,
  depth: 32,
  values: 1_000_000,
  members: VALUE_LIMITS.members,
};

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
class FrameSplitter {
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

interface PartialMessage {
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
class FragmentAssembler {
  readonly #limits: WireLimits;
  readonly #clock: Clock;
  readonly #partials = new Map<number, PartialMessage>();
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

  #begin(id: number, total: number): PartialMessage {
    if (this.#partials.size >= this.#limits.partials)
      throw new WireError(`At most ${this.#limits.partials} messages may be under way in fragments: end one before you begin another.`);
    const partial: PartialMessage = {
      total,
      pieces: new Map(),
      cancelTimer: this.#clock.after(this.#limits.partialMs, () => this.#drop(id)),
    };
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

/** `raw`: a frame is a message's JSON (until June 2025). `fragmenting`: a frame is an envelope of a message or of a part of one. */
export type Codec = "raw" | "fragmenting";

/** Bytes in one fragment, which become 16 MiB of base64. */
const FRAGMENT_BYTES = 12 * 1_048_576;
const ENVELOPE_BYTES = '{"Complete":}'.length;

/** Decodes what arrives on one connection. Without a given codec, the first frame determines it. */
export class WireReader {
  readonly #limits: WireLimits;
  readonly #frames: FrameSplitter;
  readonly #fragments: FragmentAssembler;
  #codec: Codec | undefined;

  constructor(limits: WireLimits, clock: Clock, codec?: Codec) {
    this.#limits = limits;
    this.#frames = new FrameSplitter(limits.frameBytes);
    this.#fragments = new FragmentAssembler(limits, clock);
    this.#codec = codec;
  }

  /** Undefined until the first frame that is JSON. */
  get codec(): Codec | undefined {
    return this.#codec;
  }

  /** A frame has begun and is incomplete. */
  get pending(): boolean {
    return this.#frames.pending;
  }

  /** Calls `each` with every message or its error. Throws a `WireError` of the framing, after which the connection must end. */
  push(chunk: Uint8Array, each: (message: WireValue | WireError) => void): void {
    this.#frames.push(chunk, (payload) => {
      let message: WireValue | WireError | undefined;
      try {
        message = this.#message(payload);
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        message = error;
      }
      if (message !== undefined) each(message);
    });
  }

  /** Frees incomplete messages. */
  close(): void {
    this.#fragments.clear();
  }

  #message(payload: Uint8Array): WireValue | undefined {
    const read = readWireJson(payload, this.#limits);
    const [only, ...others] = read instanceof Map ? Array.from(read) : [];
    const envelope = others.length === 0 && (only?.[0] === "Complete" || only?.[0] === "Fragment") ? only : undefined;
    this.#codec ??= envelope === undefined ? "raw" : "fragmenting";
    if (this.#codec === "raw") return read;
    if (envelope === undefined)
      throw new WireError('A frame of this connection must be {"Complete":[…]} or {"Fragment":{…}}, as its first was.');
    const [kind, content] = envelope;
    if (kind === "Complete" && content instanceof Uint8Array) return readWireJson(content, this.#limits);
    if (kind === "Fragment" && content instanceof Map) {
      const whole = this.#fragments.add(content);
      return whole && readWireJson(whole, this.#limits);
    }
    throw new WireError(`${kind} must hold ${kind === "Complete" ? "bytes, as numbers of 0 to 255" : "an object"}.`);
  }
}

/** Encodes messages as frames. Numbers those that it sends in fragments. */
export class WireWriter {
  readonly #limits: Pick<WireLimits, "frameBytes" | "messageBytes">;
  #fragmented = 0;

  constructor(limits: Pick<WireLimits, "frameBytes" | "messageBytes">) {
    this.#limits = limits;
  }

  /** Throws `WireError` if the message is longer than the codec or the limits allow. */
  frames(message: Printable, codec: Codec): readonly Uint8Array[] {
    const { frameBytes, messageBytes } = this.#limits;
    if (codec === "raw") return [encodeFrame(printJson(message, frameBytes))];
    const text = printJson(message, messageBytes);
    // Theater's codec puts up to 12 MiB into one frame, although the printed numbers may exceed its own frame limit.
    if (text.length <= FRAGMENT_BYTES && byteListLength(text) + ENVELOPE_BYTES <= frameBytes)
      return [encodeFrame(printJson({ Complete: text }, frameBytes))];
    return this.#fragments(text, Math.min(FRAGMENT_BYTES, Math.floor(frameBytes / 2)));
  }

  #fragments(text: Buffer, size: number): readonly Uint8Array[] {
    this.#fragmented += 1;
    const total = Math.ceil(text.length / size);
    return Array.from({ length: total }, (_, at) =>
      encodeFrame(
        printJson(
          {
            Fragment: {
              message_id: this.#fragmented,
              fragment_index: at,
              total_fragments: total,
              data: text.toString("base64", at * size, (at + 1) * size),
            },
          },
          this.#limits.frameBytes,
        ),
      ),
    );
  }
}
