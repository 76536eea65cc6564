// Owns: the in-memory connection to a mounted server: ids, responses, and during which request a message was sent.
// Does not own: what messages mean (mounted-server.ts).
import { AsyncLocalStorage } from "node:async_hooks";
import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import { Closed, RpcError, TooLong } from "./failures.ts";
import type { SdkTransport } from "./options.ts";

/** Handles the server's requests and notifications. `within`: the request during which it was sent; undefined: none. */
export interface WireListener {
  request(id: number | string, method: string, params: JsonObject, within: number | undefined): void;
  notification(method: string, params: JsonObject, within: number | undefined): void;
  /** Called once. */
  closed(): void;
  /** An invalid message, or an unexpected response. */
  fault(error: unknown): void;
}

interface PendingRequest {
  resolve(result: JsonObject): void;
  reject(error: unknown): void;
}

// `server.elicitInput()` does not say for which request it asks, so the request is tracked with async context.
const context = new AsyncLocalStorage<{ readonly wire: Wire; readonly id: number }>();

/** Both ends of an in-memory transport. Messages are copied as JSON, so no object is shared. */
export class Wire implements SdkTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: object, extra?: object) => void) | undefined;
  sessionId?: string | undefined;
  readonly #listener: WireListener;
  readonly #maxLength: number;
  readonly #pending = new Map<number, PendingRequest>();
  // From 1, since v1 ignores the cancellation of request 0.
  #next = 1;
  #closed = false;

  constructor(listener: WireListener, maxLength: number) {
    this.#listener = listener;
    this.#maxLength = maxLength;
  }

  get closed(): boolean {
    return this.#closed;
  }

  async start(): Promise<void> {}

  /** Called by the server. Rejects a message that is not JSON or too long, and fails the request that it answers. */
  async send(message: object, options?: object): Promise<void> {
    if (this.#closed) throw new Closed("The transport is closed.");
    let copy: Json;
    try {
      copy = plain(message, this.#maxLength);
    } catch (error) {
      this.#listener.fault(error);
      const id: unknown = "id" in message ? message.id : undefined;
      if (!("method" in message) && typeof id === "number") this.#take(id)?.reject(error);
      throw error;
    }
    this.#receive(copy, relatedIn(options));
  }

  /** Called by either end: fails all pending requests. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    try {
      this.onclose?.();
    } catch (error) {
      this.#listener.fault(error);
    }
    for (const one of pending) one.reject(new Closed("The server has closed."));
    this.#listener.closed();
  }

  /** The result rejects with `RpcError`, `Closed`, or the error of an invalid response. The id is for `cancel`. */
  request(
    method: string,
    params: (id: number) => JsonObject,
    extra: object,
  ): { readonly id: number; readonly result: Promise<JsonObject> } {
    const id = this.#next;
    this.#next += 1;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    this.#pending.set(id, { resolve, reject });
    try {
      this.#deliver({ jsonrpc: "2.0", id, method, params: params(id) }, extra, id);
    } catch (error) {
      this.#pending.delete(id);
      reject(error);
    }
    return { id, result: promise };
  }

  /** A later response is ignored. */
  cancel(id: number, reason: string): void {
    if (!this.#pending.delete(id)) return;
    this.notify("notifications/cancelled", { requestId: id, reason });
  }

  notify(method: string, params: JsonObject): void {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  respond(id: number | string, answer: { readonly result: Json } | { readonly error: JsonObject }): void {
    this.#send({ jsonrpc: "2.0", id, ...answer });
  }

  #send(message: JsonObject): void {
    try {
      this.#deliver(message, {}, undefined);
    } catch (error) {
      this.#listener.fault(error);
    }
  }

  #deliver(message: JsonObject, extra: object, id: number | undefined): void {
    if (this.#closed) throw new Closed("The server has closed.");
    const copy: object = JSON.parse(JSON.stringify(message));
    const run = (): void => this.onmessage?.(copy, extra);
    // Responses continue in the context that the SDK has retained for them.
    if (id === undefined) context.exit(run);
    else context.run({ wire: this, id }, run);
  }

  #receive(message: Json, related: number | undefined): void {
    if (!isJsonObject(message)) return this.#listener.fault(new Error("The server sent something that is not a message."));
    const { id, method } = message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    const followed = context.getStore();
    const within = related ?? (followed?.wire === this ? followed.id : undefined);
    if (typeof method === "string") {
      if (typeof id === "number" || typeof id === "string") this.#listener.request(id, method, params, within);
      else this.#listener.notification(method, params, within);
      return;
    }
    const pending = typeof id === "number" ? this.#take(id) : undefined;
    // A second response, or one to a cancelled request.
    if (pending === undefined) return this.#listener.fault(new Error("The server answered a request that is not pending."));
    const { error, result } = message;
    if (isJsonObject(result)) pending.resolve(result);
    else if (isJsonObject(error)) pending.reject(errorIn(error));
    else pending.reject(new Error("The server answered with neither a result nor an error."));
  }

  #take(id: number): PendingRequest | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }
}

function plain(message: object, maxLength: number): Json {
  const text = JSON.stringify(message);
  if (text === undefined) throw new Error("The server sent something that is not a message.");
  if (text.length > maxLength) throw new TooLong(maxLength);
  const copy: Json = JSON.parse(text);
  return copy;
}

function relatedIn(options: object | undefined): number | undefined {
  if (options === undefined || options === null || !("relatedRequestId" in options)) return undefined;
  return typeof options.relatedRequestId === "number" ? options.relatedRequestId : undefined;
}

function errorIn({ code, message, data }: JsonObject): RpcError {
  const text = typeof message === "string" ? message : "The server failed.";
  return new RpcError(typeof code === "number" ? code : 0, text, data);
}
