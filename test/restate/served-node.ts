import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { endWithProcess } from "../../src/cli/cluster/child-process.ts";
import { engineText } from "../../src/cli/cluster/cluster-options.ts";
import { root } from "../serve-child.ts";
import { at } from "../wire.ts";

export interface ServedNodeOptions {
  readonly modules: readonly string[];
  readonly engine: { readonly ingress: string; readonly admin: string };
  /** What the nodes of a cluster share: 64 hex digits. */
  readonly secret: string;
  /** Further options of `troupe serve`. */
  readonly more?: readonly string[];
}

/** One life of it. */
interface Life {
  readonly child: ChildProcess;
  readonly ended: Promise<number | string>;
}

/** `troupe serve --engine` as a process of its own. It keeps its ports over its restarts: that is where others look for it. */
export class ServedNode implements AsyncDisposable {
  /** What it said on standard error, all lives together. */
  readonly log: string[] = [];
  readonly #options: ServedNodeOptions;
  #life: Life | undefined;
  #http = "";
  #url = "";
  #console: URL | undefined;

  private constructor(options: ServedNodeOptions) {
    this.#options = options;
  }

  static async start(options: ServedNodeOptions): Promise<ServedNode> {
    const node = new ServedNode(options);
    await node.#launch();
    return node;
  }

  /** Its MCP door. */
  get http(): string {
    return this.#http;
  }

  /** Where Restate and other nodes reach it. */
  get url(): string {
    return this.#url;
  }

  /** The link to its console, with `--console`. */
  get console(): URL | undefined {
    return this.#console;
  }

  get port(): number {
    return Number(new URL(this.#url).port);
  }

  get pid(): number | undefined {
    return this.#life?.child.pid;
  }

  /** Settles with the exit code, or the signal that ended it. */
  get ended(): Promise<number | string> {
    return this.#life?.ended ?? Promise.resolve(0);
  }

  /** SIGTERM. */
  terminate(): void {
    this.#life?.child.kill("SIGTERM");
  }

  async kill(): Promise<void> {
    this.#life?.child.kill("SIGKILL");
    await this.ended;
  }

  /** After its end. */
  restart(): Promise<void> {
    return this.#launch();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #launch(): Promise<void> {
    const { modules, engine, secret, more = [] } = this.#options;
    const doors = [
      "--node",
      `127.0.0.1:${this.#url === "" ? 0 : this.port}`,
      "--http",
      `127.0.0.1:${this.#http === "" ? 0 : new URL(this.#http).port}`,
    ];
    const child = spawn(
      process.execPath,
      [join(root, "bin/troupe.js"), "serve", ...modules, "--engine", engineText(engine), ...doors, "--json", "--log", "warn", ...more],
      { cwd: root, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, TROUPE_CLUSTER_SECRET: secret } },
    );
    endWithProcess(child);
    const ended = once(child, "close").then(([code, signal]): number | string => signal ?? code);
    this.#life = { child, ended };
    createInterface({ input: child.stderr }).on("line", (line) => this.log.push(line));
    const first = once(createInterface({ input: child.stdout }), "line").then(([line]): unknown => JSON.parse(String(line)));
    const ready = await Promise.race([first, ended.then(() => undefined)]);
    if (ready === undefined) throw new Error(`The node ended before it was ready: ${this.log.join("\n")}`);
    this.#http = String(at(ready, "http"));
    this.#url = String(at(ready, "node", "url"));
    const link = at(ready, "console");
    this.#console = typeof link === "string" ? new URL(link) : undefined;
  }
}
