// Owns: the addresses of a server and what listens there. Does not own: Theater's protocol (theater.ts), the transports (mcp/transport).
import { createServer } from "node:net";
import { type Gateway, isJsonObject, type Log } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { Authenticator, StdioListener, TcpListener, TcpOptions } from "../../mcp/transport/index.ts";
import { toLog, type ServerLog } from "../log.ts";
import { httpAddress, type ServeOptions } from "../serve-options.ts";
import type { ServedConsole } from "./console.ts";
import type { ServedModules } from "./served-modules.ts";

/** The addresses of a server. */
export interface Addresses {
  readonly http?: string;
  readonly meta?: string;
  /** The deprecated HTTP+SSE transport. */
  readonly sse?: string;
  readonly tcp?: string;
  readonly stdio?: true;
  /** Over HTTP and WebSocket. */
  readonly packets?: string;
  readonly packetsTcp?: string;
  /** Theater's MCP interface, over HTTP. */
  readonly theater?: string;
  /** Theater's management protocol. */
  readonly theaterTcp?: string;
  /** The console's page. Without authentication, the token of this start follows `#`. */
  readonly console?: string;
}

interface ListenersOptions {
  readonly options: ServeOptions;
  readonly log: ServerLog;
  readonly auth: Authenticator | undefined;
  /** The authenticator for HTTP, where in development all callers may be one principal. */
  readonly httpAuth: Authenticator | undefined;
  readonly console: ServedConsole | undefined;
}

interface Listener {
  close(how: { readonly graceMs: number }): Promise<void>;
}

/** Leaves out the `listening` events: the banner has the addresses. */
const withoutAddresses =
  (log: Log): Log =>
  (level, data, logger) => {
    if (!isJsonObject(data) || data["event"] !== "listening") log(level, data, logger);
  };

// By its own file: the folder's index would load all transports.
const serveTcp = async (options: TcpOptions): Promise<TcpListener> => (await import("../../mcp/transport/tcp.ts")).serveTcp(options);

/** Throws the errors that opening the listeners would throw: an address in use, or open to everyone. Closes them again. */
export const checkAddresses = async (options: ServeOptions, authenticated: boolean): Promise<void> => {
  const { packets, tcp, theaterTcp, insecure = false } = options;
  const listeners = [
    { name: "HTTP", at: httpAddress(options) },
    { name: "TCP", at: packets },
    { name: "TCP", at: tcp },
    // Theater has checked already who may reach it.
    { name: undefined, at: theaterTcp },
  ];
  await using open = new AsyncDisposableStack();
  for (const { name, at } of listeners) {
    if (typeof at !== "object" || !("port" in at)) continue;
    const { listenAt, refuseOpenListener } = await import("../../mcp/transport/listen.ts");
    if (name !== undefined) refuseOpenListener(name, at.host, authenticated, insecure);
    const server = createServer((socket) => socket.destroy());
    await listenAt(server, at.host, at.port);
    // Held until all are checked: two may be the same.
    open.use(server);
  }
};

/** The listeners of a server, except that of Theater's protocol. */
export class Listeners {
  readonly #served: ServedModules;
  readonly #options: ListenersOptions;
  readonly #open: Listener[] = [];
  #addresses: Addresses = {};
  #closing = false;

  constructor(served: ServedModules, how: ListenersOptions) {
    this.#served = served;
    this.#options = how;
  }

  get addresses(): Addresses {
    const { theater } = this.#served;
    return { ...this.#addresses, ...(theater?.address === undefined ? {} : { theaterTcp: theater.address }) };
  }

  /** Opens all but stdio. After a failure those that were opened stay open. */
  async open(): Promise<void> {
    const { options, log, auth, httpAuth, console } = this.#options;
    const { backend, packets, theater } = this.#served;
    const theaterMount = theater?.mount();
    const packetEndpoints = options.packets === undefined ? undefined : packets?.endpoints(console?.live);
    const listenerLog = options.json === true ? toLog(log) : withoutAddresses(toLog(log));
    const common = { log: listenerLog, insecure: options.insecure ?? false, ...omitUndefined({ auth }) };
    const at = httpAddress(options);
    const perPeer = omitUndefined({ connectionsPerPeer: options.connectionsPerPeer });
    if (at !== undefined) {
      const { serveHttp } = await import("../../mcp/transport/http.ts");
      const { url } = this.#opened(
        await serveHttp({
          ...common,
          gateway: this.#gateway("http"),
          ...omitUndefined({ auth: httpAuth }),
          ...at,
          sse: options.sse ?? false,
          ready: () => !this.#closing && (backend.fault?.message ?? true),
          ...omitUndefined({ allowedHosts: options.allowHost, allowedOrigins: options.allowOrigin }),
          endpoints: [
            ...(packetEndpoints === undefined ? [] : [packetEndpoints.http]),
            ...(theaterMount === undefined ? [] : [theaterMount]),
            ...(console?.mounts ?? []),
          ],
          ...(packetEndpoints === undefined ? {} : { upgrades: [packetEndpoints.webSocket] }),
          // The limit of the HTTP server is the largest of all endpoints; the actors' gateway refuses longer messages itself.
          limits: { ...perPeer, ...(theater === undefined || theaterMount === undefined ? {} : { bodyBytes: theater.messageBytes }) },
        }),
      );
      this.#add({
        http: url,
        meta: `${url}/meta`,
        ...(options.sse === true ? { sse: new URL("/sse", url).href } : {}),
        ...(packetEndpoints === undefined ? {} : { packets: new URL(packetEndpoints.http.path, url).href }),
        ...(theaterMount === undefined ? {} : { theater: new URL(theaterMount.path, url).href }),
        ...(console === undefined ? {} : { console: new URL(console.link, url).href }),
      });
    }
    if (packetEndpoints !== undefined && typeof options.packets === "object")
      this.#add({
        packetsTcp: this.#opened(await serveTcp({ ...common, ...options.packets, ...packetEndpoints.tcp, limits: perPeer })).url,
      });
    if (options.tcp !== undefined)
      this.#add({
        tcp: this.#opened(
          await serveTcp({
            ...common,
            gateway: this.#gateway("tcp"),
            ...options.tcp,
            limits: perPeer,
            ...omitUndefined({ as: options.as, scopes: options.scope }),
          }),
        ).url,
      });
  }

  /** Opened last: from here on the standard output belongs to the client. `before` runs just before that. */
  async openStdio(before: () => void): Promise<StdioListener> {
    const { options, log } = this.#options;
    const { serveStdio } = await import("../../mcp/transport/stdio.ts");
    before();
    const listener = serveStdio({
      gateway: this.#gateway("stdio"),
      log: toLog(log),
      graceMs: options.grace,
      ...omitUndefined({ as: options.as, scopes: options.scope }),
    });
    // It has its own grace period.
    this.#open.push({ close: () => listener.close() });
    this.#add({ stdio: true });
    return listener;
  }

  /** From now on the readiness check fails. */
  markNotReady(): void {
    this.#closing = true;
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#open.map((listener) => listener.close({ graceMs })));
  }

  /** The gateway, recorded for the console if there is one. */
  #gateway(transport: "http" | "tcp" | "stdio"): Gateway {
    const { gateway } = this.#served;
    return this.#options.console?.live.gateway(gateway, transport) ?? gateway;
  }

  #opened<D extends Listener>(listener: D): D {
    this.#open.push(listener);
    return listener;
  }

  #add(addresses: Addresses): void {
    this.#addresses = { ...this.#addresses, ...addresses };
  }
}
