import { join } from "node:path";
import { omitUndefined } from "../../core/contract/internal.ts";
import { textOr } from "../text-or.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import type { DevClusterOptions } from "./dev-options.ts";
import { DevNode } from "./dev-node.ts";
import { freePorts } from "./free-ports.ts";
import { nodeLines } from "./node-lines.ts";
import { keptSecret } from "./kept-secret.ts";
import type { NodePlace } from "./node-process.ts";
import type { NodeShare } from "./serve-program.ts";

const HOST = "127.0.0.1";

/** For so many nodes. Each keeps its ports over its restarts: that is where the balancers look for it. */
export const placesFor = async (count: number): Promise<readonly NodePlace[]> => {
  const ports = await freePorts(count * 2);
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    node: { host: HOST, port: ports[index * 2] ?? 0 },
    http: { host: HOST, port: ports[index * 2 + 1] ?? 0 },
  }));
};

/** The nodes of `cluster dev`, which share modules, engine and a secret. */
export class DevNodes implements AsyncDisposable {
  readonly #options: DevClusterOptions;
  readonly #share: NodeShare;
  readonly #nodes: DevNode[] = [];
  #draining: Promise<unknown> | undefined;

  constructor(options: DevClusterOptions, engine: string) {
    const { modules, entropy, grace, log, directory } = options;
    this.#options = options;
    this.#share = {
      modules,
      engine,
      secret: keptSecret(directory, process.env, entropy),
      graceMs: grace,
      log,
      directory: ({ name }) => join(directory, name),
    };
  }

  get nodes(): readonly DevNode[] {
    return this.#nodes;
  }

  /** All at once. Returns the name under which they serve. Throws `NODE_FAILED`. */
  async begin(places: readonly NodePlace[]): Promise<string> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    // One that hangs at its start would never be ready, and nobody could stop it.
    signal.addEventListener("abort", () => void this[Symbol.asyncDispose](), { once: true });
    for (const place of places) this.#nodes.push(this.#start(place));
    const ready = await Promise.all(
      this.#nodes.map(async (node) => {
        try {
          return await node.begin();
        } catch (error) {
          throw new CommandError(
            EXIT.failed,
            "NODE_FAILED",
            `${node.place.name} did not start (${error instanceof Error ? error.message : String(error)}): what it wrote says why.`,
          );
        }
      }),
    );
    return textOr(ready[0]?.["name"], "troupe");
  }

  /** Once, whoever asks first. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#draining ??= Promise.all(this.#nodes.map((node) => node[Symbol.asyncDispose]())));
  }

  #start(place: NodePlace): DevNode {
    const { clock, program, grace, log, logTo, json = false } = this.#options;
    const { name } = place;
    return new DevNode({
      place,
      program: program(place, this.#share),
      graceMs: grace,
      clock,
      onLine: nodeLines(name, log, json),
      onEnd: (why, againInMs) => logTo("error", "node-ended", { node: name, why, againInMs }),
      onReady: (pid) => logTo("info", "node-ready", { node: name, ...omitUndefined({ pid }) }),
    });
  }
}
