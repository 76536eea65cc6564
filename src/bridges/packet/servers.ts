import type { ForeignServers } from "./foreign-servers.ts";
import { PacketError } from "./packet-error.ts";

/** How a capability reaches other tool servers, by their names in the configuration. */
export type Servers = Pick<ForeignServers, "get">;

export const noServers: Servers = {
  get(name) {
    throw new PacketError(
      "execution_failed",
      `There is no tool server ${JSON.stringify(name)}: name it in the configuration, under mcp.servers.`,
    );
  },
};
