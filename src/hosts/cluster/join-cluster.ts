// Owns: starting a node, and its own server. Does not own: what the node does afterwards (cluster-node.ts).
import { createServer, type ServerHttp2Session } from "node:http2";
import { boundsOf, checkOptions, type Clock, FUNCTION, type OptionTable, TroupeError } from "../../core/contract/index.ts";
import { TEXT, OBJECT } from "../../core/contract/internal.ts";
import { type Cluster, ClusterNode } from "./cluster-node.ts";
import { CLUSTER_LIMITS, type ClusterOptions, settingsOf, peerUrl } from "./cluster-options.ts";

const CONNECTIONS = 1_024;
const STREAMS = 8;

/** A server that serves nothing but peers. */
interface PeerServer extends AsyncDisposable {
  readonly url: string;
  /** Until it is called, every request gets a 404. */
  serve(peers: ClusterNode): void;
}

interface PeerServerOptions {
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  /** A session that has no peer after this time is closed. */
  readonly strangerMs: number;
}

/** Throws `BAD_ADDRESS`. */
async function openServer({ host, port, clock, strangerMs }: PeerServerOptions): Promise<PeerServer> {
  let peers: ClusterNode | undefined;
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
  // Node ends a session that breaks the protocol: nothing to add.
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

/** Stands for the URL until the port is known. */
const UNKNOWN_URL = "http://127.0.0.1";

const OPTIONS: OptionTable<ClusterOptions> = {
  secret: true,
  members: true,
  self: TEXT,
  url: TEXT,
  listen: OBJECT,
  limits: boundsOf(CLUSTER_LIMITS),
  clock: true,
  entropy: true,
  log: FUNCTION,
  drop: FUNCTION,
};

/**
 * Makes this process a node of the cluster. Settles after the first request to the registry, whether that succeeded or not; other nodes are
 * connected afterwards, one by one. With `listen` the node has a port of its own. Without it, mount `handle` on a server that other nodes
 * reach by `url`. Throws `BAD_OPTION`, `BAD_ADDRESS`.
 */
export async function joinCluster(options: ClusterOptions): Promise<Cluster> {
  checkOptions("joinCluster", options, OPTIONS);
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
