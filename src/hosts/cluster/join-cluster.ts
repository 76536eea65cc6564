import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from "node:http2";
import { type Clock, TroupeError } from "../../core/contract/index.ts";
import { type Cluster, ClusterNode } from "./cluster-node.ts";
import { type ClusterOptions, settingsOf, peerUrl } from "./cluster-options.ts";

const CONNECTIONS = 1_024;
const STREAMS = 8;

interface PeerHandler {
  handle(request: Http2ServerRequest, response: Http2ServerResponse): boolean;
  isPeer(session: ServerHttp2Session): boolean;
}

/** A port for nothing but peers. */
export interface PeerServer extends AsyncDisposable {
  readonly url: string;
  /** Until then every request is answered with 404. */
  serve(peers: PeerHandler): void;
}

export interface PeerServerOptions {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** Whoever has connected for so long and is no peer yet has to go. */
  readonly strangerMs: number;
}

/** Throws `BAD_ADDRESS`. */
export async function openServer({ host, port, clock, strangerMs }: PeerServerOptions): Promise<PeerServer> {
  let peers: PeerHandler | undefined;
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({ settings: { enablePush: false, maxConcurrentStreams: STREAMS } }, (request, response) => {
    if (peers?.handle(request, response) === true) return;
    request.resume();
    response.writeHead(404).end();
  });
  server.maxConnections = CONNECTIONS;
  server.on("session", (session) => {
    sessions.add(session);
    const undo = clock.after(strangerMs, () => {
      if (peers?.isPeer(session) !== true) session.destroy();
    });
    session.once("close", () => {
      undo();
      sessions.delete(session);
    });
  });
  // A session that breaks the protocol is ended by Node: there is nothing to add.
  server.on("sessionError", () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code ?? cause.name;
      reject(new TroupeError("BAD_ADDRESS", `Cannot listen at ${host}:${port} (${why}): choose another host or port.`, { cause }));
    });
    server.listen({ host, port }, resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    serve(served) {
      peers = served;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

/** Stands for the url until the port is known. */
const UNKNOWN_URL = "http://127.0.0.1";

/**
 * Makes this process one of the cluster's nodes: seen by the others, telling them, hearing them. Settles once the registry was asked
 * for the first time, whether it answered or not; the others are reached afterwards, one by one.
 * With `listen` it has a port of its own; without, `handle` is to be mounted on a server that others reach by `url`.
 * Throws `BAD_OPTION`, `BAD_ADDRESS`.
 */
export async function joinCluster(options: ClusterOptions): Promise<Cluster> {
  const { listen, url } = options;
  const { host = "127.0.0.1", port = 0 } = listen ?? {};
  if (url === undefined && (listen === undefined || host === "0.0.0.0" || host === "::")) {
    throw new TroupeError("BAD_OPTION", "Nobody would find this node: give `url`, where the others reach it.");
  }
  const settings = settingsOf(options, url ?? UNKNOWN_URL);
  const { clock, limits } = settings;
  const server = listen === undefined ? undefined : await openServer({ host, port, clock, strangerMs: 2 * limits.greetMs });
  const node = new ClusterNode(
    url === undefined && server !== undefined ? { ...settings, url: peerUrl(server.url) ?? server.url } : settings,
    {
      members: options.members,
      drop: options.drop,
      server,
    },
  );
  server?.serve(node);
  await node.start();
  return node;
}
