import type { ServerResponse } from "node:http";
import { Cancellation, type CancelSignal, type Caller, type Channel, type DoorRequest, type Exchange } from "../../core/contract/index.ts";
import type { Expiry } from "./open-streams.ts";
import type { BodyRequest } from "./http-body.ts";
import type { HeaderList } from "./http-checks.ts";
import { NO_STREAM } from "./no-stream.ts";

/** How messages are told apart in a response that is a stream of them. */
export type Framing = "events" | "lines";

export interface ExchangeParts {
  readonly verb: Exchange["verb"];
  readonly path: string;
  readonly query: string;
  readonly headers: HeaderList;
  readonly body: Uint8Array | undefined;
  readonly caller: Caller;
  readonly posture: "meta" | undefined;
  readonly request: BodyRequest;
  readonly response: ServerResponse;
  /** A token was checked; it is not shown to whoever answers. */
  readonly checked: boolean;
  /** Undefined: there is none for this request. */
  readonly open: (exchange: HttpExchange, framing: Framing, headers?: Readonly<Record<string, string>>) => Channel | undefined;
}

/** One request and what answers it. What few requests need is made when it is asked for. */
export class HttpExchange implements DoorRequest {
  readonly verb: Exchange["verb"];
  readonly path: string;
  readonly query: string;
  readonly body?: Uint8Array;
  readonly caller: Caller;
  readonly posture?: "meta";
  readonly request: BodyRequest;
  readonly response: ServerResponse;
  readonly #headers: HeaderList;
  readonly #checked: boolean;
  readonly #open: ExchangeParts["open"];
  #stream: Channel | undefined;
  #asked = false;
  /** Where the token that opened the stream expires. */
  expiry: Expiry | undefined;
  #gone: Gone | undefined;

  constructor(parts: ExchangeParts) {
    this.verb = parts.verb;
    this.path = parts.path;
    this.query = parts.query;
    this.caller = parts.caller;
    this.request = parts.request;
    this.response = parts.response;
    this.#headers = parts.headers;
    this.#checked = parts.checked;
    this.#open = parts.open;
    if (parts.body !== undefined) this.body = parts.body;
    if (parts.posture !== undefined) this.posture = parts.posture;
  }

  header(name: string): string | undefined {
    return this.#checked && name === "authorization" ? undefined : this.#headers.get(name);
  }

  get opened(): Channel | undefined {
    return this.#stream;
  }

  /** A stream was asked for, and there is none. */
  get refused(): boolean {
    return this.#asked && this.#stream === undefined;
  }

  stream(headers?: Readonly<Record<string, string>>): Channel {
    return this.#begin("events", headers);
  }

  lines(): Channel {
    return this.#begin("lines");
  }

  #begin(framing: Framing, headers?: Readonly<Record<string, string>>): Channel {
    if (!this.#asked) this.#stream = this.#open(this, framing, headers);
    this.#asked = true;
    return this.#stream ?? NO_STREAM;
  }

  get gone(): CancelSignal {
    return (this.#gone ??= new Gone(this.response));
  }
}

/** The client closed the connection before it had its answer. The response is listened to only where somebody listens here. */
class Gone extends Cancellation {
  readonly #response: ServerResponse;
  #listens = false;

  constructor(response: ServerResponse) {
    super();
    this.#response = response;
  }

  override get aborted(): boolean {
    return this.#response.closed && !this.#response.writableFinished;
  }

  override addEventListener(type: "abort", listener: () => void): void {
    super.addEventListener(type, listener);
    if (this.#listens) return;
    this.#listens = true;
    this.#response.once("close", () => {
      if (this.aborted) this.abort();
    });
  }
}
