// Owns: opening a store that another process holds for a moment. Does not own: its lock (core/store/lock.ts).
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../core/contract/index.ts";

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
      const { isListening } = await import("./ask-control.ts");
      if (await isListening(control)) throw error;
      await sleep(PAUSE_MS);
    }
  }
};
