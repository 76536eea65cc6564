import { freePorts } from "../../src/cli/cluster/dev-nodes.ts";
import { registerDeployment, RestateAdmin } from "../../src/cli/cluster/restate-admin.ts";
import { RestateServer } from "../../src/cli/cluster/restate-server.ts";
import { until } from "../../src/testing/index.ts";

const SERVERS = 3;
const PARTITIONS = 4;

interface Member {
  readonly server: RestateServer;
  /** Where its metrics are. */
  readonly fabric: number;
}

/**
 * Three Restate servers on loopback that form one cluster: metadata on all three, each record on two, so that any one may go.
 * Without snapshots: a shared directory cannot hold them, and the logs of a test are never trimmed.
 */
export class RestateCluster implements AsyncDisposable {
  readonly #members: readonly Member[];

  private constructor(members: readonly Member[]) {
    this.#members = members;
  }

  /** Settles when all three take calls and every partition has a leader. */
  static async start(executable: string): Promise<RestateCluster> {
    const ports = await freePorts(SERVERS * 3);
    const fabric = ports.slice(0, SERVERS);
    const starting = await Promise.allSettled(
      fabric.map(async (port, index) => ({
        fabric: port,
        server: await RestateServer.start({
          executable,
          name: `server-${index}`,
          ports: { fabric: port, ingress: ports[SERVERS + index] ?? 0, admin: ports[2 * SERVERS + index] ?? 0 },
          partitions: PARTITIONS,
          memoryMiB: 64,
          member: { cluster: "troupe-tests", fabric, begins: index === 0, replication: 2 },
        }),
      })),
    );
    const cluster = new RestateCluster(starting.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])));
    try {
      for (const one of starting) if (one.status === "rejected") throw one.reason;
      await until("every partition has a leader", async () => (await cluster.leaders()).reduce((sum, led) => sum + led, 0) === PARTITIONS);
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Of each server, in order. */
  get ingresses(): readonly string[] {
    return this.#members.map(({ server }) => server.ingress);
  }

  /** Of each server, in order; any of them speaks for the cluster. */
  get admins(): readonly string[] {
    return this.#members.map(({ server }) => server.admin);
  }

  /** Makes the handlers served at `url` known. */
  async register(url: string): Promise<void> {
    await registerDeployment(new RestateAdmin(this.admins.at(-1) ?? ""), url, false);
  }

  /** How many partitions each server leads; none where it is down. */
  leaders(): Promise<readonly number[]> {
    return Promise.all(
      this.#members.map(async ({ server, fabric }) => {
        if (server.pid === undefined) return 0;
        const metrics = await (await fetch(`http://127.0.0.1:${fabric}/metrics`)).text();
        return Number(/^restate_num_active_partition_leaders\{[^}]*\} (\d+)/m.exec(metrics)?.[1] ?? 0);
      }),
    );
  }

  /** The server that leads the most partitions. */
  async leader(): Promise<number> {
    const led = await this.leaders();
    return led.indexOf(Math.max(...led));
  }

  /** As a power cut would: nothing is flushed, nothing is said. */
  async kill(index: number): Promise<void> {
    await this.#at(index).kill();
  }

  /** At the same ports, over the same data. */
  async restart(index: number): Promise<void> {
    await this.#at(index).restart();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#members.map(({ server }) => server[Symbol.asyncDispose]()));
  }

  #at(index: number): RestateServer {
    const member = this.#members[index];
    if (member === undefined) throw new RangeError(`There is no server ${index}.`);
    return member.server;
  }
}
