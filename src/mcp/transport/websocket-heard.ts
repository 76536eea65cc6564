/** A control frame of a client: two bytes, the mask, what it carries. */
const CONTROL_BYTES = 6;

/**
 * What comes from a client that is no whole message: whether it is still there,
 * and whether it lets us hold a message without end. Counted in bytes of its
 * socket, since the library tells of whole messages only.
 */
export class Heard {
  readonly #socket: { readonly bytesRead: number };
  readonly #messageMs: number;
  /** Bytes that belong to whole messages and control frames. */
  #settled: number;
  #begunAt: number | undefined;
  /** Bytes when it was pinged. */
  #pingedAt: number | undefined;

  constructor(socket: { readonly bytesRead: number }, messageMs: number) {
    this.#socket = socket;
    this.#messageMs = messageMs;
    this.#settled = socket.bytesRead;
  }

  /** Of a message that was begun and has not ended; a little less, where one ended and the next began in one read. */
  get coming(): number {
    return this.#socket.bytesRead - this.#settled;
  }

  message(): void {
    this.#settled = this.#socket.bytesRead;
    this.#begunAt = undefined;
  }

  control(length: number): void {
    this.#settled += CONTROL_BYTES + length;
  }

  pinged(): void {
    this.#pingedAt = this.#socket.bytesRead;
  }

  /** Nothing at all came since it was pinged. Asked once for each ping. */
  silent(): boolean {
    const before = this.#pingedAt;
    this.#pingedAt = undefined;
    return before === this.#socket.bytesRead;
  }

  /** A message was begun some time ago and has not ended. */
  dawdles(now: number): boolean {
    if (this.coming <= 0) this.#begunAt = undefined;
    else this.#begunAt ??= now;
    return this.#begunAt !== undefined && now - this.#begunAt >= this.#messageMs;
  }
}
