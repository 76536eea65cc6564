import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../core/contract/index.ts";
import type { LogLoss } from "../core/store/index.ts";

/** What a command found missing: it does its work all the same, and then says so and ends with exit code 5. */
interface NotedLoss {
  readonly code: string;
  readonly message: string;
}

let noted: NotedLoss | undefined;

const noteLoss = (loss: NotedLoss): void => {
  noted = loss;
};

const CODE = { "log-missing": "LOG_MISSING", "log-cut": "LOG_CUT" } as const;

/** For whatever a command opens. */
export const notesLoss = {
  onLostLog: ({ event, message }: LogLoss): void => noteLoss({ code: CODE[event], message }),
};

/** Once: a process may run another command. */
export const takeLoss = (): NotedLoss | undefined => {
  const loss = noted;
  noted = undefined;
  return loss;
};

const TRIES = 30;
const PAUSE_MS = 100;

/** Whether `error` says that another process holds the store. */
export const isHeld = (error: unknown): boolean => error instanceof StoreError && error.code === "STORE_LOCKED";

/**
 * The result of `open`. While another process holds the store, it is tried again for three seconds: a command holds it for a moment only,
 * and a server that starts holds it before it takes commands. Ends at once if a server listens at `control`. Throws what `open` threw last.
 */
export const openWhenFree = async <T>(open: () => T, control: string): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return open();
    } catch (error) {
      if (!isHeld(error) || tries === TRIES) throw error;
      // Not needed to start a server.
      const { isListening } = await import("./control-socket.ts");
      if (await isListening(control)) throw error;
      await sleep(PAUSE_MS);
    }
  }
};
