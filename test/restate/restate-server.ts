import { registerDeployment, RestateAdmin } from "../../src/cli/cluster/restate-admin.ts";
import { type RestateServerOptions, RestateServer as Server } from "../../src/cli/cluster/restate-server.ts";

/** A Restate server on loopback, with its data in a temporary directory that ends with it. */
export class RestateServer implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** On free ports, which it keeps over `restart`. */
  static async start(executable: string, options: Partial<RestateServerOptions> = {}): Promise<RestateServer> {
    return new RestateServer(await Server.start({ ...options, executable }));
  }

  get ingress(): string {
    return this.#server.ingress;
  }

  get admin(): string {
    return this.#server.admin;
  }

  get pid(): number | undefined {
    return this.#server.pid;
  }

  /** Makes the handlers served at `url` known. */
  async register(url: string): Promise<void> {
    await registerDeployment(new RestateAdmin(this.admin), url, false);
  }

  /** As a power cut would: nothing is flushed, nothing is said. */
  kill(): Promise<void> {
    return this.#server.kill();
  }

  restart(): Promise<void> {
    return this.#server.restart();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}
