// MCP over HTTP for a judge, whose every message goes in a packet to one server, and as it is to another of the same kind.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { at, type JsonObject, isJsonObject } from "../wire.ts";
import { onLoopback } from "../on-loopback.ts";

/** What two servers answered the same request. */
export interface Pair {
  readonly method: string;
  readonly message: JsonObject;
  /** Undefined: the packet was answered with a `capability_error`. */
  readonly tunnelled: unknown;
  /** Undefined: it did not answer, but asked its client first. */
  readonly direct: unknown;
}

export interface McpOverPackets extends AsyncDisposable {
  readonly url: string;
  readonly pairs: readonly Pair[];
}

interface Places {
  /** Where packets are taken. */
  readonly packets: string;
  /** Another server's MCP endpoint. */
  readonly mcp: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The statuses are the other server's: HTTP is no packet's. */
export const mcpOverPackets = async (places: Places): Promise<McpOverPackets> => {
  const pairs: Pair[] = [];
  const bridge = new Bridge(places, pairs);
  const server = createServer((request, response) => {
    bridge.handle(request, response).catch((error: unknown) => void response.writeHead(502).end(String(error)));
  });
  const loopback = await onLoopback(server);
  return {
    url: `${loopback.url}/mcp`,
    pairs,
    [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose](),
  };
};

class Bridge {
  readonly #places: Places;
  readonly #pairs: Pair[];
  /** By the session's name here: its name there. */
  readonly #sessions = new Map<string, string>();
  /** By what one server signed: what the other did. */
  readonly #states = new Map<string, string>();

  constructor(places: Places, pairs: Pair[]) {
    this.#places = places;
    this.#pairs = pairs;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const message = request.method === "POST" ? parsed(await bodyOf(request)) : undefined;
    if (!isJsonObject(message)) return void response.writeHead(request.method === "POST" ? 400 : 405).end();
    const method = String(message["method"]);
    const session = method === "initialize" ? randomUUID() : oneOf(request.headers["mcp-session-id"]);
    const packet = await this.#packet(message, session);
    const direct = await this.#direct(message, session, request);
    if (!("id" in message) || !("method" in message)) return void response.writeHead(202).end();
    const tunnelled = at(packet, "payload", "mcp_message");
    this.#learn(tunnelled, direct.answer);
    this.#pairs.push({ method, message, tunnelled, direct: direct.answer });
    const answer = tunnelled ?? { jsonrpc: "2.0", id: message["id"], error: { code: -32_603, message: JSON.stringify(packet) } };
    response
      .writeHead(direct.answer === undefined ? 200 : direct.status, {
        "content-type": "application/json",
        ...(method === "initialize" && session !== undefined && { "mcp-session-id": session }),
      })
      .end(JSON.stringify(answer));
  }

  async #packet(message: JsonObject, session: string | undefined): Promise<unknown> {
    const { packets, headers } = this.#places;
    const context = session === undefined ? {} : { session_id: session };
    const response = await fetch(packets, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({
        version: "1.0",
        type: "mcp_request",
        capability_id: "mcp_bridge",
        payload: { mcp_message: message },
        context,
      }),
    });
    return parsed(await response.text());
  }

  async #direct(
    message: JsonObject,
    session: string | undefined,
    { headers }: IncomingMessage,
  ): Promise<{ status: number; answer: unknown }> {
    const theirs = session === undefined ? undefined : this.#sessions.get(session);
    const own = Object.entries(headers).flatMap(([name, value]) =>
      (name.startsWith("mcp-") && name !== "mcp-session-id") || name === "accept" || name === "content-type"
        ? [[name, oneOf(value) ?? ""]]
        : [],
    );
    const leave = new AbortController();
    const response = await fetch(this.#places.mcp, {
      method: "POST",
      headers: { ...this.#places.headers, ...Object.fromEntries(own), ...(theirs !== undefined && { "mcp-session-id": theirs }) },
      body: this.#translated(JSON.stringify(message)),
      signal: leave.signal,
    });
    const id = response.headers.get("mcp-session-id");
    if (session !== undefined && id !== null) this.#sessions.set(session, id);
    const answer = (response.headers.get("content-type") ?? "").startsWith("text/event-stream")
      ? await answerIn(response, message["id"], leave)
      : parsed(await response.text());
    return { status: response.status, answer };
  }

  #learn(tunnelled: unknown, direct: unknown): void {
    const [ours, theirs] = [tunnelled, direct].map((answer) => at(answer, "result", "requestState"));
    if (typeof ours === "string" && typeof theirs === "string") this.#states.set(ours, theirs);
  }

  #translated(text: string): string {
    let said = text;
    for (const [ours, theirs] of this.#states) said = said.replaceAll(JSON.stringify(ours), JSON.stringify(theirs));
    return said;
  }
}

const oneOf = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Undefined: its client is asked something first, or the stream never ends. */
const answerIn = async (response: Response, id: unknown, leave: AbortController): Promise<unknown> => {
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const messages = text
      .split("\n")
      .slice(0, -1)
      .flatMap((line) => (line.startsWith("data:") ? [parsed(line.slice(5))] : []))
      .filter(isJsonObject);
    const answer = messages.find((message) => message["id"] === id && !("method" in message));
    const asks = messages.some((message) => "method" in message && ("id" in message || String(message["method"]).endsWith("acknowledged")));
    if (answer === undefined && !asks) continue;
    leave.abort();
    return answer;
  }
  return undefined;
};
