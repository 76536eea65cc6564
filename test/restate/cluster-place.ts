import { randomBytes } from "node:crypto";
import { type Balancer, nodeAnswers, startBalancer } from "../../src/cli/cluster/balancer.ts";
import type { RestateCluster } from "./restate-cluster.ts";
import { ServedNode } from "./served-node.ts";

const here = (port: number) => ({ host: "127.0.0.1", port });
const urlOf = ({ port }: Balancer): string => `http://127.0.0.1:${port}`;
const portsOf = (urls: readonly string[]) => urls.map((url) => here(Number(new URL(url).port)));

export interface PlaceOptions {
  readonly modules: readonly string[];
  readonly nodes: number;
  /** Further options of `troupe serve`. */
  readonly more?: readonly string[];
}

/** What is behind one address: one server, or the addresses of several. */
export type Servers = Pick<RestateCluster, "ingresses" | "admins" | "register">;

/** Nodes over Restate servers, registered: before the servers and before the nodes stands one address each, as in production. */
export class ClusterPlace implements AsyncDisposable {
  readonly nodes: readonly ServedNode[];
  /** Of all servers. */
  readonly engine: { readonly ingress: string; readonly admin: string };
  readonly secret: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(stack: AsyncDisposableStack, engine: ClusterPlace["engine"], secret: string, nodes: readonly ServedNode[]) {
    this.#stack = stack;
    this.engine = engine;
    this.secret = secret;
    this.nodes = nodes;
  }

  static async open(servers: Servers, { modules, nodes: count, more = [] }: PlaceOptions): Promise<ClusterPlace> {
    await using stack = new AsyncDisposableStack();
    const secret = randomBytes(32).toString("hex");
    const ingress = stack.use(await startBalancer(here(0), portsOf(servers.ingresses)));
    const admin = stack.use(await startBalancer(here(0), portsOf(servers.admins)));
    const engine = { ingress: urlOf(ingress), admin: urlOf(admin) };
    const nodes = await Promise.all(
      Array.from({ length: count }, async () => stack.use(await ServedNode.start({ modules, engine, secret, more }))),
    );
    const endpoint = stack.use(await startBalancer(here(0), portsOf(nodes.map(({ url }) => url)), nodeAnswers));
    await servers.register(urlOf(endpoint));
    return new ClusterPlace(stack.move(), engine, secret, nodes);
  }

  /** What all nodes said on standard error. */
  get log(): readonly string[] {
    return this.nodes.flatMap(({ log }, index) => log.map((line) => `node ${index + 1}: ${line}`));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}
