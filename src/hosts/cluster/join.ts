import { TroupeError } from "../../core/contract/index.ts";
import { type Cluster, Node } from "./node.ts";
import { type ClusterOptions, settingsOf } from "./options.ts";
import { peerUrl } from "./peer-url.ts";
import { openServer } from "./own-server.ts";

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
  const node = new Node(url === undefined && server !== undefined ? { ...settings, url: peerUrl(server.url) ?? server.url } : settings, {
    members: options.members,
    drop: options.drop,
    server,
  });
  server?.serve(node);
  await node.start();
  return node;
}
