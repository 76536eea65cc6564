import { once } from "node:events";
import { createServer } from "node:net";
import { systemEntropy, type Entropy } from "../../core/contract/index.ts";

/** Below those that systems hand out by themselves, to whoever connects anywhere: these are taken by nobody in between. */
const LOWEST = 15_000;
const HIGHEST = 32_000;
const MOST_TRIES = 1_000;

/**
 * That many ports of the loopback address, free at this moment: for processes that must know each other's before any listens.
 * Another process may take one in between; where a process can choose its own, let it.
 */
export const freePorts = async (count: number, entropy: Entropy = systemEntropy): Promise<readonly number[]> => {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === MOST_TRIES) throw new Error(`This machine has no ${count} free ports from ${LOWEST} to ${HIGHEST}.`);
    const port = LOWEST + (parseInt(entropy.hex(4), 16) % (HIGHEST - LOWEST));
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
};

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
};
