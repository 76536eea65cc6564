// One request of a transcript as a transport passes it to the gateway, and the answer. Decisions of transports are not covered.
import type { Answer, Channel, Gateway } from "../../src/core/contract/index.ts";
import type { Frame, StepRequest } from "./fixture.ts";

export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined if there was none. */
  readonly body: string | undefined;
  /** Undefined if the answer was no event stream. */
  readonly frames: readonly Frame[] | undefined;
}

const VERBS = ["POST", "GET", "DELETE"] as const;
const MEDIA: ReadonlySet<string> = new Set(["accept", "content-type"]);
const JSON_HEAD = { "content-type": "application/json" };
const EVENTS_HEAD = { "content-type": "text/event-stream" };

export async function send(gateway: Gateway, { method, headers, body }: StepRequest): Promise<Got> {
  const frames: Frame[] = [];
  let head: Readonly<Record<string, string>> | undefined;
  const disconnect = new AbortController();
  const channel: Channel = {
    ready: true,
    disconnected: disconnect.signal,
    send(text, id, _retryMs, event) {
      const kind = event ?? (text === "" ? undefined : "message");
      frames.push({ data: text, ...(id === undefined ? undefined : { id }), ...(kind === undefined ? undefined : { event: kind }) });
    },
    onReady: () => () => undefined,
    close: () => undefined,
  };
  const verb = VERBS.find((one) => one === method);
  if (verb === undefined) return { status: 405, headers: JSON_HEAD, body: '{"error":"method not allowed"}', frames: undefined };
  const sent = new Map(Object.entries(headers).map(([name, values]) => [name.toLowerCase(), values.join(", ")]));
  const answer = await gateway.exchange({
    verb,
    // A repeated header is a list, as in `Headers`. A transport passes missing media types to the gateway as an empty one.
    header: (name) => sent.get(name) ?? (MEDIA.has(name) ? "" : undefined),
    ...(body === undefined || body.value === "" ? undefined : { body: bytesOf(body) }),
    caller: { scopes: [] },
    stream(more = {}) {
      head ??= { ...EVENTS_HEAD, ...more };
      return channel;
    },
    disconnected: disconnect.signal,
  });
  disconnect.abort();
  const text = textOf(answer);
  // The answer to a request with an open stream is the stream's last event.
  if (head !== undefined && text !== undefined) frames.push({ event: "message", data: text });
  if (head !== undefined) return { status: 200, headers: head, body: undefined, frames };
  return {
    status: answer.status,
    headers: { ...(text === undefined ? undefined : JSON_HEAD), ...answer.headers },
    body: text,
    frames: undefined,
  };
}

const bytesOf = ({ encoding, value }: NonNullable<StepRequest["body"]>): Uint8Array =>
  Buffer.from(value, encoding === "base64" ? "base64" : "utf8");

function textOf({ body }: Answer): string | undefined {
  if (body === undefined || typeof body === "string") return body;
  const parts = body instanceof Uint8Array ? [body] : body;
  return parts.map((part) => (typeof part === "string" ? part : Buffer.from(part).toString())).join("");
}
