import type { Answer, CancelSignal, Channel, Connection, Entropy, Exchange, Gateway } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";

/** Where a stream was asked for, as its client wrote it. */
export interface Asked {
  /** Absent where a router may have taken a prefix away. */
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
 * HTTP+SSE of 2024-11-05, which 2025-03-26 deprecates: a GET opens the way to the client, and its first event says where
 * POSTs go. The two together are one ordered connection to the gateway, which ends with the stream.
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

  answer(exchange: Exchange, asked: Asked): Answer {
    if (this.#closing) return refusal("UNAVAILABLE", "The server is closing: try again elsewhere or later.");
    return exchange.verb === "POST" ? this.#post(exchange, asked) : this.#open(exchange, asked);
  }

  /** Ends each stream once what was asked on it is answered: at once where nothing runs. */
  async drain(): Promise<void> {
    this.#closing = true;
    await Promise.all(Array.from(this.#pairs.values(), end));
    this.#pairs.clear();
  }

  #open(exchange: Exchange, asked: Asked): Answer {
    const { caller } = exchange;
    const stream = exchange.stream();
    if (stream.gone.aborted) return { status: 200 };
    const id = this.#entropy.hex(16);
    stream.send(endpoint(asked, id), undefined, undefined, "endpoint");
    const channel = new Messages(stream);
    const connection = this.#gateway.connect(channel, caller);
    this.#pairs.set(id, { principal: caller.principal, connection, channel });
    stream.gone.addEventListener("abort", () => void this.#pairs.delete(id), { once: true });
    return { status: 200, open: true };
  }

  #post(exchange: Exchange, { query }: Asked): Answer {
    const id = new URLSearchParams(query).get(SESSION);
    // By 404 and 405 alone do clients that try what came later first know to open a stream.
    if (id === null)
      return refusal("VERB", "POST to the address that the stream's endpoint event has: open one with GET.", { allow: "GET" });
    const pair = this.#pairs.get(id);
    // Whose it is not is told no more than who made an id up.
    if (pair === undefined || pair.principal !== exchange.caller.principal)
      return refusal("SESSION_UNKNOWN", "There is no stream of that session: open one with GET, and initialize again.");
    if (exchange.body === undefined || exchange.body.byteLength === 0) return refusal("INVALID_REQUEST", "Send a JSON-RPC message.");
    pair.connection.receive(exchange.body, exchange.caller);
    return ACCEPTED;
  }
}

/** To be resolved against the address of the stream. */
function endpoint({ path, query }: Asked, id: string): string {
  const parameters = new URLSearchParams(query);
  parameters.set(SESSION, id);
  // Two slashes at the front would name another host; a backslash is one there.
  return `${path?.replace(/^[/\\]+/, "/") ?? ""}?${parameters.toString()}`;
}

/** Each message as an event of that name. */
class Messages implements Channel {
  readonly #stream: Channel;

  constructor(stream: Channel) {
    this.#stream = stream;
  }

  get ready(): boolean {
    return this.#stream.ready;
  }

  get gone(): CancelSignal {
    return this.#stream.gone;
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
