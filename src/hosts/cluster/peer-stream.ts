// Owns: frames on a stream between two nodes: lines of JSON, their bounds and checks. Does not own: what they mean (outgoing-link.ts,
// incoming-link.ts).
import { isUtf8 } from "node:buffer";
import { constants, type Http2Stream } from "node:http2";
import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";

const NEWLINE = 10;
const FIRST_BYTES = 1_024;

/** Splits bytes into lines. It uses one growing buffer, since a list of chunks could cost a hundred times their bytes. */
export class LineReader {
  #gathered = Buffer.alloc(0);
  #used = 0;
  #stopped = false;

  /** Passes on every complete line, until `stop`. Returns false if a line is longer than `maxBytes()`; nothing is read after that. */
  push(chunk: Uint8Array, maxBytes: () => number, onLine: (line: Uint8Array) => void): boolean {
    let start = 0;
    while (!this.#stopped) {
      const end = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, end < 0 ? chunk.length : end);
      if (this.#used + piece.length > maxBytes()) {
        this.stop();
        return false;
      }
      if (end < 0) {
        this.#gather(piece, maxBytes());
        break;
      }
      start = end + 1;
      if (this.#used === 0) {
        onLine(piece);
        continue;
      }
      this.#gather(piece, maxBytes());
      const line = this.#gathered.subarray(0, this.#used);
      this.#gathered = Buffer.alloc(0);
      this.#used = 0;
      onLine(line);
    }
    return true;
  }

  stop(): void {
    this.#stopped = true;
    this.#gathered = Buffer.alloc(0);
    this.#used = 0;
  }

  #gather(piece: Uint8Array, maxBytes: number): void {
    const needed = this.#used + piece.length;
    if (needed > this.#gathered.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(Math.max(FIRST_BYTES, this.#gathered.length * 2), maxBytes)));
      this.#gathered.copy(larger, 0, 0, this.#used);
      this.#gathered = larger;
    }
    this.#gathered.set(piece, this.#used);
    this.#used = needed;
  }
}

const MESSAGE_DEPTH = 64;
const TOPIC_LENGTH = 256;

function deeperThan(value: unknown, max: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (max === 0) return true;
  return Object.values(value).some((member) => deeperThan(member, max - 1));
}

/** Parses a line as one JSON object. Undefined if it is not one, or nested too deeply. */
function readFrame(line: Uint8Array): JsonObject | undefined {
  if (!isUtf8(line)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString("utf8"));
    return isJsonObject(value) && !deeperThan(value, MESSAGE_DEPTH + 1) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A whole number in a frame. Undefined if there is none. */
export function countIn(frame: JsonObject, name: string): number | undefined {
  const value = frame[name];
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Undefined if the frame carries no topic with a message. */
export function noteIn(frame: JsonObject): { readonly topic: string; readonly message: Json } | undefined {
  const { topic, message } = frame;
  if (typeof topic !== "string" || topic === "" || topic.length > TOPIC_LENGTH || message === undefined) return undefined;
  return { topic, message };
}

/** Members of a frame as text, without its braces. Undefined if it is invalid: no node would accept it. */
export function noteText(topic: string | undefined, message: Json, frameBytes: number): string | undefined {
  if (topic !== undefined && (topic === "" || topic.length > TOPIC_LENGTH)) return undefined;
  try {
    if (deeperThan(message, MESSAGE_DEPTH)) return undefined;
    const body: unknown = JSON.stringify(message);
    if (typeof body !== "string") return undefined;
    const text = topic === undefined ? `"message":${body}` : `"topic":${JSON.stringify(topic)},"message":${body}`;
    return Buffer.byteLength(text) <= frameBytes ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Enough for any greeting, and too little for an attack. */
const GREETING_BYTES = 2_048;
/** A frame's own members, in addition to topic and message. */
const FRAME_MARGIN = 256;
const SILENT_BEATS = 5;

export interface PeerStreamOptions {
  readonly stream: Http2Stream;
  readonly frameBytes: number;
  readonly queueBytes: number;
  readonly receive: (frame: JsonObject) => void;
  /** Called once, with the reason. */
  readonly closed: (why: string) => void;
}

/** A stream between two nodes: one JSON object per line in both directions, bounded in both. */
export class PeerStream {
  readonly #options: PeerStreamOptions;
  readonly #lines = new LineReader();
  #lineBytes = GREETING_BYTES;
  #silent = 0;
  #closed = false;

  constructor(options: PeerStreamOptions) {
    this.#options = options;
    const { stream } = options;
    stream.on("data", (chunk: Uint8Array) => this.#read(chunk));
    stream.once("end", () => this.close("ended"));
    stream.once("close", () => this.close("ended"));
    stream.on("error", (error: NodeJS.ErrnoException) => this.close(error.code ?? error.name));
  }

  /** The other side is a node: it may send whole frames. */
  trust(): void {
    this.#lineBytes = this.#options.frameBytes + FRAME_MARGIN;
  }

  /** Returns false if it was not sent, since the other side does not read or the stream is closed. */
  send(text: string): boolean {
    const { stream, queueBytes } = this.#options;
    if (this.#closed || stream.writableLength + Buffer.byteLength(text) > queueBytes) return false;
    stream.write(`${text}\n`);
    return true;
  }

  /** Counts silent heartbeats, not time: a process that was suspended reads what arrived meanwhile before it gives up. */
  beat(text: string): void {
    this.#silent += 1;
    if (this.#silent > SILENT_BEATS) this.close("silent");
    else this.send(text);
  }

  /** `end` ends the stream: by default at once. */
  close(why: string, end = (): void => this.#reset()): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#lines.stop();
    end();
    this.#options.closed(why);
  }

  #reset(): void {
    const { stream } = this.#options;
    // `destroy` alone would reset it without an error, and the other side would still wait for the rest.
    stream.close(constants.NGHTTP2_CANCEL);
    stream.destroy();
  }

  #read(chunk: Uint8Array): void {
    this.#silent = 0;
    const fits = this.#lines.push(
      chunk,
      () => this.#lineBytes,
      (line) => {
        const frame = readFrame(line);
        if (frame === undefined) this.close("bad-frame");
        else this.#options.receive(frame);
      },
    );
    if (!fits) this.close("too-long");
  }
}
