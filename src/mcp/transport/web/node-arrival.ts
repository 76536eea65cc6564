import type { IncomingMessage, ServerResponse } from "node:http";
import { Cancellation } from "../../../core/contract/index.ts";
import { headersAsSent } from "../http-headers.ts";
import { pathOf } from "../http-head.ts";
import type { Inflow } from "../inflow.ts";
import type { Arrival, Body } from "./arrival.ts";
import { Gathering } from "./gathering.ts";

/** `parsed`: the body as a framework has read it already. Default: what it left in `request.body`. */
export function nodeArrival(request: IncomingMessage, response: ServerResponse, parsed: unknown): Arrival {
  const gone = new Cancellation();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  // Express hands its `next` on as a third argument.
  const given = parsed === undefined || typeof parsed === "function" ? left(request) : parsed;
  const peer = request.socket.remoteAddress;
  return {
    method: request.method ?? "GET",
    url: request.url ?? "/",
    asked: pathOf(original(request) ?? request.url ?? "/"),
    headers: headersAsSent(request.rawHeaders),
    ...(peer === undefined ? {} : { peer }),
    gone,
    unpacked: given !== undefined,
    read: async (limit, inflow, late) => (given === undefined ? readMessage(request, limit, inflow, late) : bodyOf(given, limit)),
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

function readMessage(request: IncomingMessage, limit: number, inflow: Inflow, late: AbortSignal): Promise<Body> {
  if (request.readableEnded || request.destroyed) return Promise.resolve("unreadable");
  return new Promise((resolve) => {
    const gathering = new Gathering(limit, inflow, request.socket.remoteAddress, () => told());
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
