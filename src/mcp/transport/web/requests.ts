import { type CancelSignal, Cancellation, type Clock } from "../../../core/contract/index.ts";
import { type BodyRefusal, BodyReader } from "../http-body.ts";
import { HeaderList, headersAsSent, pathOf } from "../http-checks.ts";
import type { RequestHead } from "../http-core.ts";
import type { UploadBudget } from "../budgets.ts";
import type { IncomingMessage, ServerResponse } from "node:http";

/** A whole body, or why there is none. */
type Body = Uint8Array | BodyRefusal | "too-deep" | "unreadable";

/** A request on its way, whichever server took it in. */
export interface WebRequest extends RequestHead {
  /** The path as its client wrote it; undefined if a router may have stripped a prefix. */
  readonly clientPath: string | undefined;
  /** The client, or its server, has given the request up. */
  readonly gone: CancelSignal;
  /** `late` ends the wait. */
  read(limit: number, uploads: UploadBudget, late: AbortSignal): Promise<Body>;
}

export function fromRequest(request: Request): WebRequest {
  const url = new URL(request.url);
  const headers = Array.from(request.headers);
  // A request that was never on a wire names its host in its URL only.
  if (!request.headers.has("host")) headers.push(["host", url.host]);
  return {
    method: request.method,
    url: url.pathname + url.search,
    path: url.pathname,
    clientPath: undefined,
    peer: undefined,
    headers: new HeaderList(Object.fromEntries(headers), headers.flat()),
    gone: request.signal,
    read: (limit, uploads, late) => readStream(request, limit, uploads, late),
  };
}

async function readStream(request: Request, limit: number, uploads: UploadBudget, late: AbortSignal): Promise<Body> {
  // Whoever handed it on has read it.
  if (request.bodyUsed) return "unreadable";
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  late.addEventListener("abort", stop, { once: true });
  const gathering = new BodyReader(limit, uploads, undefined, stop);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return late.aborted ? "unreadable" : gathering.outcome;
      const piece: unknown = value;
      if (!(piece instanceof Uint8Array)) return "unreadable";
      gathering.push(piece);
    }
  } catch {
    return "unreadable";
  } finally {
    late.removeEventListener("abort", stop);
    gathering.end();
  }
}

/** `parsed`: the body as a framework has read it already. Default: what it left in `request.body`. */
export function fromNode(request: IncomingMessage, response: ServerResponse, parsed: unknown): WebRequest {
  const gone = new Cancellation();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  // Express hands its `next` on as a third argument.
  const given = parsed === undefined || typeof parsed === "function" ? left(request) : parsed;
  return {
    method: request.method ?? "GET",
    url: request.url ?? "/",
    path: pathOf(request.url ?? "/"),
    clientPath: pathOf(original(request) ?? request.url ?? "/"),
    headers: headersAsSent(request.rawHeaders),
    peer: request.socket.remoteAddress,
    gone,
    unpacked: given !== undefined,
    read: async (limit, uploads, late) => (given === undefined ? readMessage(request, limit, uploads, late) : bodyOf(given, limit)),
  };
}

/** What Express keeps when it takes a prefix away. */
function original(request: IncomingMessage): string | undefined {
  return "originalUrl" in request && typeof request.originalUrl === "string" ? request.originalUrl : undefined;
}

function left(request: IncomingMessage): unknown {
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

function readMessage(request: IncomingMessage, limit: number, uploads: UploadBudget, late: AbortSignal): Promise<Body> {
  if (request.readableEnded || request.destroyed) return Promise.resolve("unreadable");
  return new Promise((resolve) => {
    const gathering = new BodyReader(limit, uploads, request.socket.remoteAddress, () => told());
    const finish = (body: Body): void => {
      request.off("data", taken);
      late.removeEventListener("abort", lost);
      gathering.end();
      // What still comes is thrown away, so that the client reads its answer.
      request.resume();
      resolve(body);
    };
    const told = (): void => finish(gathering.outcome);
    const taken = (piece: Buffer): void => gathering.push(piece);
    const lost = (): void => finish("unreadable");
    request.on("data", taken);
    request.once("end", told);
    request.once("error", lost);
    request.once("close", lost);
    late.addEventListener("abort", lost, { once: true });
  });
}

/** Writes a web response out, not faster than the client reads it. Never throws: a client that has gone is not told. */
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
      const piece: unknown = value;
      if (piece instanceof Uint8Array && !to.write(piece)) await drained(to);
      if (to.destroyed) return;
    }
    to.off("close", leave);
    to.end();
  } catch {
    to.destroy();
  }
}

/** The last that can be said: 500, or no more where the answer has begun. */
export function giveUpOn(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(500).end();
}

/** Settles when there is room again, or nobody left. */
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

/** Responses of an application's server that are on their way. */
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

  /** Settles when all have ended. A client that does not take its last bytes is not waited for. */
  async flush(clock: Clock, withinMs: number): Promise<void> {
    if (this.#writing.size === 0) return;
    const undo = clock.after(withinMs, () => {
      for (const response of this.#writing.keys()) response.destroy();
    });
    await Promise.all(this.#writing.values());
    undo();
  }
}
