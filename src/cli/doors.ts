import { createServer } from "node:net";
import type { Log } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { isJsonObject } from "../core/contract/index.ts";
import type { Authenticator, StdioListener, TcpListener, TcpOptions } from "../mcp/transport/index.ts";
import type { HostPort } from "./address.ts";
import { usage } from "./exit-code.ts";
import { forLog, type ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";
import type { Served } from "./served.ts";

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
}

export interface DoorsOptions {
  readonly options: ServeOptions;
  readonly log: ServerLog;
  readonly auth: Authenticator | undefined;
  /** The same over HTTP, where in development everybody may be one principal. */
  readonly httpAuth: Authenticator | undefined;
}

interface Door {
  close(how: { readonly graceMs: number }): Promise<void>;
}

/** People read them in the banner. */
const withoutAddresses =
  (log: Log): Log =>
  (level, data, logger) => {
    if (!isJsonObject(data) || data["event"] !== "listening") log(level, data, logger);
  };

// Each door by its own file: the folder's index would load them all.
const serveTcp = async (options: TcpOptions): Promise<TcpListener> => (await import("../mcp/transport/tcp.ts")).serveTcp(options);

/** Without a door that is named, there is HTTP. */
export const hasOtherDoor = ({ stdio, tcp, theater, theaterTcp }: ServeOptions): boolean =>
  stdio === true || tcp !== undefined || (theaterTcp !== undefined && theater !== true);

const httpAddress = (options: ServeOptions): HostPort | undefined => {
  const at = options.http ?? (hasOtherDoor(options) ? undefined : { host: "127.0.0.1", port: 3000 });
  if (options.sse === true && at === undefined) throw usage("--sse is beside MCP's HTTP: give --http, too.");
  return at;
};

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
    const { listenAt, refuseOpenDoor } = await import("../mcp/transport/listen.ts");
    if (name !== undefined) refuseOpenDoor(name, at.host, authenticated, insecure);
    const server = createServer((socket) => socket.destroy());
    await listenAt(server, at.host, at.port);
    // Until all are known to be free: two may be the same.
    open.use(server);
  }
};

/** The ways in to what is served; Theater's protocol has its own. */
export class Doors {
  readonly #served: Served;
  readonly #how: DoorsOptions;
  readonly #open: Door[] = [];
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
    const { options, log, auth, httpAuth } = this.#how;
    const { gateway, ground, packets, theater } = this.#served;
    const theaterMount = theater?.mount();
    const packetDoor = options.packets === undefined ? undefined : packets?.doors();
    const doorLog = options.json === true ? forLog(log) : withoutAddresses(forLog(log));
    const common = { gateway, log: doorLog, insecure: options.insecure ?? false, ...omitUndefined({ auth }) };
    const at = httpAddress(options);
    const perPeer = omitUndefined({ connectionsPerPeer: options.connectionsPerPeer });
    if (at !== undefined) {
      const { serveHttp } = await import("../mcp/transport/http.ts");
      const { url } = this.#opened(
        await serveHttp({
          ...common,
          ...omitUndefined({ auth: httpAuth }),
          ...at,
          sse: options.sse ?? false,
          ready: () => !this.#closing && (ground.fault?.message ?? true),
          ...omitUndefined({ allowedHosts: options.allowHost, allowedOrigins: options.allowOrigin }),
          doors: [...(packetDoor === undefined ? [] : [packetDoor.http]), ...(theaterMount === undefined ? [] : [theaterMount])],
          ...(packetDoor === undefined ? {} : { upgrades: [packetDoor.webSocket] }),
          // One server takes bodies for all: what is too long for the actors' gateway, that refuses.
          limits: { ...perPeer, ...(theater === undefined || theaterMount === undefined ? {} : { bodyBytes: theater.messageBytes }) },
        }),
      );
      this.#add({
        http: url,
        meta: `${url}/meta`,
        ...(options.sse === true ? { sse: new URL("/sse", url).href } : {}),
        ...(packetDoor === undefined ? {} : { packets: new URL(packetDoor.http.path, url).href }),
        ...(theaterMount === undefined ? {} : { theater: new URL(theaterMount.path, url).href }),
      });
    }
    if (packetDoor !== undefined && typeof options.packets === "object")
      this.#add({ packetsTcp: this.#opened(await serveTcp({ ...common, ...options.packets, ...packetDoor.tcp, limits: perPeer })).url });
    if (options.tcp !== undefined)
      this.#add({
        tcp: this.#opened(
          await serveTcp({ ...common, ...options.tcp, limits: perPeer, ...omitUndefined({ as: options.as, scopes: options.scope }) }),
        ).url,
      });
  }

  /** Last: from here on the standard output is the client's. `before` runs just before that. */
  async openStdio(before: () => void): Promise<StdioListener> {
    const { options, log } = this.#how;
    const { serveStdio } = await import("../mcp/transport/stdio.ts");
    before();
    const door = serveStdio({
      gateway: this.#served.gateway,
      log: forLog(log),
      graceMs: options.grace,
      ...omitUndefined({ as: options.as, scopes: options.scope }),
    });
    // In its own grace.
    this.#open.push({ close: () => door.close() });
    this.#add({ stdio: true });
    return door;
  }

  /** Whoever asks is told that it is not ready any more. */
  leave(): void {
    this.#closing = true;
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#open.map((door) => door.close({ graceMs })));
  }

  #opened<D extends Door>(door: D): D {
    this.#open.push(door);
    return door;
  }

  #add(addresses: Addresses): void {
    this.#addresses = { ...this.#addresses, ...addresses };
  }
}
