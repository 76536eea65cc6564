import { connect, type Socket } from "node:net";
import { ConnectionError } from "./line-error.ts";
import type { Settings } from "./options.ts";

const KEEP_ALIVE_MS = 30_000;

/** Connects, or fails as `unreached` after the time limit. */
export function connectSocket({ host, port, server, clock, limits }: Settings): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
  const fail = (why: string): void => {
    undo();
    socket.destroy();
    reject(new ConnectionError("unreached", `No connection to ${server}: ${why}.`, false));
  };
  const failed = (error: NodeJS.ErrnoException): void => fail(error.code ?? error.name);
  const undo = clock.after(limits.connectMs, () => fail(`no answer within ${limits.connectMs} ms`));
  socket.once("error", failed);
  socket.once("connect", () => {
    undo();
    socket.off("error", failed);
    resolve(socket);
  });
  return promise;
}
