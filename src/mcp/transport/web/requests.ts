// Owns: web requests and requests of node:http as an application hands them over, and writing web responses to node:http.
// Does not own: what happens to a request (web-handler.ts).
import { type CancelSignal, Cancellation, type Clock } from "../../../core/contract/index.ts";
import { isResumeOnly } from "../../../core/contract/internal.ts";
import { type BodyRefusal, BodyReader } from "../http-bytes.ts";
import { HeaderList, headersAsSent, pathOf } from "../http-checks.ts";
import type { RequestHead } from "../http-core.ts";
import type { UploadBudget } from "../budgets.ts";
import type { IncomingMessage, ServerResponse } from "node:http";

/** A complete body, or why there is none. */
type Body = Uint8Array | BodyRefusal | "too-deep" | "unreadable";

/** A request, whichever kind of server received it. */
export interface WebRequest extends RequestHead {
  /** The path as its client wrote it; undefined if a router may have stripped a prefix. */
  readonly clientPath: string | undefined;
  /** Aborted if the client, or the application's server, abandons the request. */
  readonly disconnected: CancelSignal;
  /** Reads the body until `timeout` is aborted. */
  read(limit: number, uploads: UploadBudget, timeout: AbortSignal): Promise<Body>;
}

export function fromRequest(request: Request): WebRequest {
  const url = new URL(request.url);
  const headers = Array.from(request.headers);
  // A request that was created in this process has its host in the URL only.
  if (!request.headers.has("host")) headers.push(["host", url.host]);
  return {
    method: request.method,
    url: url.pathname + url.search,
    path: url.pathname,
    clientPath: undefined,
    peer: undefined,
    headers: new HeaderList(Object.fromEntries(headers), headers.flat()),
    disconnected: request.signal,
    resumesOnly: isResumeOnly(request),
    read: (limit, uploads, timeout) => readStream(request, limit, uploads, timeout),
  };
}

async function readStream(request: Request, limit: number, uploads: UploadBudget, timeout: AbortSignal): Promise<Body> {
  // The application has read it already.
  if (request.bodyUsed) return "unreadable";
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  timeout.addEventListener("abort", stop, { once: true });
  const body = new BodyReader(limit, uploads, undefined, stop);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return timeout.aborted ? "unreadable" : body.outcome;
      const chunk: unknown = value;
      if (!(chunk instanceof Uint8Array)) return "unreadable";
      body.push(chunk);
    }
  } catch {
    return "unreadable";
  } finally {
    timeout.removeEventListener("abort", stop);
    body.end();
  }
}

/** `parsed`: the body as a framework has parsed it. Default: `request.body`, where a framework may have put it. */
export function fromNode(request: IncomingMessage, response: ServerResponse, parsed: unknown): WebRequest {
  const disconnected = new Cancellation();
  response.once("close", () => {
    if (!response.writableFinished) disconnected.abort();
  });
  // Express passes its `next` function as the third argument.
  const body = parsed === undefined || typeof parsed === "function" ? parsedBody(request) : parsed;
  return {
    method: request.method ?? "GET",
    url: request.url ?? "/",
    path: pathOf(request.url ?? "/"),
    clientPath: pathOf(original(request) ?? request.url ?? "/"),
    headers: headersAsSent(request.rawHeaders),
    peer: request.socket.remoteAddress,
    disconnected,
    unpacked: body !== undefined,
    read: async (limit, uploads, timeout) => (body === undefined ? readMessage(request, limit, uploads, timeout) : bodyOf(body, limit)),
  };
}

/** The URL before Express stripped a prefix. */
function original(request: IncomingMessage): string | undefined {
  return "originalUrl" in request && typeof request.originalUrl === "string" ? request.originalUrl : undefined;
}

function parsedBody(request: IncomingMessage): unknown {
  return "body" in request ? request.body : undefined;
}

function bodyOf(given: unknown, limit: number): Body {
  try {
    const bytes = given instanceof Uint8Array ? given : new TextEncoder().encode(typeof given === "string" ? given : JSON.stringify(given));
    return bytes.byteLength > limit ? "too-large" : bytes;
  } catch {
    return "too-deep";
  }
}

function readMessage(request: IncomingMessage, limit: number, uploads: UploadBudget, timeout: AbortSignal): Promise<Body> {
  if (request.readableEnded || request.destroyed) return Promise.resolve("unreadable");
  return new Promise((resolve) => {
    const reader = new BodyReader(limit, uploads, request.socket.remoteAddress, () => onEnd());
    const finish = (body: Body): void => {
      request.off("data", onData);
      timeout.removeEventListener("abort", onLost);
      reader.end();
      // The rest is discarded, so that the client can read its answer.
      request.resume();
      resolve(body);
    };
    const onEnd = (): void => finish(reader.outcome);
    const onData = (chunk: Buffer): void => reader.push(chunk);
    const onLost = (): void => finish("unreadable");
    request.on("data", onData);
    request.once("end", onEnd);
    request.once("error", onLost);
    request.once("close", onLost);
    timeout.addEventListener("abort", onLost, { once: true });
  });
}

/** Writes a web response with back-pressure. Never throws, even if the client has disconnected. */
export async function writeOut(from: Response, to: ServerResponse): Promise<void> {
  if (to.destroyed || to.headersSent) return void from.body?.cancel().catch(() => undefined);
  for (const [name, value] of from.headers) to.setHeader(name, value);
  to.writeHead(from.status);
  if (from.body === null) return void to.end();
  const reader = from.body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  to.once("close", leave);
  to.flushHeaders();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const chunk: unknown = value;
      if (chunk instanceof Uint8Array && !to.write(chunk)) await drained(to);
      if (to.destroyed) return;
    }
    to.off("close", leave);
    to.end();
  } catch {
    to.destroy();
  }
}

/** Answers 500, or cuts the response off if it has started. */
export function giveUpOn(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(500).end();
}

/** Settles when the response can take more data, or is closed. */
function drained(to: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      to.off("drain", done);
      to.off("close", done);
      resolve();
    };
    to.on("drain", done);
    to.on("close", done);
    if (to.destroyed) done();
  });
}

/** Responses that are being written to an application's server. */
export class PendingWrites {
  readonly #writing = new Map<ServerResponse, Promise<void>>();

  async during(response: ServerResponse, writing: Promise<void>): Promise<void> {
    this.#writing.set(response, writing);
    try {
      await writing;
    } finally {
      this.#writing.delete(response);
    }
  }

  /** Settles when all have ended. Clients that do not read within `withinMs` are cut off. */
  async flush(clock: Clock, withinMs: number): Promise<void> {
    if (this.#writing.size === 0) return;
    const undo = clock.after(withinMs, () => {
      for (const response of this.#writing.keys()) response.destroy();
    });
    await Promise.all(this.#writing.values());
    undo();
  }
}
