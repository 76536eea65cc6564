// Owns: the deprecated HTTP+SSE transport. Does not own: its routes (http-routes.ts), the bytes of streams.
import type { Answer, CancelSignal, Channel, Connection, Entropy, Exchange, Gateway } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";

/** The address of a request, as its client wrote it. */
export interface SseAddress {
  /** Absent if a router may have stripped a prefix. */
  readonly path: string | undefined;
  /** Without the question mark. */
  readonly query: string;
}

interface Pair {
  readonly principal: string | undefined;
  readonly connection: Connection;
  readonly channel: Channel;
}

const SESSION = "sessionId";
const ACCEPTED: Answer = Object.freeze({ status: 202 });

async function end({ connection, channel }: Pair): Promise<void> {
  await connection.close();
  channel.close();
}

/**
 * HTTP+SSE of 2024-11-05, which 2025-03-26 deprecates: a GET opens a stream to the client, and its first event names the address for
 * POSTs. Both together are one ordered connection to the gateway, which ends with the stream.
 */
export class HttpSse {
  readonly #gateway: Gateway;
  readonly #entropy: Entropy;
  readonly #pairs = new Map<string, Pair>();
  #closing = false;

  constructor(gateway: Gateway, entropy: Entropy) {
    this.#gateway = gateway;
    this.#entropy = entropy;
  }

  answer(exchange: Exchange, address: SseAddress): Answer {
    if (this.#closing) return refusal("UNAVAILABLE", "The server is closing: try again elsewhere or later.");
    return exchange.verb === "POST" ? this.#post(exchange, address) : this.#open(exchange, address);
  }

  /** Ends each stream once the requests on it have been answered. */
  async drain(): Promise<void> {
    this.#closing = true;
    await Promise.all(Array.from(this.#pairs.values(), end));
    this.#pairs.clear();
  }

  #open(exchange: Exchange, address: SseAddress): Answer {
    const { caller } = exchange;
    const stream = exchange.stream();
    if (stream.disconnected.aborted) return { status: 200 };
    const id = this.#entropy.hex(16);
    stream.send(endpoint(address, id), undefined, undefined, "endpoint");
    const channel = new Messages(stream);
    const connection = this.#gateway.connect(channel, caller);
    this.#pairs.set(id, { principal: caller.principal, connection, channel });
    stream.disconnected.addEventListener("abort", () => void this.#pairs.delete(id), { once: true });
    return { status: 200, open: true };
  }

  #post(exchange: Exchange, { query }: SseAddress): Answer {
    const id = new URLSearchParams(query).get(SESSION);
    // Clients that try the newer transport first open a stream only after 404 or 405.
    if (id === null)
      return refusal("VERB", "POST to the address that the stream's endpoint event has: open one with GET.", { allow: "GET" });
    const pair = this.#pairs.get(id);
    // Another caller's session is answered like an unknown one.
    if (pair === undefined || pair.principal !== exchange.caller.principal)
      return refusal("SESSION_UNKNOWN", "There is no stream of that session: open one with GET, and initialize again.");
    if (exchange.body === undefined || exchange.body.byteLength === 0) return refusal("INVALID_REQUEST", "Send a JSON-RPC message.");
    pair.connection.receive(exchange.body, exchange.caller);
    return ACCEPTED;
  }
}

/** The address for POSTs, relative to that of the stream. */
function endpoint({ path, query }: SseAddress, id: string): string {
  const parameters = new URLSearchParams(query);
  parameters.set(SESSION, id);
  // Two leading slashes would name another host, and a backslash counts as a slash there.
  return `${path?.replace(/^[/\\]+/, "/") ?? ""}?${parameters.toString()}`;
}

/** Sends each message as an event named "message". */
class Messages implements Channel {
  readonly #stream: Channel;

  constructor(stream: Channel) {
    this.#stream = stream;
  }

  get ready(): boolean {
    return this.#stream.ready;
  }

  get disconnected(): CancelSignal {
    return this.#stream.disconnected;
  }

  onReady(run: () => void): () => void {
    return this.#stream.onReady(run);
  }

  send(text: string): void {
    this.#stream.send(text, undefined, undefined, "message");
  }

  close(): void {
    this.#stream.close();
  }
}
