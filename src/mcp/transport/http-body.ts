import type { Answer } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";
import { NO_ROOM, type NoRoom, type Upload, FREE_BYTES, type UploadBudget } from "./budgets.ts";
import type { Socket } from "node:net";

// Owns: request bodies, gathered within their limits. Does not own: the budget that all bodies share (budgets.ts).

// Not imported: an import statement evaluates every export of the built-in module, among them a WebSocket client and fetch,
// an eighth of the start-up time of a server with all transports.
const http = process.getBuiltinModule("node:http");
export const { createServer, STATUS_CODES } = http;

// This many chunks at the end are joined into one.
const JOIN_COUNT = 256;
// A chunk costs a call, and a line of its own on the wire.
const CHUNKS_MIN = 4_096;
const AVERAGE_BYTES_MIN = 16;

/** Gathers chunks of any size. Each chunk is an object, so a body sent byte by byte would take four hundred times its size: chunks are joined as they come. */
export class ChunkBuffer {
  readonly #pieces: Uint8Array[] = [];
  #loose = 0;
  #size = 0;
  #count = 0;

  get size(): number {
    return this.#size;
  }

  /** The chunks are absurdly small. */
  get fragmented(): boolean {
    return this.#count > CHUNKS_MIN && this.#size < this.#count * AVERAGE_BYTES_MIN;
  }

