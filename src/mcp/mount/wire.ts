import { AsyncLocalStorage } from "node:async_hooks";
import { type Bag, isBag, type Json } from "../../core/contract/index.ts";
import { Closed, RpcError, TooLong } from "./failures.ts";
import type { SdkTransport } from "./options.ts";

/** Who hears what a server says that is no answer. `within`: the request in whose course it was said; undefined: in none's. */
export interface WireEars {
  request(id: number | string, method: string, params: Bag, within: number | undefined): void;
  notification(method: string, params: Bag, within: number | undefined): void;
  /** Once. */
  closed(): void;
  /** What is no message, or nobody's answer. */
  fault(error: unknown): void;
}

interface Waiting {
  resolve(result: Bag): void;
  reject(error: unknown): void;
}

// `server.elicitInput()` does not say in whose course it asks: what runs on behalf of a request is followed.
const course = new AsyncLocalStorage<{ readonly wire: Wire; readonly id: number }>();

/** The client's end of an in-memory transport, and the server's. What passes is copied as JSON: neither holds the other's objects. */
export class Wire implements SdkTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: object, extra?: object) => void) | undefined;
  sessionId?: string | undefined;
  readonly #ears: WireEars;
  readonly #maxLength: number;
  readonly #waiting = new Map<number, Waiting>();
  // From 1: v1 takes a cancelled request 0 for none.
  #next = 1;
  #closed = false;

  constructor(ears: WireEars, maxLength: number) {
    this.#ears = ears;
    this.#maxLength = maxLength;
  }

  get closed(): boolean {
    return this.#closed;
  }

  async start(): Promise<void> {}

  /** From the server. Rejects what is no JSON, or too long, and fails the request that it would have answered. */
  async send(message: object, options?: object): Promise<void> {
    if (this.#closed) throw new Closed("The transport is closed.");
    let copy: Json;
    try {
      copy = plain(message, this.#maxLength);
    } catch (error) {
      this.#ears.fault(error);
      const id: unknown = "id" in message ? message.id : undefined;
      if (!("method" in message) && typeof id === "number") this.#take(id)?.reject(error);
      throw error;
    }
    this.#receive(copy, relatedIn(options));
  }

  /** By the server, or by us: whatever waits is over. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    try {
      this.onclose?.();
    } catch (error) {
      this.#ears.fault(error);
    }
    for (const one of waiting) one.reject(new Closed("The server has closed."));
    this.#ears.closed();
  }

  /** Rejects with `RpcError`, `Closed`, or what the answer broke. Returns the request's id, too: what cancels it. */
  request(method: string, params: (id: number) => Bag, extra: object): { readonly id: number; readonly result: Promise<Bag> } {
    const id = this.#next;
    this.#next += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Bag>();
    this.#waiting.set(id, { resolve, reject });
    try {
      this.#deliver({ jsonrpc: "2.0", id, method, params: params(id) }, extra, id);
    } catch (error) {
      this.#waiting.delete(id);
      reject(error);
    }
    return { id, result: promise };
  }

  /** Whatever it still answers is nobody's. */
  cancel(id: number, reason: string): void {
    if (!this.#waiting.delete(id)) return;
    this.notify("notifications/cancelled", { requestId: id, reason });
  }

  notify(method: string, params: Bag): void {
    this.#tell({ jsonrpc: "2.0", method, params });
  }

  respond(id: number | string, answer: { readonly result: Json } | { readonly error: Bag }): void {
    this.#tell({ jsonrpc: "2.0", id, ...answer });
  }

  #tell(message: Bag): void {
    try {
      this.#deliver(message, {}, undefined);
    } catch (error) {
      this.#ears.fault(error);
    }
  }

  #deliver(message: Bag, extra: object, id: number | undefined): void {
    if (this.#closed) throw new Closed("The server has closed.");
    const copy: object = JSON.parse(JSON.stringify(message));
    const run = (): void => this.onmessage?.(copy, extra);
    // An answer goes on with what asked, in the course the SDK itself kept for it.
    if (id === undefined) course.exit(run);
    else course.run({ wire: this, id }, run);
  }

  #receive(message: Json, related: number | undefined): void {
    if (!isBag(message)) return this.#ears.fault(new Error("The server sent what is no message."));
    const { id, method } = message;
    const params = isBag(message["params"]) ? message["params"] : {};
    const followed = course.getStore();
    const within = related ?? (followed?.wire === this ? followed.id : undefined);
    if (typeof method === "string") {
      if (typeof id === "number" || typeof id === "string") this.#ears.request(id, method, params, within);
      else this.#ears.notification(method, params, within);
      return;
    }
    const waiting = typeof id === "number" ? this.#take(id) : undefined;
    // A second answer, or one to what was cancelled.
    if (waiting === undefined) return this.#ears.fault(new Error("The server answered what nobody waits for."));
    const { error, result } = message;
    if (isBag(result)) waiting.resolve(result);
    else if (isBag(error)) waiting.reject(errorIn(error));
    else waiting.reject(new Error("The server answered with neither a result nor an error."));
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}

function plain(message: object, maxLength: number): Json {
  const text = JSON.stringify(message);
  if (text === undefined) throw new Error("The server sent what is no message.");
  if (text.length > maxLength) throw new TooLong(maxLength);
  const copy: Json = JSON.parse(text);
  return copy;
}

function relatedIn(options: object | undefined): number | undefined {
  if (options === undefined || options === null || !("relatedRequestId" in options)) return undefined;
  return typeof options.relatedRequestId === "number" ? options.relatedRequestId : undefined;
}

function errorIn({ code, message, data }: Bag): RpcError {
  const said = typeof message === "string" ? message : "The server failed.";
  return new RpcError(typeof code === "number" ? code : 0, said, data);
}
