import { fork } from "node:child_process";
import { join } from "node:path";
import { until } from "troupe/testing";
import { heap } from "./heap.ts";
import { ours } from "./leftovers.ts";

/** Clients in another process. */
export interface Clients extends Disposable {
  /** Settles when they have done it: see the acts of idle-clients.ts. */
  told(act: string, port?: number, count?: number): Promise<void>;
  /** Settles when no connection of theirs is left in this process, which takes rounds of the event loop. */
  leave(): Promise<void>;
}

export const newClients = (): Clients => {
  const child = ours(fork(join(import.meta.dirname, "idle-clients.ts"), [], { execArgv: ["--conditions=troupe-source"] }));
  return {
    async leave() {
      await this.told("leave");
      await until("all clients are gone", () => !process.getActiveResourcesInfo().includes("TCPSocketWrap"));
    },
    told: (act, port = 0, count = 0) =>
      new Promise((resolve, reject) => {
        child.once("message", (message: unknown) => {
          const { error } = Object(message);
          if (error === undefined) resolve();
          else reject(new Error(String(error)));
        });
        child.send({ act, port, count });
      }),
    [Symbol.dispose]: () => void child.kill(),
  };
};

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Bytes this process has in use, on the heap and beside it. What is collected may let go of more a round later. */
export const inUse = async (): Promise<number> => {
  for (let time = 0; time < 3; time += 1) {
    heap();
    await round();
  }
  return heap() + process.memoryUsage().external;
};
