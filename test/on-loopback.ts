import { once } from "node:events";
import type { Server, Socket } from "node:net";

export interface Loopback extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Listens on loopback, at a free port unless one is named. Disposing closes it with all its connections. */
export async function onLoopback(server: Server, port = 0): Promise<Loopback> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It has no port.");
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = server.listening ? once(server, "close") : undefined;
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
