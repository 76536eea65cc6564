import type { CancelSignal } from "../../../core/contract/index.ts";
import type { BodyRefusal } from "../body-refusal.ts";
import { HeaderList } from "../http-headers.ts";
import type { Inflow } from "../inflow.ts";
import { Gathering } from "./gathering.ts";

/** A whole body, or why there is none. */
export type Body = Uint8Array | BodyRefusal | "too-deep" | "unreadable";

/** A request on its way, whichever server took it in. */
export interface Arrival {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** The path as its client wrote it. Absent where a router may have taken a prefix away. */
  readonly asked?: string;
  readonly headers: HeaderList;
  readonly peer?: string;
  /** The client, or its server, has given the request up. */
  readonly gone: CancelSignal;
  /** The body was read by a framework, which has undone its `Content-Encoding`; the header is still there. */
  readonly unpacked?: boolean;
  /** `late` ends the wait. */
  read(limit: number, inflow: Inflow, late: AbortSignal): Promise<Body>;
}

export function arrivalOf(request: Request): Arrival {
  const url = new URL(request.url);
  const headers = Array.from(request.headers);
  // A request that was never on a wire names its host in its URL only.
  if (!request.headers.has("host")) headers.push(["host", url.host]);
  return {
    method: request.method,
    url: url.pathname + url.search,
    headers: new HeaderList(Object.fromEntries(headers), headers.flat()),
    gone: request.signal,
    read: (limit, inflow, late) => readStream(request, limit, inflow, late),
  };
}

async function readStream(request: Request, limit: number, inflow: Inflow, late: AbortSignal): Promise<Body> {
  // Whoever handed it on has read it.
  if (request.bodyUsed) return "unreadable";
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  late.addEventListener("abort", stop, { once: true });
  const gathering = new Gathering(limit, inflow, undefined, stop);
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