  push(piece: Uint8Array): void {
    this.#size += piece.byteLength;
    this.#count += 1;
    this.#pieces.push(piece);
    this.#loose += 1;
    if (this.#loose < JOIN_COUNT) return;
    this.#pieces.push(joined(this.#pieces.splice(-JOIN_COUNT)));
    this.#loose = 0;
  }

  /** All chunks joined. */
  whole(): Uint8Array<ArrayBuffer> {
    return joined(this.#pieces);
  }
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}

/** Why a body is refused. */
export type BodyRefusal = "too-large" | "too-many-pieces" | NoRoom;

/** `limit`: the longest body allowed, in bytes. */
export function refuseBody(why: BodyRefusal, limit: number): Answer {
  if (why === "too-large") return refusal("TOO_LARGE", `A body may have at most ${limit} bytes: send less at once.`);
  if (why === "too-many-pieces") return refusal("TOO_LARGE", "The body comes in too many pieces of a few bytes: send it in larger ones.");
  const [kind, message] = NO_ROOM[why];
  return refusal(kind, message, why === "full" ? { "retry-after": "5" } : undefined);
}

const EMPTY = Buffer.alloc(0);
// More than any body, and still a small integer.
const UNLIMITED = 2 ** 31 - 1;
const NO_HEADERS = Object.freeze({});

type Reader = (body: Uint8Array | BodyRefusal) => void;

/**
 * A request whose body bypasses Readable, which costs a tenth of a small request: the parser's chunks are gathered here up to a
 * limit, and dropped if nothing reads them. As a stream it has no data.
 */
export class BodyRequest extends http.IncomingMessage {
  #limit = UNLIMITED;
  /** Up to this size nothing is checked. */
  #free = UNLIMITED;
  #uploads: UploadBudget | undefined;
  #upload: Upload | undefined;
  #refused: BodyRefusal | undefined;
  #reader: Reader | undefined;
  /** Nearly every body is one chunk. */
  #first: Buffer | undefined;
  #pieces: ChunkBuffer | undefined;
  #size = 0;
  #ended = false;
  #dropping = false;
  #onDropped: ((bytes: number) => void) | undefined;
  #onEnd: (() => void) | undefined;

  constructor(socket: Socket) {
    super(socket);
    // Marks the request as being read, so that node:http does not discard the body.
    this._read(0);
  }

  /** Calls `reader` once, with the body or with why it was refused; never if the client leaves first. */
  readBody(limit: number, uploads: UploadBudget, reader: Reader): void {
    this.hold(limit, uploads);
    this.#reader = reader;
    if (this.#refused !== undefined) this.#refuse(this.#refused);
    else if (this.#size > this.#free && !this.#fits()) return;
    else if (this.#ended) this.#hand();
  }

  /** Discards the rest of the body, and counts it. */
  throwAway(onDropped?: (bytes: number) => void, onEnd?: () => void): void {
    this.#discard();
    if (this.#ended) return onEnd?.();
    this.#onDropped = onDropped;
    this.#onEnd = onEnd;
  }

  /** Limits what is retained before `readBody`. */
  hold(limit: number, uploads: UploadBudget): void {
    this.#limit = limit;
    this.#free = Math.min(limit, FREE_BYTES);
    this.#uploads = uploads;
  }

  /** Frees the headers while a stream goes on: they may be long, tokens above all. */
  forget(): void {
    this.rawHeaders = [];
    this.headers = NO_HEADERS;
  }

  override push(chunk: Buffer | null): boolean {
    if (chunk === null) this.#end();
    else if (this.#dropping) this.#onDropped?.(chunk.length);
    else {
      this.#size += chunk.length;
      if (this.#size > this.#free && !this.#fits()) return true;
      if (this.#first === undefined) this.#first = chunk;
      else this.#more(this.#first, chunk);
    }
    return true;
  }

  #more(first: Buffer, chunk: Buffer): void {
    if (this.#pieces === undefined) {
      this.#pieces = new ChunkBuffer();
      this.#pieces.push(first);
    }
    this.#pieces.push(chunk);
    if (this.#pieces.fragmented) this.#refuse("too-many-pieces");
  }

  /** False: it was refused. */
  #fits(): boolean {
    if (this.#size > this.#limit) {
      this.#refuse("too-large");
      return false;
    }
    this.#upload ??= this.#arrive();
    return this.#upload?.holds(this.#size) ?? true;
  }

  #arrive(): Upload | undefined {
    const upload = this.#uploads?.begin(this.socket.remoteAddress, (why) => this.#refuse(why));
    // Released at the latest here.
    if (upload !== undefined) this.once("close", () => upload.end());
    return upload;
  }

  #end(): void {
    this.#ended = true;
    this.#onEnd?.();
    this.#hand();
  }

  #hand(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.(this.#body());
  }

  #refuse(why: BodyRefusal): void {
    const reader = this.#reader;
    this.#refused = why;
    this.#discard();
    reader?.(why);
  }

  #discard(): void {
    this.#dropping = true;
    this.#reader = undefined;
    this.#first = this.#pieces = undefined;
    this.#upload?.end();
  }

  #body(): Uint8Array {
    const [first, pieces] = [this.#first, this.#pieces];
    this.#first = this.#pieces = undefined;
    this.#upload?.end();
    return pieces === undefined ? (first ?? EMPTY) : pieces.whole();
  }
}

/** A body that comes in pieces, within its bounds. */
export class BodyReader {
  readonly #limit: number;
  readonly #uploads: UploadBudget;
  readonly #from: string | undefined;
  readonly #onRefused: () => void;
  #pieces = new ChunkBuffer();
  #upload: Upload | undefined;
  #refused: BodyRefusal | undefined;

  /** `from`: an address, where one is known. `onRefused`: once, where it cannot be taken whole. */
  constructor(limit: number, uploads: UploadBudget, from: string | undefined, onRefused: () => void) {
    this.#limit = limit;
    this.#uploads = uploads;
    this.#from = from;
    this.#onRefused = onRefused;
  }

  push(piece: Uint8Array): void {
    if (this.#refused !== undefined) return;
    this.#pieces.push(piece);
    const { size } = this.#pieces;
    if (size > this.#limit) return this.#refuse("too-large");
    if (this.#pieces.fragmented) return this.#refuse("too-many-pieces");
    if (size <= FREE_BYTES) return;
    this.#upload ??= this.#uploads.begin(this.#from, (why) => this.#refuse(why));
    this.#upload.holds(size);
  }

  /** The body, where that was all of it, or why it was not taken. */
  get outcome(): Uint8Array | BodyRefusal {
    return this.#refused ?? this.#pieces.whole();
  }

  /** Nothing comes any more. */
  end(): void {
    this.#upload?.end();
  }

  #refuse(why: BodyRefusal): void {
    this.#refused = why;
    this.#pieces = new ChunkBuffer();
    this.end();
    this.#onRefused();
  }
}
