import { createServer } from "node:net";
import { type Gateway, isJsonObject, type Log } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { Authenticator, StdioListener, TcpListener, TcpOptions } from "../../mcp/transport/index.ts";
import { forLog, type ServerLog } from "../log.ts";
import { httpAddress, type ServeOptions } from "../serve-options.ts";
import type { ServedConsole } from "./console.ts";
import type { Served } from "./served-modules.ts";

/** Where it can be reached. */
export interface Addresses {
  readonly http?: string;
  readonly meta?: string;
  /** The deprecated HTTP+SSE transport. */
  readonly sse?: string;
  readonly tcp?: string;
  readonly stdio?: true;
  /** Over HTTP; a WebSocket may be opened there too. */
  readonly packets?: string;
  readonly packetsTcp?: string;
  /** Theater's MCP face, over HTTP. */
  readonly theater?: string;
  /** Theater's management protocol. */
  readonly theaterTcp?: string;
  /** The console's page. Without authentication, with the token of this start behind `#`. */
  readonly console?: string;
}

interface DoorsOptions {
  readonly options: ServeOptions;
  readonly log: ServerLog;
  readonly auth: Authenticator | undefined;
  /** The same over HTTP, where in development everybody may be one principal. */
  readonly httpAuth: Authenticator | undefined;
  readonly console: ServedConsole | undefined;
}

interface Listener {
  close(how: { readonly graceMs: number }): Promise<void>;
}

/** People read them in the banner. */
const withoutAddresses =
  (log: Log): Log =>
  (level, data, logger) => {
    if (!isJsonObject(data) || data["event"] !== "listening") log(level, data, logger);
  };

// Each listener by its own file: the folder's index would load them all.
const serveTcp = async (options: TcpOptions): Promise<TcpListener> => (await import("../../mcp/transport/tcp.ts")).serveTcp(options);

/** Throws what opening the listeners would throw: an address is in use, or open to everybody. Nothing listens afterwards. */
export const checkAddresses = async (options: ServeOptions, authenticated: boolean): Promise<void> => {
  const { packets, tcp, theaterTcp, insecure = false } = options;
  const listeners = [
    { name: "HTTP", at: httpAddress(options) },
    { name: "TCP", at: packets },
    { name: "TCP", at: tcp },
    // Theater checks for itself, before there are any files, who may reach it.
    { name: undefined, at: theaterTcp },
  ];
  await using open = new AsyncDisposableStack();
  for (const { name, at } of listeners) {
    if (typeof at !== "object" || !("port" in at)) continue;
    const { listenAt, refuseOpenListener } = await import("../../mcp/transport/listen.ts");
    if (name !== undefined) refuseOpenListener(name, at.host, authenticated, insecure);
    const server = createServer((socket) => socket.destroy());
    await listenAt(server, at.host, at.port);
    // Until all are known to be free: two may be the same.
    open.use(server);
  }
};

/** The ways in to what is served; Theater's protocol has its own. */
export class Listeners {
  readonly #served: Served;
  readonly #how: DoorsOptions;
  readonly #open: Listener[] = [];
  #addresses: Addresses = {};
  #closing = false;

  constructor(served: Served, how: DoorsOptions) {
    this.#served = served;
    this.#how = how;
  }

  get addresses(): Addresses {
    const { theater } = this.#served;
    return { ...this.#addresses, ...(theater?.address === undefined ? {} : { theaterTcp: theater.address }) };
  }

  /** All but standard input and output. Those that were opened before a failure stay open. */
  async open(): Promise<void> {
    const { options, log, auth, httpAuth, console } = this.#how;
    const { ground, packets, theater } = this.#served;
    const theaterMount = theater?.mount();
    const packetEndpoints = options.packets === undefined ? undefined : packets?.endpoints(console?.live);
    const listenerLog = options.json === true ? forLog(log) : withoutAddresses(forLog(log));
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
          ready: () => !this.#closing && (ground.fault?.message ?? true),
          ...omitUndefined({ allowedHosts: options.allowHost, allowedOrigins: options.allowOrigin }),
          endpoints: [
            ...(packetEndpoints === undefined ? [] : [packetEndpoints.http]),
            ...(theaterMount === undefined ? [] : [theaterMount]),
            ...(console?.mounts ?? []),
          ],
          ...(packetEndpoints === undefined ? {} : { upgrades: [packetEndpoints.webSocket] }),
          // One server takes bodies for all: what is too long for the actors' gateway, that refuses.
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

  /** Last: from here on the standard output is the client's. `before` runs just before that. */
  async openStdio(before: () => void): Promise<StdioListener> {
    const { options, log } = this.#how;
    const { serveStdio } = await import("../../mcp/transport/stdio.ts");
    before();
    const listener = serveStdio({
      gateway: this.#gateway("stdio"),
      log: forLog(log),
      graceMs: options.grace,
      ...omitUndefined({ as: options.as, scopes: options.scope }),
    });
    // In its own grace.
    this.#open.push({ close: () => listener.close() });
    this.#add({ stdio: true });
    return listener;
  }

  /** Whoever asks is told that it is not ready any more. */
  leave(): void {
    this.#closing = true;
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#open.map((listener) => listener.close({ graceMs })));
  }

  /** Where there is a console, it sees what passes. */
  #gateway(transport: "http" | "tcp" | "stdio"): Gateway {
    const { gateway } = this.#served;
    return this.#how.console?.live.gateway(gateway, transport) ?? gateway;
  }

  #opened<D extends Listener>(listener: D): D {
    this.#open.push(listener);
    return listener;
  }

  #add(addresses: Addresses): void {
    this.#addresses = { ...this.#addresses, ...addresses };
  }
}
