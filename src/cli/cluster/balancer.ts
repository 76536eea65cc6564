// Owns: one TCP address in front of several nodes, with health checks. Does not own: which address that is (dev.ts).
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, createServer, type Socket } from "node:net";
import { TroupeError } from "../../core/contract/index.ts";
import type { HostPort } from "../option-parsers.ts";

/** Further connections wait in the system's own queue. */
const MAX_CONNECTIONS = 4_096;

/** Balances TCP connections over several addresses. For development: it knows nothing of TLS or HTTP. */
export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** Refuses new connections; those that are open go on. */
  stopAccepting(): void;
}

interface Target extends HostPort {
  readonly sockets: Set<Socket>;
  misses: number;
}

/** Whether a target answers. May hang, so it gets a signal. */
type HealthCheck = (target: HostPort, signal: AbortSignal) => Promise<boolean>;

const CHECK_EVERY_MS = 1_000;
const ANSWER_WITHIN_MS = 2_000;
const MISSES = 2;

/**
 * Sends each connection to the target with the fewest connections, round robin among equals, and to the next one if a target refuses it.
 * When a target closes a connection, the client's end is closed too. After two missed health checks all connections to a target are closed,
 * and it is chosen last until it answers a check. Throws `BAD_ADDRESS` if it cannot listen.
 */
export const startBalancer = async (at: HostPort, to: readonly HostPort[], isHealthy?: HealthCheck): Promise<Balancer> => {
  const targets: readonly Target[] = to.map((target) => ({ ...target, sockets: new Set(), misses: 0 }));
  const sockets = new Set<Socket>();
  let turn = 0;
  const inOrder = (): readonly Target[] => {
    const first = turn++ % targets.length;
    return [...targets.slice(first), ...targets.slice(0, first)].toSorted(
      (one, other) => Number(isLost(one)) - Number(isLost(other)) || one.sockets.size - other.sockets.size,
    );
  };
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once("close", () => sockets.delete(socket));
    // The close event follows.
    socket.on("error", () => undefined);
  };
  const connectTo = (client: Socket, [target, ...others]: readonly Target[]): void => {
    if (target === undefined || client.destroyed) return void client.destroy();
    const upstream = connect(target.port, target.host);
    track(upstream);
    // Counted before it is connected: connections that arrive together must not all go to one target.
    target.sockets.add(upstream);
    let connected = false;
    upstream.once("connect", () => {
      connected = true;
      client.pipe(upstream).pipe(client);
      client.once("close", () => upstream.destroy());
      if (client.destroyed) upstream.destroy();
    });
    upstream.once("close", () => {
      target.sockets.delete(upstream);
      if (connected) client.destroySoon();
      else connectTo(client, others);
    });
  };
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => {
    track(client);
    connectTo(client, inOrder());
  });
  server.maxConnections = MAX_CONNECTIONS;
  const port = await listening(server, at);
  const checks = isHealthy === undefined ? [] : targets.map((target) => setInterval(() => void check(target, isHealthy), CHECK_EVERY_MS));
  return {
    port,
    stopAccepting: () => void server.close(),
    async [Symbol.asyncDispose]() {
      server.close();
      for (const timer of checks) clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
};

const isLost = ({ misses }: Target): boolean => misses >= MISSES;

const check = async (target: Target, isHealthy: HealthCheck): Promise<void> => {
  target.misses = (await isHealthy(target, AbortSignal.timeout(ANSWER_WITHIN_MS))) ? 0 : target.misses + 1;
  // A target that hangs keeps its connections open, and its clients would wait forever.
  if (isLost(target)) for (const socket of target.sockets) socket.destroy();
};

const listening = (server: ReturnType<typeof createServer>, { host, port }: HostPort): Promise<number> =>
  new Promise((done, failed) => {
    server.once("error", (cause) =>
      failed(
        new TroupeError("BAD_ADDRESS", `Cannot listen at ${host}:${port}: ${cause.message}. Choose another port (0 for a free one).`, {
          cause,
        }),
      ),
    );
    server.listen({ host, port }, () => {
      const address = server.address();
      done(typeof address === "object" && address !== null ? address.port : port);
    });
  });

export const urlOf = ({ host, port }: HostPort): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

/** Any response counts: a node that drains, or has lost its engine, still completes running calls. */
export const listenerAnswers: HealthCheck = async (target, signal) => {
  try {
    const response = await fetch(`${urlOf(target)}/healthz`, { signal });
    await response.body?.cancel();
    return true;
  } catch {
    return false;
  }
};

/** The same for a node's own port, which speaks HTTP/2 without TLS. */
export const nodeAnswers: HealthCheck = async (target, signal) => {
  const session = connectHttp2(urlOf(target));
  // The request reports it too.
  session.on("error", () => undefined);
  try {
    const request = session.request({ ":path": "/health" });
    request.on("error", () => undefined);
    await once(request, "response", { signal });
    return true;
  } catch {
    return false;
  } finally {
    session.destroy();
  }
};
