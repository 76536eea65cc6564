import type { Clock } from "../../../core/contract/index.ts";
import { byteListLength } from "./byte-lists.ts";
import { FragmentAssembler } from "./fragments.ts";
import { FrameSplitter, encodeFrame } from "./frames.ts";
import { type Printable, printJson } from "./print-json.ts";
import { WireError } from "./wire-error.ts";
import { readWireJson, type WireValue } from "./wire-json.ts";
import type { WireLimits } from "./wire-limits.ts";

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
