import { fork } from "node:child_process";
import { join } from "node:path";
import { until } from "troupe/testing";
import { heapSize } from "./heap-size.ts";
import { killAtExit } from "./cleanup.ts";

/** Clients in another process (idle-clients.ts). */
export interface Clients extends Disposable {
  /** Runs a command of idle-clients.ts; resolves when it is done. */
  run(act: string, port?: number, count?: number): Promise<void>;
  /** Disconnects all clients; resolves when this process has no connection left. */
  leave(): Promise<void>;
}

export const newClients = (): Clients => {
  const child = killAtExit(fork(join(import.meta.dirname, "idle-clients.ts"), [], { execArgv: ["--conditions=troupe-source"] }));
  return {
    async leave() {
      await this.run("leave");
      await until("all clients are disconnected", () => !process.getActiveResourcesInfo().includes("TCPSocketWrap"));
    },
    run: (act, port = 0, count = 0) =>
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

/** Bytes that this process uses, on and off the heap. Collects several times, since finalizers free more memory in later iterations. */
export const inUse = async (): Promise<number> => {
  for (let time = 0; time < 3; time += 1) {
    heapSize();
    await round();
  }
  return heapSize() + process.memoryUsage().external;
};
