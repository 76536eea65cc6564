// Owns: the bytes of HTTP: bodies of requests, gathered within their limits, and answers as node:http and a bare socket write them.
// Does not own: the budget that all bodies share (budgets.ts), what is answered, web responses (web/web-handler.ts).
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Answer, Clock } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import { refusal } from "../gateway/index.ts";
import { FREE_BYTES, NO_ROOM, type NoRoom, type Upload, type UploadBudget } from "./budgets.ts";

// Not imported: an import statement evaluates every export of the built-in module, among them a WebSocket client and fetch,
// an eighth of the start-up time of a server with all transports.
const http = process.getBuiltinModule("node:http");
export const { createServer } = http;

// This many chunks at the end are joined into one.
const JOIN_COUNT = 256;
// Below this many chunks their size does not matter.
const CHUNKS_MIN = 4_096;
const AVERAGE_BYTES_MIN = 16;

/** Collects chunks of any size. Each chunk is an object, so a body sent byte by byte would take 400 times its size: chunks are joined as they come. */
export class ChunkBuffer {
  readonly #chunks: Uint8Array[] = [];
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

  push(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    this.#count += 1;
    this.#chunks.push(chunk);
    this.#loose += 1;
    if (this.#loose < JOIN_COUNT) return;
    this.#chunks.push(joined(this.#chunks.splice(-JOIN_COUNT)));
    this.#loose = 0;
  }

  /** All chunks joined; a single chunk is not copied. */
  whole(): Uint8Array {
    const [only] = this.#chunks;
    return only !== undefined && this.#chunks.length === 1 ? only : joined(this.#chunks);
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
const NO_HEADERS = Object.freeze({});

/** Gathers one body that comes in chunks: refuses it once it is too long, too fragmented, or evicted from the upload budget. */
export class BodyReader {
  readonly #limit: number;
  readonly #uploads: UploadBudget;
  readonly #peer: string | undefined;
  readonly #onRefused: (why: BodyRefusal) => void;
  #chunks = new ChunkBuffer();
  #upload: Upload | undefined;
  #refused: BodyRefusal | undefined;

  /** `peer`: the client's address, if it is known. `onRefused` is called at most once. */
  constructor(limit: number, uploads: UploadBudget, peer: string | undefined, onRefused: (why: BodyRefusal) => void) {
    this.#limit = limit;
    this.#uploads = uploads;
    this.#peer = peer;
    this.#onRefused = onRefused;
  }

  push(chunk: Uint8Array): void {
    if (this.#refused !== undefined) return;
    this.#chunks.push(chunk);
    const { size } = this.#chunks;
    if (size > this.#limit) return this.#refuse("too-large");
    if (this.#chunks.fragmented) return this.#refuse("too-many-pieces");
    if (size <= FREE_BYTES) return;
    this.#upload ??= this.#uploads.begin(this.#peer, (why) => this.#refuse(why));
    this.#upload.holds(size);
  }

  get refused(): BodyRefusal | undefined {
    return this.#refused;
  }

  /** The body as received so far, or why it was refused. */
  get outcome(): Uint8Array | BodyRefusal {
    return this.#refused ?? this.#chunks.whole();
  }

  /** No more chunks will come: releases the room of the upload. Idempotent. */
  end(): void {
    this.#upload?.end();
  }

  #refuse(why: BodyRefusal): void {
    this.#refused = why;
    this.#chunks = new ChunkBuffer();
    this.end();
    this.#onRefused(why);
  }
}

type OnBody = (body: Uint8Array | BodyRefusal) => void;

/**
 * A request whose body bypasses Readable, which costs a tenth of a small request. Chunks of the parser are gathered from `hold` on,
 * and dropped before it and after `throwAway`. As a stream it has no data.
 */
export class BodyRequest extends http.IncomingMessage {
  #limit = 0;
  #uploads: UploadBudget | undefined;
  /** Nearly every body is one small chunk. */
  #only: Buffer | undefined;
  /** Made for a second chunk, or for a large first one. */
  #reader: BodyReader | undefined;
  #onBody: OnBody | undefined;
  #ended = false;
  #onDropped: ((bytes: number) => void) | undefined;
  #onEnd: (() => void) | undefined;

  constructor(socket: Socket) {
    super(socket);
    // Marks the request as being read, so that node:http does not discard the body.
    this._read(0);
  }

  /** Gathers the body within these limits, from now on. */
  hold(limit: number, uploads: UploadBudget): void {
    this.#limit = limit;
    this.#uploads = uploads;
  }

  /** Calls `onBody` once, with the body or with why it was refused; never if the client leaves first. */
  readBody(onBody: OnBody): void {
    const refused = this.#reader?.refused;
    if (refused !== undefined) return onBody(refused);
    this.#onBody = onBody;
    if (this.#ended) this.#hand();
  }

  /** Discards the rest of the body, and counts it. */
  throwAway(onDropped?: (bytes: number) => void, onEnd?: () => void): void {
    this.#discard();
    if (this.#ended) return onEnd?.();
    this.#onDropped = onDropped;
    this.#onEnd = onEnd;
  }

  /** Frees the headers while a stream goes on: they may be long, tokens above all. */
  forget(): void {
    this.rawHeaders = [];
    this.headers = NO_HEADERS;
  }

  override push(chunk: Buffer | null): boolean {
    if (chunk === null) this.#end();
    else if (this.#uploads === undefined) this.#onDropped?.(chunk.length);
    else if (this.#reader === undefined && this.#only === undefined && chunk.length <= Math.min(this.#limit, FREE_BYTES))
      this.#only = chunk;
    else this.#more(chunk, this.#uploads);
    return true;
  }

  #more(chunk: Buffer, uploads: UploadBudget): void {
    const reader = (this.#reader ??= this.#gather(uploads));
    if (this.#only !== undefined) reader.push(this.#only);
    this.#only = undefined;
    reader.push(chunk);
  }

  #gather(uploads: UploadBudget): BodyReader {
    const reader = new BodyReader(this.#limit, uploads, this.socket.remoteAddress, (why) => {
      const onBody = this.#onBody;
      this.#discard();
      onBody?.(why);
    });
    this.once("close", () => reader.end());
    return reader;
  }

  #end(): void {
    this.#ended = true;
    this.#onEnd?.();
    this.#hand();
  }

  #hand(): void {
    const [onBody, only, reader] = [this.#onBody, this.#only, this.#reader];
    if (onBody === undefined) return;
    this.#onBody = this.#only = this.#reader = undefined;
    reader?.end();
    onBody(reader?.outcome ?? only ?? EMPTY);
  }

  #discard(): void {
    this.#uploads = this.#onBody = this.#only = undefined;
    this.#reader?.end();
    // A refusal is reported by `readBody`.
    if (this.#reader?.refused === undefined) this.#reader = undefined;
  }
}

const decoder = new TextDecoder();

/** An answer's body as one text, as the last message of a stream. */
export function textOf(body: NonNullable<Answer["body"]>): string {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return decoder.decode(body);
  return body.map((piece) => textOf(piece)).join("");
}

const JSON_TYPE = "application/json";

const written = (piece: string | Uint8Array): string | Uint8Array => (typeof piece === "string" ? wellFormed(piece) : piece);

function lengthOf(piece: string | Uint8Array): number {
  return typeof piece === "string" ? Buffer.byteLength(piece) : piece.byteLength;
}

function writtenBody({ body }: Answer): Answer["body"] {
  if (body === undefined) return undefined;
  return typeof body === "string" || body instanceof Uint8Array ? written(body) : body.map(written);
}

/** Writes a complete answer. The parts of a body are written as they are, since they may be cached. */
export function writeAnswer(response: ServerResponse, answer: Answer): void {
  const { headers } = answer;
  const body = writtenBody(answer);
  const head: string[] = [];
  if (body !== undefined && headers?.["content-type"] === undefined) head.push("content-type", JSON_TYPE);
  for (const name in headers) head.push(name, headers[name] ?? "");
  if (body === undefined) {
    if (answer.status !== 204) head.push("content-length", "0");
    response.writeHead(answer.status, head);
    response.end();
  } else if (typeof body === "string" || body instanceof Uint8Array) {
    head.push("content-length", String(lengthOf(body)));
    response.writeHead(answer.status, head);
    response.end(body);
  } else {
    let size = 0;
    for (const piece of body) size += lengthOf(piece);
    head.push("content-length", String(size));
    response.writeHead(answer.status, head);
    response.cork();
    const last = body.length - 1;
    for (let at = 0; at < last; at += 1) response.write(body[at] ?? "");
    // `end()` without data would write an empty chunk more.
    response.end(body[last]);
  }
}

/** An answer as text for a bare socket; the connection ends with it. */
export function lastAnswer({ status, headers, body }: Answer): string {
  const text = typeof body === "string" ? wellFormed(body) : "";
  const all = { "content-type": JSON_TYPE, "content-length": String(lengthOf(text)), ...headers, connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n${text}`;
}

const LINGER_MS = 1_000;
const LINGER_BYTES = 16 * 1_048_576;
// The least a chunk counts: even a small one costs a call.
const LINGER_PIECE_BYTES = 1_024;

/**
 * Refuses an upload that is still being sent. Closing a socket with unread bytes resets it, and the client would lose the answer, so
 * the rest is read and discarded for a moment first.
 */
export function refuseUpload(request: BodyRequest, response: ServerResponse, answer: Answer, clock: Clock): void {
  const body = typeof answer.body === "string" ? wellFormed(answer.body) : "";
  const headers = { "content-type": JSON_TYPE, "content-length": Buffer.byteLength(body), ...answer.headers, connection: "close" };
  response.writeHead(answer.status, headers);
  response.write(body);
  let thrownAway = 0;
  let over = false;
  const finish = (): void => {
    if (over) return;
    over = true;
    undo();
    response.end();
  };
  const undo = clock.after(LINGER_MS, finish);
  request.throwAway((bytes) => {
    thrownAway += Math.max(bytes, LINGER_PIECE_BYTES);
    if (thrownAway > LINGER_BYTES) finish();
  }, finish);
  response.once("close", finish);
}
