import { Cancellation, type Caller, type Channel, type Exchange } from "../../../core/contract/index.ts";
import type { Expiry } from "../open-streams.ts";
import { pathOf } from "../http-checks.ts";
import type { Asked } from "../http-sse.ts";
import { NO_STREAM } from "../no-stream.ts";
import type { Arrival } from "./requests.ts";

export interface WebExchangeParts {
  readonly arrival: Arrival;
  readonly caller: Caller;
  readonly body: Uint8Array | undefined;
  readonly posture: "meta" | undefined;
  /** A token was checked; it is not shown to whoever answers. */
  readonly checked: boolean;
  /** Answers with a stream; undefined: there is none for this request. */
  readonly open: (exchange: WebExchange, headers: Readonly<Record<string, string>> | undefined) => Channel | undefined;
}

/** One request to the gateway. */
export class WebExchange implements Exchange {
  readonly verb: Exchange["verb"];
  readonly caller: Caller;
  readonly body?: Uint8Array;
  readonly posture?: "meta";
  readonly gone = new Cancellation();
  /** Where the token that opened the stream expires. */
  expiry: Expiry | undefined;
  readonly #parts: WebExchangeParts;
  #stream: Channel | undefined;
  #asked = false;

  constructor(parts: WebExchangeParts) {
    const { arrival, caller, body, posture } = parts;
    this.#parts = parts;
    this.verb = arrival.method === "POST" || arrival.method === "DELETE" ? arrival.method : "GET";
    this.caller = caller;
    if (body !== undefined) this.body = body;
    if (posture !== undefined) this.posture = posture;
    const left = (): void => this.gone.abort();
    if (arrival.gone.aborted) left();
    else arrival.gone.addEventListener("abort", left, { once: true });
  }

  header(name: string): string | undefined {
    return this.#parts.checked && name === "authorization" ? undefined : this.#parts.arrival.headers.get(name);
  }

  get asked(): Asked {
    const { url, asked } = this.#parts.arrival;
    const query = url.slice(pathOf(url).length + 1);
    return asked === undefined ? { query } : { path: asked, query };
  }

  get opened(): Channel | undefined {
    return this.#stream;
  }

  /** A stream was asked for, and there is none. */
  get refused(): boolean {
    return this.#asked && this.#stream === undefined;
  }

  stream(headers?: Readonly<Record<string, string>>): Channel {
    if (!this.#asked) this.#stream = this.#parts.open(this, headers);
    this.#asked = true;
    return this.#stream ?? NO_STREAM;
  }
}
