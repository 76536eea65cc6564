// Owns: a server at a URL as one to test, and reading its events. Does not own: the client's end of them (http-call.ts).
import { checkOptions, FUNCTION, abortSignalOf, type Answer, type Caller } from "../../core/contract/index.ts";
import type { Exchanging, TestExchange } from "./http-call.ts";

/** Options of `remoteServer`. */
export interface RemoteOptions {
  /** Headers that authenticate a caller, say `authorization`. Default none. */
  readonly headers?: (caller: Caller) => Readonly<Record<string, string>>;
}

/**
 * A server that runs elsewhere, in any language, by the URL of its endpoint. Its clock, ids and state are its own. If a client stops
 * reading, events wait in the socket, so what the server buffers for it cannot be observed.
 *
 * @example
 * ```ts
 * import { remoteServer, TestClient } from "troupe/testing";
 *
 * await using client = new TestClient(remoteServer("http://127.0.0.1:3000/mcp", { headers: () => ({ authorization: "Bearer a-key" }) }));
 * console.log(await client.listTools());
 * ```
 */
export function remoteServer(url: string, options: RemoteOptions = {}): Exchanging {
  checkOptions("remoteServer", options, { headers: FUNCTION });
  const { headers = () => ({}) } = options;
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
      const received = Object.fromEntries(response.headers);
      if (response.body === null || !received["content-type"]?.startsWith("text/event-stream"))
        return { status: response.status, headers: received, body: await response.text() };
      return passOn(exchange, received, readEvents(response.body));
    },
  };
}

/** Calls `fetch`, whose error `fetch failed` does not name the URL or the cause. */
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

/** One server-sent event. */
interface EventText {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** A longer event is a fault of the server; the test must not buffer it without end. */
const MOST = 64 * 1_048_576;

/** Parses server-sent events by the rules of HTML. Comments and events without fields are omitted. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<EventText, void> {
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    // A line break may be split between chunks: a carriage return at the end waits for the next chunk.
    const text = rest + chunk;
    const whole = text.endsWith("\r") ? text.slice(0, -1) : text;
    const blocks = whole.replaceAll(/\r\n?/g, "\n").split("\n\n");
    rest = (blocks.pop() ?? "") + text.slice(whole.length);
    if (rest.length > MOST) throw new Error(`An event is longer than ${MOST} characters.`);
    for (const block of blocks) {
      const event = eventIn(block);
      if (event !== undefined) yield event;
    }
  }
}

function eventIn(block: string): EventText | undefined {
  const fields = block.split("\n").flatMap((line) => {
    const [, name = "", value = ""] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) ?? [];
    return name === "" ? [] : [[name, value] as const];
  });
  const last = (name: string): string | undefined => fields.findLast(([one]) => one === name)?.[1];
  const [id, event] = [last("id"), last("event")];
  const data = fields.flatMap(([name, value]) => (name === "data" ? [value] : []));
  if (data.length === 0 && id === undefined) return undefined;
  return { ...(id === undefined ? undefined : { id }), ...(event === undefined ? undefined : { event }), data: data.join("\n") };
}
