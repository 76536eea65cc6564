import type { TestContext } from "node:test";
import type { Json, Log } from "../../core/contract/index.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { type Cluster, type ClusterOptions, joinCluster } from "./index.ts";
import { MemoryMembers } from "./members.fixture.ts";

export const SECRET = Buffer.alloc(32, 7);

/** Nodes on loopback with a stopped clock: they find each other without it. */
export class Nodes {
  readonly clock = new SimulatedClock();
  readonly members = new MemoryMembers(this.clock);
  readonly logged: Json[] = [];
  readonly log: Log = (_level, data) => void this.logged.push(data);

  constructor(t: TestContext) {
    this.#t = t;
  }

  readonly #t: TestContext;

  async join(options: Partial<ClusterOptions> = {}): Promise<Cluster> {
    const { clock, members, log } = this;
    const node = await joinCluster({ secret: SECRET, members, clock, log, listen: {}, ...options });
    this.#t.after(() => {
      // No test moves the clock any more, so a pending request would never time out.
      members.away = "no";
      return node[Symbol.asyncDispose]();
    });
    return node;
  }

  /** A node for each of the options, all connected to each other. */
  async joined(...options: readonly Partial<ClusterOptions>[]): Promise<readonly Cluster[]> {
    const nodes: Cluster[] = [];
    for (const one of options) nodes.push(await this.join(one));
    await until("all nodes hear each other", () =>
      nodes.every((node) => node.status().filter(({ reached, heard }) => reached && heard).length === nodes.length - 1),
    );
    // By then the gaps caused by joining have been reported, at once and once more.
    await this.clock.advance(300);
    return nodes;
  }

  async pair(first: Partial<ClusterOptions> = {}, second: Partial<ClusterOptions> = {}): Promise<readonly [Cluster, Cluster]> {
    const [one, other] = await this.joined(first, second);
    if (one === undefined || other === undefined) throw new Error("There are two.");
    return [one, other];
  }

  /** How often that was logged. */
  count(event: string, why?: string): number {
    return this.logged.filter((data) => {
      const text = JSON.stringify(data);
      return text.includes(`"event":"${event}"`) && (why === undefined || text.includes(`"why":"${why}"`));
    }).length;
  }
}

/** Counts the gaps that a node found. */
export function gapsOf(node: Cluster): () => number {
  let gaps = 0;
  node.onGap(() => void (gaps += 1));
  return () => gaps;
}
