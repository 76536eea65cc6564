import { once } from "node:events";
import { createServer } from "node:net";

/**
 * That many ports of the loopback address, free at this moment: for processes that must know each other's before any listens.
 * Another process may take one in between; where a process can choose its own, let it.
 */
export const freePorts = async (count: number): Promise<readonly number[]> => {
  const servers = Array.from({ length: count }, () => createServer());
  try {
    // All at once, or the system would hand out the same one again.
    await Promise.all(
      servers.map((server) => {
        server.listen(0, "127.0.0.1");
        return once(server, "listening");
      }),
    );
    return servers.map((server) => portOf(server.address()));
  } finally {
    for (const server of servers) server.close();
  }
};

const portOf = (address: ReturnType<ReturnType<typeof createServer>["address"]>): number =>
  typeof address === "object" && address !== null ? address.port : 0;
