export { joinCluster } from "./join-cluster.ts";
export type { Cluster, PeerStatus } from "./cluster-node.ts";
export type { ClusterLimits, ClusterOptions } from "./cluster-options.ts";
