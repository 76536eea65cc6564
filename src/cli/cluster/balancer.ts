import { createServer, connect, type Socket } from "node:net";
import { TroupeError } from "../../contract/index.ts";
import type { HostPort } from "../address.ts";

/** More connections than that wait in the system's own queue. */
const MAX_CONNECTIONS = 4_096;

/** One address in front of several, by TCP connection. For development: it knows nothing of TLS, health or HTTP. */
export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** Takes no further connection; those there are go on. */
  stopAccepting(): void;
}

interface Target extends HostPort {
  open: number;
}

/**
 * Each connection goes to the target with the fewest; among equals they take turns. A target that refuses is passed over.
 * When a target's end of a connection goes, so does the client's. Throws `DOOR_ADDRESS` where it cannot listen.
 */
export const startBalancer = async (at: HostPort, to: readonly HostPort[]): Promise<Balancer> => {
  const targets: readonly Target[] = to.map((target) => ({ ...target, open: 0 }));
  const sockets = new Set<Socket>();
  let turn = 0;
  const inOrder = (): readonly Target[] => {
    const first = turn++ % targets.length;
    return [...targets.slice(first), ...targets.slice(0, first)].toSorted((one, other) => one.open - other.open);
  };
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once("close", () => sockets.delete(socket));
    // The close that follows says all there is to say.
    socket.on("error", () => undefined);
  };
  const join = (client: Socket, [target, ...others]: readonly Target[]): void => {
    if (target === undefined || client.destroyed) return void client.destroy();
    const upstream = connect(target.port, target.host);
    keep(upstream);
    // Counted before it is there: many that come at once must not all go the same way.
    target.open += 1;
    let connected = false;
    upstream.once("connect", () => {
      connected = true;
      client.pipe(upstream).pipe(client);
      client.once("close", () => upstream.destroy());
      if (client.destroyed) upstream.destroy();
    });
    upstream.once("close", () => {
      target.open -= 1;
      if (connected) client.destroySoon();
      else join(client, others);
    });
  };
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => {
    keep(client);
    join(client, inOrder());
  });
  server.maxConnections = MAX_CONNECTIONS;
  const port = await listening(server, at);
  return {
    port,
    stopAccepting: () => void server.close(),
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};

const listening = (server: ReturnType<typeof createServer>, { host, port }: HostPort): Promise<number> =>
  new Promise((done, failed) => {
    server.once("error", (cause) =>
      failed(
        new TroupeError("DOOR_ADDRESS", `Cannot listen at ${host}:${port}: ${cause.message}. Choose another port (0 for a free one).`, {
          cause,
        }),
      ),
    );
    server.listen({ host, port }, () => {
      const address = server.address();
      done(typeof address === "object" && address !== null ? address.port : port);
    });
  });
