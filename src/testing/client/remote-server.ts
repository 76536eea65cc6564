import { abortSignalOf, type Answer, type Caller } from "../../core/contract/index.ts";
import { type EventText, readEvents } from "./event-text.ts";
import type { Exchanging, TestExchange } from "./http-call.ts";

/** Options of `remoteServer`. */
export interface RemoteOptions {
  /** What says who calls, for a client of that principal and those scopes: `authorization`, say. Default none. */
  readonly headers?: (caller: Caller) => Readonly<Record<string, string>>;
}

/**
 * A server that runs elsewhere, at the URL of its endpoint, in whatever language: its clock, ids and state are its own. A client that
 * does not read leaves what comes in the socket, so what such a server holds for it is not seen from here.
 *
 * @example
 * ```ts
 * import { remoteServer, TestClient } from "troupe/testing";
 *
 * await using client = new TestClient(remoteServer("http://127.0.0.1:3000/mcp", { headers: () => ({ authorization: "Bearer a-key" }) }));
 * console.log(await client.listTools());
 * ```
 */
export function remoteServer(url: string, { headers = () => ({}) }: RemoteOptions = {}): Exchanging {
  return {
    remote: true,
    async exchange(exchange) {
      const { request, caller, disconnected } = exchange;
      const response = await reached(url, disconnected, {
        method: request.verb,
        headers: { ...headers(caller), ...request.headers },
        ...(request.body === undefined ? undefined : { body: request.body }),
        redirect: "error",
      });
      const said = Object.fromEntries(response.headers);
      if (response.body === null || !said["content-type"]?.startsWith("text/event-stream"))
        return { status: response.status, headers: said, body: await response.text() };
      return passOn(exchange, said, readEvents(response.body));
    },
  };
}

/** Whoever reads `fetch failed` is not told what was not there. */
async function reached(url: string, disconnected: TestExchange["disconnected"], request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...request, signal: abortSignalOf(disconnected) });
  } catch (error) {
    if (disconnected.aborted) throw error;
    const why = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new Error(`No answer from ${url}: ${why || String(error)}. Is the server there, and is that the URL of its endpoint?`, {
      cause: error,
    });
  }
}

async function passOn(
  exchange: TestExchange,
  headers: Readonly<Record<string, string>>,
  events: AsyncIterable<EventText>,
): Promise<Answer> {
  const channel = exchange.stream(headers);
  try {
    for await (const { data, id, event } of events) {
      channel.send(data, id, undefined, event);
      if (!channel.ready && !exchange.disconnected.aborted) await reading(channel);
    }
  } catch (error) {
    if (!exchange.disconnected.aborted) throw error;
  }
  return { status: 200 };
}

function reading(channel: ReturnType<TestExchange["stream"]>): Promise<void> {
  return new Promise((resolve) => {
    channel.onReady(resolve);
    channel.disconnected.addEventListener("abort", () => resolve(), { once: true });
  });
}
