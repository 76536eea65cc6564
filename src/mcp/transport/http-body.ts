import type { Socket } from "node:net";
import type { BodyRefusal } from "./body-refusal.ts";
import { type Arriving, FREE_BYTES, type Inflow } from "./inflow.ts";
import { IncomingMessage } from "./node-http.ts";
import { Pieces } from "./pieces.ts";

const EMPTY = Buffer.alloc(0);
// More than any body; a number that takes no memory of its own.
const MOST = 2 ** 31 - 1;
const NO_HEADERS = Object.freeze({});

type Reader = (body: Uint8Array | BodyRefusal) => void;

/**
 * A request whose body never passes the stream machinery, which costs a tenth of
 * a small request: what the parser pushes is gathered here, up to a limit, and
 * what nobody asks for is dropped. It reads as a stream that has no data.
 */
export class BodyRequest extends IncomingMessage {
  #limit = MOST;
  /** Up to here a body costs no thought. */
  #free = MOST;
  #inflow: Inflow | undefined;
  #arriving: Arriving | undefined;
  #refused: BodyRefusal | undefined;
  #reader: Reader | undefined;
  /** Nearly every body comes in one piece. */
  #first: Buffer | undefined;
  #pieces: Pieces | undefined;
  #size = 0;
  #ended = false;
  #dropping = false;
  #onDropped: ((bytes: number) => void) | undefined;
  #onEnd: (() => void) | undefined;

  constructor(socket: Socket) {
    super(socket);
    // As a reader would: node:http then leaves the rest of the body to us.
    this._read(0);
  }

  /**
   * The body, once it is there; why not, as soon as it is longer than `limit` bytes
   * or has no room; nothing at all when the client leaves before the end.
   */
  readBody(limit: number, inflow: Inflow, reader: Reader): void {
    this.hold(limit, inflow);
    this.#reader = reader;
    if (this.#refused !== undefined) this.#refuse(this.#refused);
    else if (this.#size > this.#free && !this.#fits()) return;
    else if (this.#ended) this.#hand();
  }

  /** What is still to come is thrown away, and counted. */
  throwAway(onDropped?: (bytes: number) => void, onEnd?: () => void): void {
    this.#discard();
    if (this.#ended) return onEnd?.();
    this.#onDropped = onDropped;
    this.#onEnd = onEnd;
  }

  /** Before anybody reads, not more than this is kept. */
  hold(limit: number, inflow: Inflow): void {
    this.#limit = limit;
    this.#free = Math.min(limit, FREE_BYTES);
    this.#inflow = inflow;
  }

  /** Nobody asks any more what it said, while its answer goes on: headers may be long, tokens above all. */
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
      this.#pieces = new Pieces();
      this.#pieces.push(first);
    }
    this.#pieces.push(chunk);
    if (this.#pieces.crumbs) this.#refuse("too-many-pieces");
  }

  /** False: it was refused. */
  #fits(): boolean {
    if (this.#size > this.#limit) {
      this.#refuse("too-large");
      return false;
    }
    this.#arriving ??= this.#arrive();
    return this.#arriving?.holds(this.#size) ?? true;
  }

  #arrive(): Arriving | undefined {
    const arriving = this.#inflow?.begin(this.socket.remoteAddress, (why) => this.#refuse(why));
    // Whatever becomes of it, it ends with this.
    if (arriving !== undefined) this.once("close", () => arriving.end());
    return arriving;
  }

  #end(): void {
    this.#ended = true;
    this.#onEnd?.();
    this.#hand();
  }

  /** The body goes to whoever asked for it. */
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
    this.#arriving?.end();
  }

  #body(): Uint8Array {
    const [first, pieces] = [this.#first, this.#pieces];
    this.#first = this.#pieces = undefined;
    this.#arriving?.end();
    return pieces === undefined ? (first ?? EMPTY) : pieces.whole();
  }
}
