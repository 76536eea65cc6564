import { abortSignalOf, type Answer, type Caller } from "../../core/contract/index.ts";
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

/** One event as it stood in the stream. */
export interface EventText {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** Longer events are of a server that went wrong: the test has to end. */
const MOST = 64 * 1_048_576;

/** Events of a stream of server-sent events, by HTML's rules; comments and events without any field are left out. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<EventText, void> {
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    // A break may be cut in two: a carriage return at the end waits for what follows.
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
