/** A server among several that form one Restate cluster. */
interface ClusterMember {
  readonly cluster: string;
  /** Ports, on loopback, at which all members reach each other; this one's too. */
  readonly fabric: readonly number[];
  /** Exactly one member begins the cluster; the others join it. */
  readonly begins: boolean;
  /** How many members keep each record. */
  readonly replication: number;
}

/** How one Restate server runs, on loopback. */
export interface RestateSettings {
  /** It must stay the same as long as the data does. */
  readonly name: string;
  /** Where it puts what it needs while it runs. */
  readonly temporary: string;
  /** 0: the server chooses. */
  readonly ports: { readonly ingress: number; readonly admin: number; readonly fabric: number };
  /** Heeded only when the data begins. Restate's workers open one connection each to a deployment. */
  readonly partitions: number;
  /** Of RocksDB. */
  readonly memoryMiB: number;
  /** Beyond so many running turns a partition opens another connection to a deployment. Default: Restate's own, 128. */
  readonly turnsPerConnection?: number;
  readonly member?: ClusterMember;
}

const at = (port: number): string => `127.0.0.1:${port}`;

/** Nothing is inherited: what is set for another server on this machine must not reach this one. */
export const restateEnvironment = (settings: RestateSettings): Readonly<Record<string, string>> => {
  const { ports, member } = settings;
  return {
    TMPDIR: settings.temporary,
    DO_NOT_TRACK: "1",
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_USE_RANDOM_PORTS: "true",
    ...(ports.ingress > 0 && { RESTATE_INGRESS__BIND_ADDRESS: at(ports.ingress) }),
    ...(ports.admin > 0 && { RESTATE_ADMIN__BIND_ADDRESS: at(ports.admin) }),
    ...(ports.fabric > 0 && { RESTATE_BIND_ADDRESS: at(ports.fabric), RESTATE_ADVERTISED_ADDRESS: `http://${at(ports.fabric)}` }),
    RESTATE_DEFAULT_NUM_PARTITIONS: String(settings.partitions),
    // A node that hangs keeps its connections: without this, turns wait on them for a minute.
    RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: "2s",
    RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: "2s",
    RESTATE_WORKER__INVOKER__CONNECT_TIMEOUT: "3s",
    // It also bounds what a turn is sent, state and message together: with the default of 32 MiB, one that is sent more waits for ever.
    RESTATE_NETWORKING__MESSAGE_SIZE_LIMIT: "128MiB",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: `${settings.memoryMiB}MiB`,
    ...(settings.turnsPerConnection !== undefined && {
      RESTATE_WORKER__INVOKER__HTTP2_STREAMS_PER_CONNECTION_LIMIT: String(settings.turnsPerConnection),
    }),
    ...(member !== undefined && {
      RESTATE_CLUSTER_NAME: member.cluster,
      RESTATE_AUTO_PROVISION: String(member.begins),
      RESTATE_DEFAULT_REPLICATION: String(member.replication),
      RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(member.fabric.map((port) => `http://${at(port)}`)),
    }),
    RESTATE_LOG_FORMAT: "json",
    // It asks once, at its start, whether there is a newer release, whatever is set; that it could not ask is nobody's error.
    RESTATE_LOG_FILTER: "warn,restate=info,octocrab=off",
  };
};
