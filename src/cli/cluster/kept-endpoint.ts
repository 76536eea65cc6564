import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject, TroupeError } from "../../core/contract/index.ts";
import type { HostPort } from "../address.ts";
import { replaceFile } from "../../core/store/secret-file.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { nodeAnswers } from "./health-checks.ts";

const FILE = "cluster.json";

export interface KeptEndpoint {
  readonly balancer: Balancer;
  /** For the next time: once the directory is known to be this one's. */
  readonly keep: () => void;
}

/**
 * A balancer at the port it had last time over this directory: Restate goes on with calls that were under way at the address
 * where they began. `onMoved` is told where another process has that port now.
 */
export const keptEndpoint = async (directory: string, to: readonly HostPort[], onMoved: (from: number) => void): Promise<KeptEndpoint> => {
  const before = portIn(directory);
  const balancer = await startAt(before, to);
  if (before !== 0 && balancer.port !== before) onMoved(before);
  const keep = (): void => replaceFile(join(directory, FILE), JSON.stringify({ endpoint: balancer.port }));
  return { balancer, keep };
};

const startAt = async (port: number, to: readonly HostPort[]): Promise<Balancer> => {
  try {
    return await startBalancer({ host: "127.0.0.1", port }, to, nodeAnswers);
  } catch (error) {
    if (port === 0 || !(error instanceof TroupeError)) throw error;
    return startBalancer({ host: "127.0.0.1", port: 0 }, to, nodeAnswers);
  }
};

const portIn = (directory: string): number => {
  try {
    const kept: unknown = JSON.parse(readFileSync(join(directory, FILE), "utf8"));
    const port = isJsonObject(kept) ? kept["endpoint"] : undefined;
    return typeof port === "number" && Number.isInteger(port) && port > 0 && port < 65_536 ? port : 0;
  } catch {
    return 0;
  }
};
