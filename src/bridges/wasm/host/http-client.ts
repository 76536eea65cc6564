/** One request of a guest, to where its manifest allows and no private address is. */
import { request as overHttp, type IncomingMessage } from "node:http";
import { request as overHttps } from "node:https";
import type { Clock } from "../../../core/contract/index.ts";
import type { WitValue } from "../wit.ts";
import type { Given } from "./given.ts";
import { guarded } from "./guarded-lookup.ts";
import type { HttpLimits } from "./http-limits.ts";
import { type Asked, NOT_PASSED, read, SAFE } from "./http-request.ts";
import { ok } from "./values.ts";

export async function sendHttp(
  asked: WitValue,
  allowed: readonly string[],
  limits: HttpLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<Given> {
  const request = read(asked, allowed, limits);
  const lasting = !SAFE.has(request.method);
  try {
    return { result: ok(await exchange(request, limits, clock, signal)), lasting };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { result: { err: `${request.method} ${request.url.origin} failed: ${why}` }, lasting };
  }
}

async function exchange(asked: Asked, limits: HttpLimits, clock: Clock, outer: AbortSignal): Promise<WitValue> {
  const { maxBytes = 4_194_304, timeoutMs = 30_000 } = limits;
  const over = new AbortController();
  const undo = clock.after(timeoutMs, () => over.abort(new Error(`it took longer than ${timeoutMs} ms`)));
  const signal = AbortSignal.any([outer, over.signal]);
  try {
    const response = await answered(asked, limits, signal);
    return await taken(response, maxBytes);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    undo();
    over.abort();
  }
}

// A redirect is given as it is: the guest may ask for its place, and is checked again.
function answered({ method, url, headers, body }: Asked, limits: HttpLimits, signal: AbortSignal): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? overHttps : overHttp;
  return new Promise((resolve, reject) => {
    const length = body === undefined || body.length === 0 ? [] : ["content-length", String(body.length)];
    const sent = request(url, {
      method,
      headers: ["host", url.host, ...headers, ...length],
      lookup: guarded(limits),
      agent: false,
      signal,
      maxHeaderSize: 16_384,
    });
    sent.once("response", (response) => {
      // Whoever reads it is told in another way; an error that nobody hears would end the process.
      response.on("error", () => undefined);
      resolve(response);
    });
    sent.on("error", reject);
    sent.once("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("the server wants another protocol"));
    });
    sent.end(body);
  });
}

async function taken(response: IncomingMessage, maxBytes: number): Promise<WitValue> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response) {
    if (!Buffer.isBuffer(part)) continue;
    length += part.length;
    if (length > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  const headers: string[][] = [];
  const { rawHeaders } = response;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!NOT_PASSED.has(name.toLowerCase())) headers.push([name, rawHeaders[index + 1] ?? ""]);
  }
  return { status: response.statusCode ?? 0, headers, body: new Uint8Array(Buffer.concat(parts)) };
}
