import { once } from "node:events";
import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from "node:http2";
import { TroupeError } from "../../core/contract/index.ts";
import type { DirectTurns } from "./direct-turns.ts";
import type { Defined, RestateSdk } from "./sdk.ts";
import { TurnRequest } from "./turn-request.ts";

/** Whether it took the request. */
export type ExtraHandler = (request: Http2ServerRequest, response: Http2ServerResponse) => boolean;

export interface EndpointOptions {
  readonly sdk: RestateSdk;
  /** What the SDK made. */
  readonly services: readonly Defined[];
  /** Default: loopback. Whoever reaches this port runs turns: keep it on a private network. */
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly identityKeys: readonly string[];
  /** What is answered without the SDK. */
  readonly direct: DirectTurns;
}

/**
 * What may wait to be sent on one connection. With Node's default of 10, a connection refused all other turns while one large piece was
 * being sent, and a turn may send several of up to 31 MiB each.
 */
const SESSION_MEGABYTES = 128;

/** Where the server finds the actors of this node, and other nodes find it: HTTP/2 in clear. */
export class Endpoint {
  readonly url: string;
  /** Asked before the SDK. */
  extra: ExtraHandler | undefined;
  readonly #server: ReturnType<typeof createServer>;
  readonly #sessions = new Set<ServerHttp2Session>();
  #whenEmpty: (() => void) | undefined;

  private constructor(server: ReturnType<typeof createServer>, url: string) {
    this.#server = server;
    this.url = url;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => {
        this.#sessions.delete(session);
        if (this.#sessions.size === 0) this.#whenEmpty?.();
      });
      session.on("error", () => session.destroy());
    });
  }

  /** Throws `BAD_ADDRESS`. */
  static async open({ sdk, services, host, port, identityKeys, direct }: EndpointOptions): Promise<Endpoint> {
    const serve = sdk.createEndpointHandler({
      services: [...services],
      bidirectional: true,
      logger: () => undefined,
      ...(identityKeys.length === 0 ? {} : { identityKeys: [...identityKeys] }),
    });
    let endpoint: Endpoint | undefined;
    const server = createServer({ Http2ServerRequest: TurnRequest, maxSessionMemory: SESSION_MEGABYTES }, (request, response) => {
      if (endpoint?.extra?.(request, response) === true) return;
      const taken = direct.take(request);
      if (taken === undefined) serve(request, response);
      else void taken.then((all) => all || serve(request, response));
    });
    server.listen(port, host);
    try {
      await once(server, "listening");
    } catch (error) {
      throw new TroupeError("BAD_ADDRESS", `${host}:${port} cannot be had: name another address for this node.`, { cause: error });
    }
    const bound = server.address();
    if (bound === null || typeof bound === "string") throw new TypeError("The endpoint has no port.");
    endpoint = new Endpoint(server, `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`);
    return endpoint;
  }

  /** Takes no new turns. Settles when those that run have ended, or `signal` is aborted. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#server.close();
    for (const session of this.#sessions) session.close();
    if (this.#sessions.size === 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** What still runs counts for nothing: the server has it run again. */
  async close(): Promise<void> {
    const closed = this.#server.listening || this.#sessions.size > 0 ? once(this.#server, "close") : undefined;
    if (this.#server.listening) this.#server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }
}
