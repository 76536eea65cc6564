import type { HttpOptions } from "./mcp-client.ts";
import { reasonOf, shortened } from "./reason-of.ts";

/** The server refused a message for its session, which it does not know any more: nothing came of that message. */
export class SessionForgotten extends Error {
  constructor() {
    super("it has forgotten the session");
  }
}

/**
 * A `fetch` for one server. `maxBytes`: of a whole answer, or of one event of a stream. `lost` is told why nothing
 * more can come of the session: the server is not there, does not know it any more, or says too much. Where a POST
 * finds that it is forgotten, it throws `SessionForgotten`.
 */
export const boundedFetch =
  (maxBytes: number, lost: (reason: string) => void): HttpOptions["fetch"] =>
  async (url, init) => {
    const isOver = (): boolean => init?.signal?.aborted === true;
    let response: Response;
    try {
      response = await fetch(url, init);
    } catch (error) {
      if (!isOver()) lost(reasonOf(error));
      throw error;
    }
    const { body, status, statusText, headers } = response;
    const isPost = init?.method === "POST";
    const hasSession = new Headers(init?.headers).has("mcp-session-id");
    if (status === 404 && hasSession) {
      const forgotten = new SessionForgotten();
      if (!isPost) lost(forgotten.message);
      else {
        await body?.cancel().catch(() => undefined);
        throw forgotten;
      }
    }
    if (body === null) return response;
    const count = counter(maxBytes, /^text\/event-stream\b/i.test(headers.get("content-type") ?? ""));
    const broken = (error: unknown): void => {
      // A call waits for what answers its POST; a stream that was opened by GET is opened again.
      if (error instanceof TooMuch || (isPost && !isOver())) lost(reasonOf(error));
    };
    const answer = new Response(watched(body, count, broken), { status, statusText, headers });
    if (status !== 400 || !hasSession || !isPost) return answer;
    const said = await answer.text();
    if (OF_SESSION.test(said)) lost(`it does not take the session any more: ${shortened(said)}`);
    return new Response(said, { status, statusText, headers });
  };

// The official SDK's examples, and what was made after them, answer 400 where 404 is meant.
const OF_SESSION = /session|not initialized/i;

class TooMuch extends Error {}

/** Throws where more comes than is allowed. */
function counter(maxBytes: number, isStream: boolean): (chunk: Uint8Array) => void {
  let bytes = 0;
  let lineBytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    // An event ends with an empty line.
    if (isStream)
      for (const [at, byte] of chunk.entries()) {
        if (byte === NEWLINE) {
          if (lineBytes === 0) bytes = chunk.length - at - 1;
          lineBytes = 0;
        } else if (byte !== RETURN) lineBytes += 1;
      }
    if (bytes > maxBytes) throw new TooMuch(`it sent more than ${maxBytes} bytes as one message`);
  };
}

const NEWLINE = 10;
const RETURN = 13;

function watched(
  body: ReadableStream<Uint8Array>,
  count: (chunk: Uint8Array) => void,
  broken: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        count(value);
        controller.enqueue(value);
      } catch (error) {
        broken(error);
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
