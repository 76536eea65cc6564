export { joinCluster } from "./join.ts";
export type { Cluster, PeerStatus } from "./node.ts";
export type { ClusterLimits, ClusterOptions } from "./options.ts";
