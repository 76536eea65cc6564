import { StoreError } from "./errors.ts";

/** Asks of a store until it is closed. */
export interface Ask {
  <T>(run: () => Promise<T>): Promise<T>;
  close(): void;
}

/** What is asked of a store over a network: what goes wrong is thrown as `fault` has it, and once closed, `STORE_CLOSED`. */
export function untilClosed(fault: (error: unknown) => unknown): Ask {
  let open = true;
  const ask = async <T>(run: () => Promise<T>): Promise<T> => {
    if (!open) throw new StoreError("STORE_CLOSED", "The session store is closed. Open it again.");
    try {
      return await run();
    } catch (error) {
      throw fault(error);
    }
  };
  return Object.assign(ask, {
    close() {
      open = false;
    },
  });
}
